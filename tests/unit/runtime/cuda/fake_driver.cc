#include "tests/unit/runtime/cuda/fake_driver.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#define FAKE extern "C" __attribute__((visibility("default"))) int

struct CUctx_st {
  int device;
};
struct CUmod_st {
  stoker::cuda::FakeModule module;
  std::string symbol;  // Of its kernel.
  bool is_real =
      false;  // A real cubin: launches are noted with what they are given, and do nothing.
  unsigned most_shared_bytes = 48 << 10;  // Of a launch.
};
struct CUfunc_st {};
struct CUgraphNode_st {
  std::string text;
  std::function<void()> work;
  std::vector<const CUgraphNode_st*> after;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUstream_st {
  CUctx_st* context;
  int number = 0;  // Of those that were created, from 1 on; 0: the context's own.
  std::vector<std::function<void()>> pending = {};
  CUgraph_st* graph = nullptr;  // That it is captured into.
  std::vector<CUgraphNode_st*> after = {};
};
struct CUmemPoolHandle_st {
  int device;
};
struct CUevent_st {
  bool is_recorded = false;
  std::chrono::steady_clock::time_point when;
};

namespace {

using stoker::cuda::FakeDriver;
using stoker::cuda::FakeModule;

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kInvalidImage = 200;
constexpr int kInvalidContext = 201;
constexpr int kInvalidHandle = 400;
constexpr int kNotFound = 500;
constexpr int kCaptured = 900;  // What waits cannot be captured.

// The start of CUmemPoolProps.
struct PoolProperties {
  int allocation_type;
  int handle_types;
  int location_type;
  int device;
};

struct State {
  FakeDriver::RunFn run = nullptr;
  std::map<std::string, int> failures;
  int version = 13000;
  int devices = 2;
  int memory_pools = 1;
  std::size_t memory = std::size_t{4} << 30;
  CUctx_st contexts[2] = {{0}, {1}};
  int retained[2] = {};
  std::set<CUmod_st*> modules;
  std::set<CUstream_st*> streams;
  int streams_created = 0;
  std::set<CUevent_st*> events;
  std::set<CUmemPoolHandle_st*> pools;
  std::map<std::uint64_t, std::size_t> allocations;
  std::string log;
  CUgraph_st graph;              // The last that was captured.
  std::set<CUgraph_st*> graphs;  // Of whoever captured them.
  std::string graph_text;
  int attribute = 0;  // That kernels in graphs have; 0: none.
};

std::recursive_mutex mutex;
State state;
thread_local std::vector<CUctx_st*> current;

// Holds the lock; whether this call is to fail.
struct Call {
  Call(const char* symbol) : lock(mutex) {
    const auto failure = state.failures.find(symbol);
    error = failure == state.failures.end() ? 0 : failure->second;
  }
  std::lock_guard<std::recursive_mutex> lock;
  int error;
};

#define BEGIN(symbol)      \
  const Call call(symbol); \
  if (call.error != 0) return call.error
#define IN_CONTEXT \
  if (current.empty()) return kInvalidContext

void Log(std::string text) { state.log += (state.log.empty() ? "" : "; ") + std::move(text); }

// Stream 0 is the context's own.
CUstream_st* StreamOf(CUstream_st* stream) {
  static CUstream_st own[2] = {{.context = &state.contexts[0]}, {.context = &state.contexts[1]}};
  return stream == nullptr ? &own[current.back()->device] : stream;
}

bool Knows(CUstream_st* stream) {
  return stream == StreamOf(nullptr) ||
         (state.streams.contains(stream) && stream->context == current.back());
}

void Drain(CUstream_st* stream) {
  for (auto& work : std::exchange(stream->pending, {})) work();
}

// `text`: what it is called in a graph.
int Queue(CUstream_st* stream, std::string text, std::function<void()> work) {
  stream = StreamOf(stream);
  if (!Knows(stream)) return kInvalidHandle;
  if (stream->graph == nullptr) {
    stream->pending.push_back(std::move(work));
    return 0;
  }
  auto node = std::make_unique<CUgraphNode_st>();
  node->text = std::move(text);
  node->work = std::move(work);
  node->after.assign(stream->after.begin(), stream->after.end());
  stream->after = {node.get()};
  stream->graph->nodes.push_back(std::move(node));
  return 0;
}

// What logs what it does.
int QueueLogged(CUstream_st* stream, const std::string& text, std::function<void()> work) {
  return Queue(stream, text, [text, work = std::move(work)] {
    Log(text);
    work();
  });
}

std::string TextOf(const CUgraph_st& graph) {
  std::map<const CUgraphNode_st*, std::size_t> numbers;
  std::string text;
  for (const auto& node : graph.nodes) {
    numbers.emplace(node.get(), numbers.size());
    std::set<std::size_t> after;
    for (const CUgraphNode_st* each : node->after) after.insert(numbers.at(each));
    text += (text.empty() ? "" : "; ") + node->text + (after.empty() ? "" : " after");
    for (const std::size_t each : after) text += " " + std::to_string(each);
  }
  return text;
}

void Capture(CUstream_st* stream) {
  state.graph = {};
  stream->graph = &state.graph;
  stream->after.clear();
}

void Replay(const CUgraph_st& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::set<const CUgraphNode_st*> done;
  while (done.size() < graph.nodes.size()) {
    std::vector<CUgraphNode_st*> ready;
    for (const auto& node : graph.nodes) {
      const auto is_done = [&](const CUgraphNode_st* each) { return done.contains(each); };
      if (!is_done(node.get()) && std::ranges::all_of(node->after, is_done)) {
        ready.push_back(node.get());
      }
    }
    CUgraphNode_st* const next = seed == 0 ? ready.back() : ready[random() % ready.size()];
    next->work();
    done.insert(next);
  }
}

int Allocate(std::uint64_t* pointer, std::size_t bytes) {
  std::size_t used = bytes;
  for (const auto& [at, size] : state.allocations) used += size;
  if (used > state.memory) return kOutOfMemory;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xff, bytes);
  *pointer = reinterpret_cast<std::uint64_t>(memory);
  state.allocations[*pointer] = bytes;
  return 0;
}

int Free(std::uint64_t pointer) {
  if (state.allocations.erase(pointer) == 0) return kInvalidValue;
  std::free(reinterpret_cast<void*>(pointer));
  return 0;
}

template <typename T>
T At(const char* image, std::uint64_t at) {
  T value;
  std::memcpy(&value, image + at, sizeof value);
  return value;
}

// Threads and parameters that a cubin says its kernel has: records of a format, an attribute, and
// the size of what follows or a value.
bool ReadCubin(const char* image, FakeModule& module, std::string& symbol) {
  constexpr std::uint8_t kSized = 4;
  constexpr std::uint8_t kParameterBytes = 0x0a;
  constexpr std::uint8_t kRequiredThreads = 0x10;
  const auto header = At<Elf64_Ehdr>(image, 0);
  const auto section = [&](unsigned number) {
    return At<Elf64_Shdr>(image, header.e_shoff + std::uint64_t{number} * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr info = section(i);
    const std::string_view name = image + names.sh_offset + info.sh_name;
    constexpr std::string_view kInfo = ".nv.info.";
    if (!name.starts_with(kInfo) || name == kInfo) continue;
    symbol = name.substr(kInfo.size());
    for (std::uint64_t at = info.sh_offset; at < info.sh_offset + info.sh_size;) {
      const auto format = At<std::uint8_t>(image, at);
      const auto attribute = At<std::uint8_t>(image, at + 1);
      const auto size = At<std::uint16_t>(image, at + 2);
      at += 4;
      if (format != kSized) continue;
      if (attribute == kRequiredThreads) module.threads = At<std::uint32_t>(image, at);
      if (attribute == kParameterBytes) module.parameters = At<std::uint16_t>(image, at + 6) / 8;
      at += size;
    }
    return true;
  }
  return false;
}

template <typename Set, typename T>
int Forget(Set& set, T* object) {
  if (set.erase(object) == 0) return kInvalidHandle;
  delete object;
  return 0;
}

int Live() {
  const std::lock_guard lock(mutex);
  return state.retained[0] + state.retained[1] +
         static_cast<int>(state.modules.size() + state.streams.size() + state.events.size() +
                          state.pools.size() + state.allocations.size() + state.graphs.size());
}

void Reset() {
  const std::lock_guard lock(mutex);
  const auto run = state.run;
  state = State();
  state.run = run;
}

FakeDriver control = {
    .reset = Reset,
    .set_run = [](FakeDriver::RunFn run) { state.run = run; },
    .fail =
        [](const char* symbol, int error) {
          const std::lock_guard lock(mutex);
          state.failures.erase(symbol);
          if (error != 0) state.failures[symbol] = error;
        },
    .set_version = [](int version) { state.version = version; },
    .set_devices = [](int devices) { state.devices = devices; },
    .set_memory_pools = [](int supported) { state.memory_pools = supported; },
    .set_memory = [](std::size_t bytes) { state.memory = bytes; },
    .live = Live,
    .log = [] { return state.log.c_str(); },
    .enqueue = [](CUstream_st* stream, void (*run)(void*), void* data,
                  void (*release)(void*)) -> int {
      const std::lock_guard lock(mutex);
      const std::shared_ptr<void> owned(data, release);
      if (current.empty()) return kInvalidContext;
      return Queue(stream, "library", [run, owned] { run(owned.get()); });
    },
    .set_attribute = [](int number) { state.attribute = number; },
    .begin_capture =
        [](CUstream_st* stream) {
          const std::lock_guard lock(mutex);
          Capture(stream);
        },
    .end_capture =
        [](CUstream_st* stream) {
          const std::lock_guard lock(mutex);
          stream->graph = nullptr;
          state.graph_text = TextOf(state.graph);
          return state.graph_text.c_str();
        },
    .replay =
        [](unsigned seed) {
          const std::lock_guard lock(mutex);
          Replay(std::exchange(state.graph, {}), seed);
        },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) FakeDriver* stoker_fake_cuda() {
  return &control;
}

FAKE cuInit(unsigned) {
  BEGIN("cuInit");
  return state.devices == 0 ? kNoDevice : 0;
}

FAKE cuDriverGetVersion(int* version) {
  *version = state.version;
  return 0;
}

FAKE cuGetErrorName(int error, const char** name) {
  static const std::map<int, const char*> names = {{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                   {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
                                                   {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                   {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                   {kNotFound, "CUDA_ERROR_NOT_FOUND"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : 0;
}

FAKE cuGetErrorString(int error, const char** text) {
  *text = error == kOutOfMemory ? "out of memory" : nullptr;
  return error == kOutOfMemory ? 0 : kInvalidValue;
}

FAKE cuDeviceGetCount(int* count) {
  *count = state.devices;
  return 0;
}

FAKE cuDeviceGet(int* device, int ordinal) {
  BEGIN("cuDeviceGet");
  *device = ordinal;
  return 0;
}

FAKE cuDeviceGetAttribute(int* value, int attribute, int) {
  BEGIN("cuDeviceGetAttribute");
  constexpr int kMultiprocessors = 4;
  *value = attribute == 75    ? 9
           : attribute == 115 ? state.memory_pools
           : attribute == 16  ? kMultiprocessors
                              : 0;
  return 0;
}

FAKE cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Fake", static_cast<std::size_t>(size));
  return 0;
}

FAKE cuDevicePrimaryCtxRetain(CUctx_st** context, int device) {
  BEGIN("cuDevicePrimaryCtxRetain");
  *context = &state.contexts[device];
  ++state.retained[device];
  return 0;
}

FAKE cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN("cuDevicePrimaryCtxRelease_v2");
  --state.retained[device];
  return 0;
}

FAKE cuCtxGetCurrent(CUctx_st** context) {
  *context = current.empty() ? nullptr : current.back();
  return 0;
}

FAKE cuCtxPushCurrent_v2(CUctx_st* context) {
  BEGIN("cuCtxPushCurrent_v2");
  current.push_back(context);
  return 0;
}

FAKE cuCtxPopCurrent_v2(CUctx_st** context) {
  IN_CONTEXT;
  *context = current.back();
  current.pop_back();
  return 0;
}

FAKE cuModuleLoadData(CUmod_st** module, const void* image) {
  BEGIN("cuModuleLoadData");
  IN_CONTEXT;
  const auto* bytes = static_cast<const char*>(image);
  auto made = std::make_unique<CUmod_st>();
  made->is_real = At<Elf64_Ehdr>(bytes, 0).e_phnum > 0;  // Ours have no program.
  if (!ReadCubin(bytes, made->module, made->symbol)) return kInvalidImage;
  if (!made->is_real) {
    made->module = At<FakeModule>(bytes, sizeof(Elf64_Ehdr));
    if (made->module.magic != FakeModule::kMagic) return kInvalidImage;
  }
  *module = made.release();
  state.modules.insert(*module);
  return 0;
}

FAKE cuModuleUnload(CUmod_st* module) {
  BEGIN("cuModuleUnload");
  IN_CONTEXT;
  return Forget(state.modules, module);
}

FAKE cuModuleGetFunction(CUfunc_st** function, CUmod_st* module, const char* name) {
  BEGIN("cuModuleGetFunction");
  IN_CONTEXT;
  if (name != module->symbol) return kNotFound;
  *function = reinterpret_cast<CUfunc_st*>(module);
  return 0;
}

FAKE cuFuncGetAttribute(int* value, int attribute, CUfunc_st* function) {
  BEGIN("cuFuncGetAttribute");
  if (attribute != 0) return kInvalidValue;
  *value = static_cast<int>(reinterpret_cast<CUmod_st*>(function)->module.most_threads);
  return 0;
}

FAKE cuFuncSetAttribute(CUfunc_st* function, int attribute, int value) {
  BEGIN("cuFuncSetAttribute");
  if (attribute != 8 || value > static_cast<int>(FakeModule::kMostSharedBytes))
    return kInvalidValue;
  reinterpret_cast<CUmod_st*>(function)->most_shared_bytes = static_cast<unsigned>(value);
  return 0;
}

FAKE cuLaunchKernel(CUfunc_st* function, unsigned grid, unsigned, unsigned, unsigned block,
                    unsigned, unsigned, unsigned shared_bytes, CUstream_st* stream,
                    void** parameters, void**) {
  BEGIN("cuLaunchKernel");
  IN_CONTEXT;
  const auto [module, symbol, is_real, most_shared_bytes] = *reinterpret_cast<CUmod_st*>(function);
  if (block != module.threads || grid == 0) return kInvalidValue;
  if (shared_bytes > most_shared_bytes || (!is_real && shared_bytes != module.shared_bytes)) {
    return kInvalidValue;
  }
  std::vector<std::uint64_t> values;
  for (std::uint32_t i = 0; i < module.parameters; ++i) {
    values.push_back(*static_cast<const std::uint64_t*>(parameters[i]));
  }
  if (is_real) {
    std::string text = "launch " + std::to_string(grid) + "x" + std::to_string(block) + " (";
    for (const std::uint64_t value : values) text += std::to_string(value) + " ";
    const std::string where = ") stream " + std::to_string(StreamOf(stream)->number) + " gpu " +
                              std::to_string(current.back()->device);
    return QueueLogged(stream, text + where, [] {});
  }
  const std::string text = "launch " + std::to_string(grid) + "x" + std::to_string(block);
  return QueueLogged(stream, text, [module = module, grid, values] {
    if (state.run != nullptr) state.run(module.kernel, grid, values.data());
  });
}

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  void* function;
  unsigned shape[7];
  void** values;
  void** extra;
  void* kernel;
  CUctx_st* context;
};

// What stands for a function where it is one of a graph's nodes.
const CUgraphNode_st* NodeOf(const void* function) {
  for (const CUgraph_st* graph : state.graphs) {
    for (const auto& node : graph->nodes) {
      if (node.get() == function) return node.get();
    }
  }
  return nullptr;
}

// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream_st* stream;
  const void* attributes;
  unsigned attribute_count;
};

FAKE cuLaunchKernelEx(const LaunchConfig* configuration, CUfunc_st* function, void** values,
                      void** extra) {
  BEGIN("cuLaunchKernelEx");
  IN_CONTEXT;
  const LaunchConfig& of = *configuration;
  if (const CUgraphNode_st* node = NodeOf(function); node != nullptr) {
    return Queue(of.stream, node->text, node->work);
  }
  return cuLaunchKernel(function, of.grid_x, of.grid_y, of.grid_z, of.block_x, of.block_y,
                        of.block_z, of.shared_bytes, of.stream, values, extra);
}

FAKE cuStreamCreate(CUstream_st** stream, unsigned) {
  BEGIN("cuStreamCreate");
  IN_CONTEXT;
  *stream = new CUstream_st{current.back(), ++state.streams_created, {}};
  state.streams.insert(*stream);
  return 0;
}

FAKE cuStreamDestroy_v2(CUstream_st* stream) {
  BEGIN("cuStreamDestroy_v2");
  IN_CONTEXT;
  if (!Knows(stream)) return kInvalidHandle;
  Drain(stream);
  return Forget(state.streams, stream);
}

FAKE cuStreamSynchronize(CUstream_st* stream) {
  BEGIN("cuStreamSynchronize");
  IN_CONTEXT;
  stream = StreamOf(stream);
  if (!Knows(stream)) return kInvalidHandle;
  if (stream->graph != nullptr) return kCaptured;
  Drain(stream);
  return 0;
}

FAKE cuStreamBeginCapture_v2(CUstream_st* stream, int) {
  BEGIN("cuStreamBeginCapture_v2");
  IN_CONTEXT;
  Capture(StreamOf(stream));
  return 0;
}

FAKE cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
  BEGIN("cuStreamEndCapture");
  IN_CONTEXT;
  StreamOf(stream)->graph = nullptr;
  *graph = new CUgraph_st(std::exchange(state.graph, {}));
  state.graphs.insert(*graph);
  return 0;
}

// An instance is the graph itself.
FAKE cuGraphInstantiateWithFlags(CUgraph_st** instance, CUgraph_st* graph, std::uint64_t) {
  BEGIN("cuGraphInstantiateWithFlags");
  IN_CONTEXT;
  *instance = graph;
  return 0;
}

FAKE cuGraphLaunch(CUgraph_st* instance, CUstream_st* stream) {
  BEGIN("cuGraphLaunch");
  IN_CONTEXT;
  return Queue(stream, "graph", [=] { Replay(*instance, 0); });
}

FAKE cuGraphExecDestroy(CUgraph_st*) { return 0; }

FAKE cuGraphDestroy(CUgraph_st* graph) {
  BEGIN("cuGraphDestroy");
  IN_CONTEXT;
  return Forget(state.graphs, graph);
}

FAKE cuGraphGetNodes(CUgraph_st* graph, CUgraphNode_st** nodes, std::size_t* count) {
  BEGIN("cuGraphGetNodes");
  const std::size_t room = *count;
  *count = graph->nodes.size();
  for (std::size_t i = 0; i < std::min(room, *count); ++i) nodes[i] = graph->nodes[i].get();
  return 0;
}

// What a library gives is a kernel, too.
FAKE cuGraphNodeGetType(CUgraphNode_st* node, int* type) {
  BEGIN("cuGraphNodeGetType");
  *type = node->text.starts_with("launch") || node->text == "library" ? 0 : 2;
  return 0;
}

FAKE cuGraphKernelNodeGetParams_v2(CUgraphNode_st* node, KernelNode* kernel) {
  BEGIN("cuGraphKernelNodeGetParams_v2");
  *kernel = {};
  kernel->function = node;
  return 0;
}

FAKE cuGraphKernelNodeGetAttribute(CUgraphNode_st*, int number, unsigned char* value) {
  BEGIN("cuGraphKernelNodeGetAttribute");
  std::memset(value, 0, 64);
  if (number == state.attribute) value[3] = 1;
  return 0;
}

FAKE cuStreamGetCaptureInfo_v2(CUstream_st* stream, int* status, std::uint64_t* id,
                               CUgraph_st** graph, CUgraphNode_st* const** after,
                               std::size_t* count) {
  BEGIN("cuStreamGetCaptureInfo_v2");
  IN_CONTEXT;
  stream = StreamOf(stream);
  *status = stream->graph == nullptr ? 0 : 1;
  *id = 1;
  *graph = stream->graph;
  *after = stream->after.data();
  *count = stream->after.size();
  return 0;
}

FAKE cuStreamUpdateCaptureDependencies(CUstream_st* stream, CUgraphNode_st** after,
                                       std::size_t count, unsigned flags) {
  BEGIN("cuStreamUpdateCaptureDependencies");
  IN_CONTEXT;
  stream = StreamOf(stream);
  if (stream->graph == nullptr) return kInvalidValue;
  if (flags == 1) stream->after.clear();
  stream->after.insert(stream->after.end(), after, after + count);
  return 0;
}

FAKE cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  BEGIN("cuMemAlloc_v2");
  IN_CONTEXT;
  return Allocate(pointer, bytes);
}

FAKE cuMemFree_v2(std::uint64_t pointer) {
  BEGIN("cuMemFree_v2");
  IN_CONTEXT;
  for (CUstream_st* stream : state.streams) Drain(stream);
  Drain(StreamOf(nullptr));
  return Free(pointer);
}

FAKE cuMemPoolCreate(CUmemPoolHandle_st** pool, const PoolProperties* properties) {
  BEGIN("cuMemPoolCreate");
  IN_CONTEXT;
  if (state.memory_pools == 0 || properties->allocation_type != 1 ||
      properties->location_type != 1) {
    return kInvalidValue;
  }
  *pool = new CUmemPoolHandle_st{properties->device};
  state.pools.insert(*pool);
  return 0;
}

FAKE cuMemPoolDestroy(CUmemPoolHandle_st* pool) {
  BEGIN("cuMemPoolDestroy");
  IN_CONTEXT;
  return Forget(state.pools, pool);
}

FAKE cuMemPoolSetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  BEGIN("cuMemPoolSetAttribute");
  const bool keeps = attribute == 4 && *static_cast<const std::uint64_t*>(value) == UINT64_MAX;
  return state.pools.contains(pool) && keeps ? 0 : kInvalidValue;
}

FAKE cuMemAllocFromPoolAsync(std::uint64_t* pointer, std::size_t bytes, CUmemPoolHandle_st* pool,
                             CUstream_st* stream) {
  BEGIN("cuMemAllocFromPoolAsync");
  IN_CONTEXT;
  if (!state.pools.contains(pool) || pool->device != current.back()->device) return kInvalidValue;
  if (!Knows(StreamOf(stream))) return kInvalidHandle;
  if (StreamOf(stream)->graph != nullptr) Queue(stream, "take " + std::to_string(bytes), [] {});
  return Allocate(pointer, bytes);
}

FAKE cuMemFreeAsync(std::uint64_t pointer, CUstream_st* stream) {
  BEGIN("cuMemFreeAsync");
  IN_CONTEXT;
  return Queue(stream, "give back", [=] { Free(pointer); });
}

FAKE cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes,
                          CUstream_st* stream) {
  BEGIN("cuMemcpyHtoDAsync_v2");
  IN_CONTEXT;
  return QueueLogged(stream, "copy in " + std::to_string(bytes),
                     [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}

FAKE cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, CUstream_st* stream) {
  BEGIN("cuMemcpyDtoHAsync_v2");
  IN_CONTEXT;
  return QueueLogged(stream, "copy out " + std::to_string(bytes),
                     [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
}

FAKE cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                          CUstream_st* stream) {
  BEGIN("cuMemcpyDtoDAsync_v2");
  IN_CONTEXT;
  return QueueLogged(stream, "copy " + std::to_string(bytes), [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
}

FAKE cuMemsetD8Async(std::uint64_t to, unsigned char byte, std::size_t bytes, CUstream_st* stream) {
  BEGIN("cuMemsetD8Async");
  IN_CONTEXT;
  return QueueLogged(stream, "fill " + std::to_string(bytes),
                     [=] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
}

FAKE cuEventCreate(CUevent_st** event, unsigned) {
  BEGIN("cuEventCreate");
  IN_CONTEXT;
  *event = new CUevent_st;
  state.events.insert(*event);
  return 0;
}

FAKE cuEventDestroy_v2(CUevent_st* event) {
  BEGIN("cuEventDestroy_v2");
  IN_CONTEXT;
  return Forget(state.events, event);
}

FAKE cuEventRecord(CUevent_st* event, CUstream_st* stream) {
  BEGIN("cuEventRecord");
  IN_CONTEXT;
  return Queue(stream, "event", [=] {
    if (!state.events.contains(event)) return;
    event->is_recorded = true;
    event->when = std::chrono::steady_clock::now();
  });
}

FAKE cuEventElapsedTime(float* milliseconds, CUevent_st* from, CUevent_st* to) {
  BEGIN("cuEventElapsedTime");
  IN_CONTEXT;
  if (!from->is_recorded || !to->is_recorded) return kInvalidHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
  return 0;
}
