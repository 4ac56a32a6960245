// What is used of NVIDIA's driver API (cuda.h), which has been the same since CUDA 11.2: a machine
// that builds Stoker need not have the toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUgraph_st;
struct CUgraphNode_st;
}

namespace stoker::cuda {

using CuContext = CUctx_st*;
using CuModule = CUmod_st*;
using CuFunction = CUfunc_st*;
using CuStream = CUstream_st*;
using CuEvent = CUevent_st*;
using CuPool = CUmemPoolHandle_st*;
using CuGraph = CUgraph_st*;
using CuGraphNode = CUgraphNode_st*;
using CuPointer = std::uint64_t;

inline constexpr int kCuSuccess = 0;
inline constexpr int kCuOutOfMemory = 2;
inline constexpr int kCuNoDevice = 100;
inline constexpr int kCuInvalidImage = 200;
inline constexpr int kCuNoBinary = 209;  // For this GPU.
inline constexpr int kCuUnsupportedImage = 222;

// CUfunction_attribute, CUdevice_attribute.
inline constexpr int kCuFunctionMaxThreads = 0;
inline constexpr int kCuFunctionSharedBytes = 8;  // Dynamic ones, at most.
inline constexpr int kCuDeviceMultiprocessors = 16;
inline constexpr int kCuDeviceComputeMajor = 75;
inline constexpr int kCuDeviceComputeMinor = 76;
inline constexpr int kCuDeviceMemoryPools = 115;
// CUstream_flags, CUevent_flags.
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDefault = 0;
inline constexpr int kCuPoolReleaseThreshold = 4;  // CUmemPool_attribute; of 64 bits.
inline constexpr int kCuCaptureActive = 1;         // CUstreamCaptureStatus.
inline constexpr int kCuCaptureRelaxed = 2;        // CUstreamCaptureMode: others do what they like.
inline constexpr int kCuKernelNode = 0;            // CUgraphNodeType.
// CUstreamUpdateCaptureDependencies_flags.
inline constexpr unsigned kCuAddDependencies = 0;
inline constexpr unsigned kCuSetDependencies = 1;

// CUmemPoolProps: memory of one device, for this process alone.
struct CuPoolProperties {
  int allocation_type = 1;  // Pinned, which is all that there is.
  int handle_types = 0;
  int location_type = 1;  // A device.
  int device = 0;
  void* security_attributes = nullptr;
  std::size_t max_bytes = 0;  // No limit.
  unsigned char reserved[56] = {};
};

// CUlaunchConfig.
struct CuLaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CuStream stream;
  const void* attributes;
  unsigned attribute_count;
};

// CUlaunchAttribute.
inline constexpr int kCuAttributeBytes = 64;
struct CuLaunchAttribute {
  int number;
  char padding[4];
  unsigned char value[kCuAttributeBytes];
};

// CUDA_KERNEL_NODE_PARAMS_v2.
struct CuKernelNode {
  void* function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** values;
  void** extra;
  void* kernel;
  CuContext context;
};

// X(member, symbol, parameters): all return a CUresult.
#define STOKER_CUDA_DRIVER_API(X)                                                                  \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driver_version, "cuDriverGetVersion", (int* version))                                          \
  X(error_name, "cuGetErrorName", (int error, const char** name))                                  \
  X(error_text, "cuGetErrorString", (int error, const char** text))                                \
  X(device_count, "cuDeviceGetCount", (int* count))                                                \
  X(device, "cuDeviceGet", (int* device, int ordinal))                                             \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, int device))             \
  X(device_name, "cuDeviceGetName", (char* name, int size, int device))                            \
  X(retain_context, "cuDevicePrimaryCtxRetain", (CuContext * context, int device))                 \
  X(release_context, "cuDevicePrimaryCtxRelease_v2", (int device))                                 \
  X(current_context, "cuCtxGetCurrent", (CuContext * context))                                     \
  X(push_context, "cuCtxPushCurrent_v2", (CuContext context))                                      \
  X(pop_context, "cuCtxPopCurrent_v2", (CuContext * context))                                      \
  X(load_module, "cuModuleLoadData", (CuModule * module, const void* image))                       \
  X(unload_module, "cuModuleUnload", (CuModule module))                                            \
  X(function, "cuModuleGetFunction", (CuFunction * function, CuModule module, const char* name))   \
  X(function_attribute, "cuFuncGetAttribute", (int* value, int attribute, CuFunction function))    \
  X(set_function_attribute, "cuFuncSetAttribute", (CuFunction function, int attribute, int value)) \
  X(launch, "cuLaunchKernel",                                                                      \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,                   \
     void** parameters, void** extra))                                                             \
  X(create_stream, "cuStreamCreate", (CuStream * stream, unsigned flags))                          \
  X(destroy_stream, "cuStreamDestroy_v2", (CuStream stream))                                       \
  X(wait_stream, "cuStreamSynchronize", (CuStream stream))                                         \
  X(allocate, "cuMemAlloc_v2", (CuPointer * pointer, std::size_t bytes))                           \
  X(free, "cuMemFree_v2", (CuPointer pointer))                                                     \
  X(create_pool, "cuMemPoolCreate", (CuPool * pool, const CuPoolProperties* properties))           \
  X(set_pool_attribute, "cuMemPoolSetAttribute", (CuPool pool, int attribute, void* value))        \
  X(destroy_pool, "cuMemPoolDestroy", (CuPool pool))                                               \
  X(allocate_from_pool, "cuMemAllocFromPoolAsync",                                                 \
    (CuPointer * pointer, std::size_t bytes, CuPool pool, CuStream stream))                        \
  X(free_async, "cuMemFreeAsync", (CuPointer pointer, CuStream stream))                            \
  X(copy_in, "cuMemcpyHtoDAsync_v2",                                                               \
    (CuPointer to, const void* from, std::size_t bytes, CuStream stream))                          \
  X(copy_out, "cuMemcpyDtoHAsync_v2",                                                              \
    (void* to, CuPointer from, std::size_t bytes, CuStream stream))                                \
  X(copy, "cuMemcpyDtoDAsync_v2",                                                                  \
    (CuPointer to, CuPointer from, std::size_t bytes, CuStream stream))                            \
  X(fill, "cuMemsetD8Async",                                                                       \
    (CuPointer to, unsigned char byte, std::size_t bytes, CuStream stream))                        \
  X(create_event, "cuEventCreate", (CuEvent * event, unsigned flags))                              \
  X(destroy_event, "cuEventDestroy_v2", (CuEvent event))                                           \
  X(record_event, "cuEventRecord", (CuEvent event, CuStream stream))                               \
  X(elapsed_ms, "cuEventElapsedTime", (float* milliseconds, CuEvent from, CuEvent to))

// What drivers have from CUDA 11.3, 11.8 or 12.0 on, under these names for good; null before.
#define STOKER_CUDA_NEWER_DRIVER_API(X)                                                        \
  X(capture_state, "cuStreamGetCaptureInfo_v2",                                                \
    (CuStream stream, int* status, std::uint64_t* id, CuGraph* graph,                          \
     const CuGraphNode** dependencies, std::size_t* count))                                    \
  X(set_capture_dependencies, "cuStreamUpdateCaptureDependencies",                             \
    (CuStream stream, CuGraphNode * dependencies, std::size_t count, unsigned flags))          \
  X(launch_configured, "cuLaunchKernelEx",                                                     \
    (const CuLaunchConfig* configuration, CuFunction function, void** values, void** extra))   \
  X(begin_capture, "cuStreamBeginCapture_v2", (CuStream stream, int mode))                     \
  X(end_capture, "cuStreamEndCapture", (CuStream stream, CuGraph * graph))                     \
  X(graph_nodes, "cuGraphGetNodes", (CuGraph graph, CuGraphNode * nodes, std::size_t * count)) \
  X(node_type, "cuGraphNodeGetType", (CuGraphNode node, int* type))                            \
  X(kernel_node, "cuGraphKernelNodeGetParams_v2", (CuGraphNode node, CuKernelNode * kernel))   \
  X(kernel_attribute, "cuGraphKernelNodeGetAttribute",                                         \
    (CuGraphNode node, int number, void* value))                                               \
  X(destroy_graph, "cuGraphDestroy", (CuGraph graph))

struct DriverApi {
#define STOKER_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  STOKER_CUDA_DRIVER_API(STOKER_CUDA_MEMBER)
  STOKER_CUDA_NEWER_DRIVER_API(STOKER_CUDA_MEMBER)
#undef STOKER_CUDA_MEMBER
};

}  // namespace stoker::cuda
