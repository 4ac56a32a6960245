// LaunchList: launches in the form in which they are given to the driver, and matmuls in that in
// which cuBLASLt takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/cuda/branches/work.h"
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/lt_matmul.h"
#include "runtime/cuda/recorded_kernel.h"
#include "runtime/device.h"

namespace stoker::cuda {

class LaunchList final : public stoker::LaunchList {
 public:
  struct Operand {
    std::size_t address = 0;  // By the layout.
    std::int64_t offset = 0;  // Bytes, as what follows.
    std::int64_t size = 0;
    bool may_be_written = false;
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
  static constexpr std::size_t kWorkspaceOperand = 3;  // Of a matmul.
  struct Entry {
    std::size_t matmul = kNoMatmul;  // Into matmuls(): its operands are A, B, D, the workspace,
                                     // C and bias. A kernel's function else.
    CuFunction function = nullptr;
    unsigned blocks = 0;  // 0: there is nothing to do.
    unsigned threads = 0;
    unsigned shared_bytes = 0;
    std::size_t first_operand = 0;
    std::size_t operands = 0;
    std::size_t first_dim = 0;
    std::size_t dims = 0;
    double microseconds = 0;  // MicrosecondsOf.
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
  RecordedCall& RecordedOf(const Entry& entry) const { return *recorded_[entry.matmul]; }
  std::span<const Operand> OperandsOf(const Entry& entry) const {
    return std::span(operands_).subspan(entry.first_operand, entry.operands);
  }
  std::span<const std::int64_t> DimsOf(const Entry& entry) const {
    return std::span(dims_).subspan(entry.first_dim, entry.dims);
  }
  bool has_pauses() const { return !pauses_.empty(); }
  // The entries and the pauses in the plan's order, up to the first of which the visit fails:
  // visit(entry), pause(its number).
  template <typename Visit, typename Pause>
  Status Walk(const Visit& visit, const Pause& pause) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i <= entries_.size(); ++i) {
      for (; next < pauses_.size() && pauses_[next] == i; ++next) {
        STOKER_RETURN_IF_ERROR(pause(next));
      }
      if (i < entries_.size()) STOKER_RETURN_IF_ERROR(visit(entries_[i]));
    }
    return Ok();
  }
  // What each of these does, in this order, where the memory of a call is; the arena is apart from
  // all else. Workspaces are no memory of the plan's: each work needs one of its own.
  std::vector<Work> WorksAt(std::span<std::byte* const> addresses) const;
  // Whether any two of the entries are worth a branch.
  bool may_branch() const { return may_branch_; }
  const ArenaUse& arena() const { return arena_; }
  std::size_t arena_address() const { return arena_address_; }
  std::size_t max_parameters() const { return max_parameters_; }

 private:
  using KernelReads = std::set<std::pair<std::uint32_t, std::size_t>>;  // Kernel, operand.

  LaunchList(std::span<const PlanMark> marks, const ArenaUse& arena, const AddressLayout& layout);

  static KernelReads ReadsOf(std::span<const SizedWork> launches);
  // `reads`: the operands of kernels that are only read.
  void Add(const SizedLaunch& launch, const AddressLayout& layout, const Kernel& kernel,
           const KernelReads& reads);
  Status Add(const SizedLibraryCall& call, const AddressLayout& layout,
             const MatmulSource& matmuls);
  // `bytes`: behind the buffer's beginning.
  void AddOperand(const SizedBuffer& buffer, const AddressLayout& layout, bool may_be_written,
                  std::int64_t bytes = 0);
  void AddWork(const Entry& entry, std::span<std::byte* const> addresses, Work& work) const;

  std::vector<Entry> entries_;
  std::vector<MatmulUse> matmuls_;
  std::vector<std::unique_ptr<RecordedCall>> recorded_;  // Of each of them.
  std::vector<std::size_t> pauses_;  // After how many of the entries each is, in order.
  std::vector<Operand> operands_;
  std::vector<std::int64_t> dims_;
  ArenaUse arena_;
  std::size_t arena_address_;
  std::size_t max_parameters_ = 0;
  bool may_branch_ = false;
};

}  // namespace stoker::cuda
