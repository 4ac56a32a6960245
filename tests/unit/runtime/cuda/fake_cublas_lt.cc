#include "tests/unit/runtime/cuda/fake_cublas_lt.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "protocol/base/float16.h"
#include "runtime/cuda/cublas_lt_api.h"
#include "tests/unit/runtime/cuda/fake_driver.h"

#define FAKE extern "C" __attribute__((visibility("default"))) int

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque {
  int compute = 0;
  int scale = 0;
  std::int32_t transpose_a = 0;
  std::int32_t transpose_b = 0;
  std::uint32_t epilogue = 1;
  const void* bias = nullptr;
};
struct cublasLtMatrixLayoutOpaque {
  int type = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};
struct cublasLtMatmulPreferenceOpaque {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reduction_schemes = 7;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace {

using stoker::cuda::FakeCublasLt;
using Desc = cublasLtMatmulDescOpaque;
using Layout = cublasLtMatrixLayoutOpaque;
using Preference = cublasLtMatmulPreferenceOpaque;

constexpr int kNotInitialized = 1;
constexpr int kInvalidValue = 7;
constexpr std::uint64_t kAlgorithm = 0x616c676f;  // In the first word of one of ours.

struct State {
  std::map<std::string, int> failures;
  unsigned least_alignment = 1;
  std::set<void*> live;
  int heuristics = 0;
  unsigned reductions = 0;
  std::string matmuls;
  std::set<void*> workspaces;
};

std::mutex mutex;
State state;

int FailureOf(const char* symbol) {
  const std::lock_guard lock(mutex);
  const auto failure = state.failures.find(symbol);
  return failure == state.failures.end() ? 0 : failure->second;
}

#define BEGIN(symbol) \
  if (const int error = FailureOf(symbol); error != 0) return error

template <typename T>
int Create(T** object, T value) {
  *object = new T(value);
  const std::lock_guard lock(mutex);
  state.live.insert(*object);
  return 0;
}

template <typename T>
int Destroy(T* object) {
  const std::lock_guard lock(mutex);
  if (state.live.erase(object) == 0) return kInvalidValue;
  delete object;
  return 0;
}

template <typename T>
int Set(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof to) return kInvalidValue;
  std::memcpy(&to, value, bytes);
  return 0;
}

std::size_t BytesOf(int type) {
  return type == stoker::cuda::kLtR64F ? 8 : type == stoker::cuda::kLtR32F ? 4 : 2;
}

double Load(const std::byte* at, int type) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (type == stoker::cuda::kLtR64F) return read(0.0);
  if (type == stoker::cuda::kLtR32F) return static_cast<double>(read(0.0F));
  const std::uint16_t bits = read(std::uint16_t{0});
  if (type == stoker::cuda::kLtR16F) return static_cast<double>(stoker::FloatFromF16(bits));
  return static_cast<double>(stoker::FloatFromBF16(bits));
}

void Store(std::byte* at, int type, double value) {
  const auto write = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  if (type == stoker::cuda::kLtR64F) return write(value);
  if (type == stoker::cuda::kLtR32F) return write(static_cast<float>(value));
  if (type == stoker::cuda::kLtR16F) return write(stoker::F16FromFloat(static_cast<float>(value)));
  write(stoker::BF16FromFloat(static_cast<float>(value)));
}

// What is left of a factor of this many digits.
double Factor(double value, int compute) {
  if (compute != stoker::cuda::kLtCompute32FFastTf32) return value;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>(bits & ~0x1fffU));
}

struct Matmul {
  Desc desc;
  Layout a, b, c, d;
  double alpha, beta;
  const std::byte* at_a;
  const std::byte* at_b;
  const std::byte* at_c;
  std::byte* at_d;
  std::byte* workspace;
  std::size_t workspace_bytes;

  static double Element(const std::byte* at, const Layout& layout, bool transposed,
                        std::int64_t batch, std::uint64_t row, std::uint64_t column) {
    if (transposed) std::swap(row, column);
    const std::int64_t index = batch * layout.batch_stride +
                               static_cast<std::int64_t>(column) * layout.leading +
                               static_cast<std::int64_t>(row);
    return Load(at + index * static_cast<std::int64_t>(BytesOf(layout.type)), layout.type);
  }

  void Run() const {
    // Whoever has something there besides will see it.
    std::memset(workspace, 0xa5, workspace_bytes);
    const std::uint64_t k = desc.transpose_a != 0 ? a.rows : a.columns;
    const auto size = static_cast<std::int64_t>(BytesOf(d.type));
    for (std::int64_t batch = 0; batch < d.batch; ++batch) {
      for (std::uint64_t column = 0; column < d.columns; ++column) {
        for (std::uint64_t row = 0; row < d.rows; ++row) {
          double sum = 0;
          for (std::uint64_t i = 0; i < k; ++i) {
            sum += Factor(Element(at_a, a, desc.transpose_a != 0, batch, row, i), desc.compute) *
                   Factor(Element(at_b, b, desc.transpose_b != 0, batch, i, column), desc.compute);
          }
          double value = alpha * sum;
          if (beta != 0) value += beta * Element(at_c, c, false, batch, row, column);
          if ((desc.epilogue & stoker::cuda::kLtEpilogueBias) != 0) {
            value += Load(
                static_cast<const std::byte*>(desc.bias) + static_cast<std::int64_t>(row) * size,
                d.type);
          }
          const bool is_relu = (desc.epilogue & stoker::cuda::kLtEpilogueRelu) != 0;
          if (is_relu && value < 0) value = 0;
          const std::int64_t index = batch * d.batch_stride +
                                     static_cast<std::int64_t>(column) * d.leading +
                                     static_cast<std::int64_t>(row);
          Store(at_d + index * size, d.type, value);
        }
      }
    }
  }

  // What the real one refuses.
  bool IsSound() const {
    const std::uint64_t m = desc.transpose_a != 0 ? a.columns : a.rows;
    const std::uint64_t k = desc.transpose_a != 0 ? a.rows : a.columns;
    const std::uint64_t k_of_b = desc.transpose_b != 0 ? b.columns : b.rows;
    const std::uint64_t n = desc.transpose_b != 0 ? b.rows : b.columns;
    bool sound = k == k_of_b && d.rows == m && d.columns == n && c.rows == m && c.columns == n;
    for (const Layout* layout : {&a, &b, &c, &d}) {
      sound = sound && layout->rows > 0 && layout->columns > 0 && layout->batch == d.batch &&
              layout->leading >= static_cast<std::int64_t>(layout->rows);
    }
    return sound && a.type == b.type && c.type == d.type;
  }
};

std::string TextOf(const Matmul& matmul) {
  std::string text =
      std::to_string(matmul.d.batch) + "x" + std::to_string(matmul.d.columns) + "x" +
      std::to_string(matmul.d.rows) + "x" +
      std::to_string(matmul.desc.transpose_a != 0 ? matmul.a.rows : matmul.a.columns);
  if ((matmul.desc.epilogue & stoker::cuda::kLtEpilogueBias) != 0) text += " bias";
  if ((matmul.desc.epilogue & stoker::cuda::kLtEpilogueRelu) != 0) text += " relu";
  return matmul.beta == 0 ? text : text + " c";
}

FakeCublasLt control = {
    .reset =
        [] {
          const std::lock_guard lock(mutex);
          state = State();
        },
    .fail =
        [](const char* symbol, int error) {
          const std::lock_guard lock(mutex);
          state.failures.erase(symbol);
          if (error != 0) state.failures[symbol] = error;
        },
    .set_least_alignment = [](unsigned bytes) { state.least_alignment = bytes; },
    .live = [] { return static_cast<int>(state.live.size()); },
    .heuristics = [] { return state.heuristics; },
    .reductions = [] { return state.reductions; },
    .matmuls = [] { return state.matmuls.c_str(); },
    .workspaces = [] { return static_cast<int>(state.workspaces.size()); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) FakeCublasLt* stoker_fake_cublas_lt() {
  return &control;
}

extern "C" __attribute__((visibility("default"))) const char* cublasLtGetStatusName(int status) {
  return status == kNotInitialized ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : status == kInvalidValue ? "CUBLAS_STATUS_INVALID_VALUE"
                                   : nullptr;
}

FAKE cublasLtCreate(cublasLtContext** handle) {
  BEGIN("cublasLtCreate");
  return Create(handle, cublasLtContext());
}
FAKE cublasLtDestroy(cublasLtContext* handle) { return Destroy(handle); }

FAKE cublasLtMatmulDescCreate(Desc** desc, int compute, int scale) {
  BEGIN("cublasLtMatmulDescCreate");
  Desc made;
  made.compute = compute;
  made.scale = scale;
  return Create(desc, made);
}
FAKE cublasLtMatmulDescDestroy(Desc* desc) { return Destroy(desc); }
FAKE cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value,
                                    std::size_t bytes) {
  if (attribute == stoker::cuda::kLtDescTransA) return Set(desc->transpose_a, value, bytes);
  if (attribute == stoker::cuda::kLtDescTransB) return Set(desc->transpose_b, value, bytes);
  if (attribute == stoker::cuda::kLtDescEpilogue) return Set(desc->epilogue, value, bytes);
  if (attribute == stoker::cuda::kLtDescBiasPointer) return Set(desc->bias, value, bytes);
  return kInvalidValue;
}

FAKE cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows,
                                std::uint64_t columns, std::int64_t leading) {
  Layout made;
  made.type = type;
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return Create(layout, made);
}
FAKE cublasLtMatrixLayoutDestroy(Layout* layout) { return Destroy(layout); }
FAKE cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value,
                                      std::size_t bytes) {
  if (attribute == stoker::cuda::kLtLayoutBatchCount) return Set(layout->batch, value, bytes);
  if (attribute == stoker::cuda::kLtLayoutBatchStride) {
    return Set(layout->batch_stride, value, bytes);
  }
  return kInvalidValue;
}

FAKE cublasLtMatmulPreferenceCreate(Preference** preference) {
  return Create(preference, Preference());
}
FAKE cublasLtMatmulPreferenceDestroy(Preference* preference) { return Destroy(preference); }
FAKE cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                          std::size_t bytes) {
  const int first = stoker::cuda::kLtPreferAlignmentA;
  if (attribute >= first && attribute < first + 4) {
    return Set(preference->alignments[attribute - first], value, bytes);
  }
  if (attribute == stoker::cuda::kLtPreferWorkspaceBytes) {
    return Set(preference->workspace_bytes, value, bytes);
  }
  if (attribute == stoker::cuda::kLtPreferReductionSchemes) {
    return Set(preference->reduction_schemes, value, bytes);
  }
  return kInvalidValue;
}

FAKE cublasLtMatmulAlgoGetHeuristic(cublasLtContext*, Desc* desc, Layout* a, Layout* b, Layout* c,
                                    Layout* d, Preference* preference, int,
                                    stoker::cuda::LtHeuristic* results, int* found) {
  BEGIN("cublasLtMatmulAlgoGetHeuristic");
  const std::lock_guard lock(mutex);
  ++state.heuristics;
  state.reductions = preference->reduction_schemes;
  *found = 0;
  Matmul matmul{};
  matmul.desc = *desc;
  matmul.a = *a;
  matmul.b = *b;
  matmul.c = *c;
  matmul.d = *d;
  if (!matmul.IsSound()) return kInvalidValue;
  const std::uint64_t alignment =
      *std::min_element(preference->alignments, preference->alignments + 4);
  if (alignment < state.least_alignment) return stoker::cuda::kLtNotSupported;
  results[0] = {};
  results[0].algorithm.data[0] = kAlgorithm;
  results[0].algorithm.data[1] = alignment;
  results[0].algorithm.data[2] = preference->workspace_bytes;
  results[0].workspace_bytes = preference->workspace_bytes;
  *found = 1;
  return 0;
}

FAKE cublasLtMatmul(cublasLtContext*, Desc* desc, const void* alpha, const void* a,
                    Layout* a_layout, const void* b, Layout* b_layout, const void* beta,
                    const void* c, Layout* c_layout, void* d, Layout* d_layout,
                    const stoker::cuda::LtAlgorithm* algorithm, void* workspace,
                    std::size_t workspace_bytes, CUstream_st* stream) {
  BEGIN("cublasLtMatmul");
  const auto scale = [&](const void* at) {
    return Load(static_cast<const std::byte*>(at), desc->scale);
  };
  const Matmul matmul{*desc,
                      *a_layout,
                      *b_layout,
                      *c_layout,
                      *d_layout,
                      scale(alpha),
                      scale(beta),
                      static_cast<const std::byte*>(a),
                      static_cast<const std::byte*>(b),
                      static_cast<const std::byte*>(c),
                      static_cast<std::byte*>(d),
                      static_cast<std::byte*>(workspace),
                      workspace_bytes};
  if (!matmul.IsSound() || algorithm->data[0] != kAlgorithm) return kInvalidValue;
  if (workspace_bytes < algorithm->data[2]) return kInvalidValue;
  std::uintptr_t bits = 0;
  for (const void* at : {a, b, c, static_cast<const void*>(d)}) {
    bits |= reinterpret_cast<std::uintptr_t>(at);
  }
  if ((desc->epilogue & stoker::cuda::kLtEpilogueBias) != 0) {
    bits |= reinterpret_cast<std::uintptr_t>(desc->bias);
  }
  const std::uintptr_t of_workspace = reinterpret_cast<std::uintptr_t>(workspace) % 256;
  if (bits % algorithm->data[1] != 0 || of_workspace != 0) return kInvalidValue;
  {
    const std::lock_guard lock(mutex);
    state.matmuls += (state.matmuls.empty() ? "" : "; ") + TextOf(matmul);
    state.workspaces.insert(workspace);
  }
  return stoker::cuda::Fake().enqueue(
      stream, [](void* data) { static_cast<const Matmul*>(data)->Run(); }, new Matmul(matmul),
      [](void* data) { delete static_cast<const Matmul*>(data); });
}
