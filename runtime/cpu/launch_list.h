// LaunchList: launches in the form in which they are run, one after the other in memory: which
// function, on which addresses, on how many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/artifact/kernel_abi.h"
#include "runtime/cpu/threads/thread_pool.h"
#include "runtime/device.h"

namespace stoker::cpu {

class LaunchList final : public stoker::LaunchList {
 public:
  struct Operand {
    std::size_t address = 0;  // By the layout.
    std::int64_t offset = 0;  // Bytes.
  };
  struct Entry {
    CpuKernelFn function = nullptr;
    std::int64_t tasks = 0;
    Grain grain;
    std::size_t first_operand = 0;
    std::size_t operands = 0;
    std::size_t first_dim = 0;

    // Pieces that are worth a thread. Where there is one, nobody is woken or waited for.
    std::int64_t chunks() const { return tasks / grain.min_tasks_per_chunk; }
  };

  // A mark of the plan, and where its condition is.
  struct Mark {
    PlanMark::Kind kind = PlanMark::Kind::kHostCall;
    std::size_t entries_before = 0;
    std::size_t number = 0;
    Operand condition;
  };

  // `launches`: of kernels.
  LaunchList(std::span<const SizedWork> launches, std::span<const PlanMark> marks,
             const ArenaUse& arena, const AddressLayout& layout,
             std::span<const std::shared_ptr<const LoadedKernel>> kernels);

  std::span<const Entry> entries() const { return entries_; }
  std::span<const Mark> marks() const { return marks_; }
  bool calls_host() const;
  std::span<const Operand> OperandsOf(const Entry& entry) const {
    return std::span(operands_).subspan(entry.first_operand, entry.operands);
  }
  const std::int64_t* DimsOf(const Entry& entry) const { return dims_.data() + entry.first_dim; }

  std::int64_t max_chunks() const { return max_chunks_; }  // Of one launch.
  const ArenaUse& arena() const { return arena_; }
  std::size_t arena_address() const { return arena_address_; }
  // Of one thread: header and scratch of any launch, padded so that threads share no cache line.
  std::int64_t scratch_stride() const { return scratch_stride_; }
  std::size_t max_operands() const { return max_operands_; }

 private:
  std::vector<Entry> entries_;
  std::vector<Mark> marks_;
  std::vector<Operand> operands_;
  std::vector<std::int64_t> dims_;
  ArenaUse arena_;
  std::size_t arena_address_;
  std::int64_t scratch_stride_ = kScratchHeaderBytes;
  std::size_t max_operands_ = 0;
  std::int64_t max_chunks_ = 0;
};

}  // namespace stoker::cpu
