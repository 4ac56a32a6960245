// LaunchList: launches in the form in which they are given to the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/kernel.h"
#include "runtime/device.h"

namespace stoker::cuda {

class LaunchList final : public stoker::LaunchList {
 public:
  struct Operand {
    std::size_t address = 0;  // By the layout.
    std::int64_t offset = 0;  // Bytes.
  };
  struct Entry {
    CuFunction function = nullptr;
    unsigned blocks = 0;
    unsigned threads = 0;
    std::size_t first_operand = 0;
    std::size_t operands = 0;
    std::size_t first_dim = 0;
    std::size_t dims = 0;
  };

  // A launch has one block for each task.
  LaunchList(std::span<const SizedLaunch> launches, std::span<const std::size_t> pauses,
             const ArenaUse& arena, const AddressLayout& layout,
             std::span<const std::shared_ptr<const LoadedKernel>> kernels);

  std::span<const Entry> entries() const { return entries_; }
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
  std::vector<Entry> entries_;
  std::vector<std::size_t> pauses_;
  std::vector<Operand> operands_;
  std::vector<std::int64_t> dims_;
  ArenaUse arena_;
  std::size_t arena_address_;
  std::size_t max_parameters_ = 0;
};

}  // namespace stoker::cuda
