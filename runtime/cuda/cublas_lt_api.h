// What is used of cuBLASLt (cublasLt.h of CUDA 13.0), which is the same in CUDA 12: a machine that
// builds Stoker need not have the toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver/driver_api.h"

extern "C" {
struct cublasLtContext;
struct cublasLtMatmulDescOpaque;
struct cublasLtMatrixLayoutOpaque;
struct cublasLtMatmulPreferenceOpaque;
}

namespace stoker::cuda {

using LtHandle = cublasLtContext*;
using LtMatmulDesc = cublasLtMatmulDescOpaque*;
using LtLayout = cublasLtMatrixLayoutOpaque*;
using LtPreference = cublasLtMatmulPreferenceOpaque*;

// cublasStatus_t.
inline constexpr int kLtSuccess = 0;
inline constexpr int kLtNotSupported = 15;
// cudaDataType.
inline constexpr int kLtR32F = 0;
inline constexpr int kLtR64F = 1;
inline constexpr int kLtR16F = 2;
inline constexpr int kLtR16BF = 14;
// cublasComputeType_t.
inline constexpr int kLtCompute32F = 68;
inline constexpr int kLtCompute64F = 70;
inline constexpr int kLtCompute32FFastTf32 = 77;
// cublasOperation_t.
inline constexpr std::int32_t kLtOperationT = 1;
// cublasLtMatmulDescAttributes_t.
inline constexpr int kLtDescTransA = 3;
inline constexpr int kLtDescTransB = 4;
inline constexpr int kLtDescEpilogue = 7;
inline constexpr int kLtDescBiasPointer = 8;
// cublasLtEpilogue_t.
inline constexpr std::uint32_t kLtEpilogueDefault = 1;
inline constexpr std::uint32_t kLtEpilogueRelu = 2;
inline constexpr std::uint32_t kLtEpilogueBias = 4;
// cublasLtMatrixLayoutAttribute_t.
inline constexpr int kLtLayoutBatchCount = 5;
inline constexpr int kLtLayoutBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t; of the least alignments, that of A is the first of four.
inline constexpr int kLtPreferWorkspaceBytes = 1;
inline constexpr int kLtPreferReductionSchemes = 3;
inline constexpr int kLtPreferAlignmentA = 5;
// cublasLtReductionScheme_t.
inline constexpr std::uint32_t kLtReductionInComputeType = 2;
inline constexpr std::uint32_t kLtReductionsInAllTypes = 7;  // The result's too, and in place.

struct LtAlgorithm {  // cublasLtMatmulAlgo_t.
  std::uint64_t data[8];
};

struct LtHeuristic {  // cublasLtMatmulHeuristicResult_t.
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(LtHeuristic) == 96);

// X(member, symbol, parameters): all return a cublasStatus_t.
#define STOKER_CUBLAS_LT_API(X)                                                               \
  X(create, "cublasLtCreate", (LtHandle * handle))                                            \
  X(destroy, "cublasLtDestroy", (LtHandle handle))                                            \
  X(create_desc, "cublasLtMatmulDescCreate", (LtMatmulDesc * desc, int compute, int scale))   \
  X(destroy_desc, "cublasLtMatmulDescDestroy", (LtMatmulDesc desc))                           \
  X(set_desc, "cublasLtMatmulDescSetAttribute",                                               \
    (LtMatmulDesc desc, int attribute, const void* value, std::size_t bytes))                 \
  X(create_layout, "cublasLtMatrixLayoutCreate",                                              \
    (LtLayout * layout, int type, std::uint64_t rows, std::uint64_t columns,                  \
     std::int64_t leading))                                                                   \
  X(destroy_layout, "cublasLtMatrixLayoutDestroy", (LtLayout layout))                         \
  X(set_layout, "cublasLtMatrixLayoutSetAttribute",                                           \
    (LtLayout layout, int attribute, const void* value, std::size_t bytes))                   \
  X(create_preference, "cublasLtMatmulPreferenceCreate", (LtPreference * preference))         \
  X(destroy_preference, "cublasLtMatmulPreferenceDestroy", (LtPreference preference))         \
  X(set_preference, "cublasLtMatmulPreferenceSetAttribute",                                   \
    (LtPreference preference, int attribute, const void* value, std::size_t bytes))           \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                              \
    (LtHandle handle, LtMatmulDesc desc, LtLayout a, LtLayout b, LtLayout c, LtLayout d,      \
     LtPreference preference, int most, LtHeuristic* results, int* found))                    \
  X(matmul, "cublasLtMatmul",                                                                 \
    (LtHandle handle, LtMatmulDesc desc, const void* alpha, const void* a, LtLayout a_layout, \
     const void* b, LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout,    \
     void* d, LtLayout d_layout, const LtAlgorithm* algorithm, void* workspace,               \
     std::size_t workspace_bytes, CuStream stream))

struct CublasLtApi {
#define STOKER_CUBLAS_LT_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  STOKER_CUBLAS_LT_API(STOKER_CUBLAS_LT_MEMBER)
#undef STOKER_CUBLAS_LT_MEMBER
  const char* (*status_name)(int status) = nullptr;
};

}  // namespace stoker::cuda
