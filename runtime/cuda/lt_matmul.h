// LtMatmul: a matrix product of certain sizes as cuBLASLt is asked for it: descriptors, and the
// algorithm that its heuristic gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "protocol/artifact/sized_plan.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "runtime/cuda/cublas_lt.h"

namespace stoker::cuda {

// Thread-safe.
class LtMatmul {
 public:
  // Unimplemented, naming the product, where cuBLASLt has no algorithm for it. `matmul` has rows,
  // columns and batches.
  static Result<std::shared_ptr<const LtMatmul>> Make(std::shared_ptr<const CublasLt> lt,
                                                      const SizedMatmul& matmul);
  static bool HasElements(const SizedMatmul& matmul) {
    return matmul.m > 0 && matmul.n > 0 && matmul.batch > 0;
  }
  // Of all that Make looks at: matmuls with one name have one LtMatmul.
  static Digest NameOf(const SizedMatmul& matmul);

  ~LtMatmul();
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;

  // Where the first element of each is.
  struct Operands {
    const std::byte* a = nullptr;
    const std::byte* b = nullptr;
    const std::byte* c = nullptr;  // Null where there is none, as bias.
    std::byte* d = nullptr;
    const std::byte* bias = nullptr;
    std::byte* workspace = nullptr;
  };
  // From a multiple of kWorkspaceAlignment on, what its algorithms use of the workspace.
  std::int64_t workspace_bytes() const {
    return static_cast<std::int64_t>(zero_bytes_) + algorithm_bytes_;
  }
  static constexpr std::int64_t kWorkspaceAlignment = 256;  // What PyTorch's allocator gives one.
  // Gives it to the stream, and waits for nothing. The context is current.
  Status Run(const Operands& operands, double alpha, double beta, CuStream stream) const;

 private:
  LtMatmul(std::shared_ptr<const CublasLt> lt, const SizedMatmul& matmul);

  Status MakeDescriptors();
  Status MakeLayout(int type, std::int64_t rows, std::int64_t columns,
                    const MatmulMatrix<std::int64_t, SizedBuffer>& matrix, LtLayout* layout) const;
  // The best for factors, and for what has the result's type, at multiples of so many bytes;
  // nothing where there is none.
  Result<std::optional<LtHeuristic>> Ask(int factor, int result,
                                         std::int64_t workspace_bytes) const;
  Result<std::optional<LtHeuristic>> AskUnaligned(std::int64_t workspace_bytes) const;
  // Asked for when it is first needed: few operands lie so. Under the mutex.
  Result<std::optional<LtHeuristic>> Unaligned() const;
  Status SetBias(const std::byte* bias) const;
  std::string Text() const;

  const std::shared_ptr<const CublasLt> lt_;
  SizedMatmul matmul_;  // With the k that is asked for.
  std::int64_t algorithm_bytes_ =
      0;                        // Of the workspace, which every algorithm of it makes do with.
  std::size_t zero_bytes_ = 0;  // Of the workspace, which factors of no elements are read from.
  LtMatmulDesc desc_ = nullptr;
  // cuBLASLt's matrices lie by columns: its A is B, its B is A, and it computes D's columns as
  // rows.
  LtLayout a_ = nullptr;
  LtLayout b_ = nullptr;
  LtLayout c_ = nullptr;
  LtLayout d_ = nullptr;
  std::optional<LtHeuristic> aligned_;  // Operands at multiples of kAlignment.
  mutable std::mutex mutex_;            // The bias is said in the descriptor.
  // Operands at multiples of their elements; nothing: nobody has asked yet.
  mutable std::optional<std::optional<LtHeuristic>> unaligned_;
};

}  // namespace stoker::cuda
