// LaunchList: launches in the form in which they are given to the driver, and matmuls in that in
// which cuBLASLt takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/lt_matmul.h"
#include "runtime/device.h"

namespace stoker::cuda {

class LaunchList final : public stoker::LaunchList {
 public:
  struct Operand {
    std::size_t address = 0;  // By the layout.
    std::int64_t offset = 0;  // Bytes.
  };
  // What a matmul is beside its LtMatmul.
  struct MatmulUse {
    std::shared_ptr<const LtMatmul> matmul;
    double alpha = 1;
    double beta = 0;
    bool has_c = false;
    bool has_bias = false;
  };
  static constexpr std::size_t kNoMatmul = SIZE_MAX;
  struct Entry {
    std::size_t matmul = kNoMatmul;  // Into matmuls(): its operands are A, B, D, the workspace,
                                     // C and bias. A kernel's function else.
    CuFunction function = nullptr;
    unsigned blocks = 0;  // 0: there is nothing to do.
    unsigned threads = 0;
    std::size_t first_operand = 0;
    std::size_t operands = 0;
    std::size_t first_dim = 0;
    std::size_t dims = 0;
  };

  // `matmuls`: makes what a library call is given to.
  using MatmulSource =
      std::function<Result<std::shared_ptr<const LtMatmul>>(const SizedLibraryCall& call)>;
  // A launch has one block for each task.
  static Result<std::unique_ptr<const LaunchList>> Make(
      std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
      const AddressLayout& layout, std::span<const std::shared_ptr<const LoadedKernel>> kernels,
      const MatmulSource& matmuls);

  std::span<const Entry> entries() const { return entries_; }
  const MatmulUse& MatmulOf(const Entry& entry) const { return matmuls_[entry.matmul]; }
  std::span<const Operand> OperandsOf(const Entry& entry) const {
    return std::span(operands_).subspan(entry.first_operand, entry.operands);
  }
  std::span<const std::int64_t> DimsOf(const Entry& entry) const {
    return std::span(dims_).subspan(entry.first_dim, entry.dims);
  }
  // After how many of the entries each pause is, in order.
  std::span<const std::size_t> pauses() const { return pauses_; }
  const ArenaUse& arena() const { return arena_; }
  std::size_t arena_address() const { return arena_address_; }
  std::size_t max_parameters() const { return max_parameters_; }

 private:
  LaunchList(std::span<const PlanMark> marks, const ArenaUse& arena, const AddressLayout& layout);

  void Add(const SizedLaunch& launch, const AddressLayout& layout, const Kernel& kernel);
  Status Add(const SizedLibraryCall& call, const AddressLayout& layout,
             const MatmulSource& matmuls);
  void AddOperand(const SizedBuffer& buffer, const AddressLayout& layout, std::int64_t bytes = 0);

  std::vector<Entry> entries_;
  std::vector<MatmulUse> matmuls_;
  std::vector<std::size_t> pauses_;
  std::vector<Operand> operands_;
  std::vector<std::int64_t> dims_;
  ArenaUse arena_;
  std::size_t arena_address_;
  std::size_t max_parameters_ = 0;
};

}  // namespace stoker::cuda
