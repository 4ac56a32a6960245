// LaunchShape: how a CPU kernel is launched, and what that is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "protocol/graph/sym_dim.h"

namespace stoker {

struct LaunchShape {
  SymDim tasks;  // Independent tasks; see kernel_abi.h.
  std::int64_t min_tasks_per_chunk = 1;
  std::int64_t scratch_bytes = 0;
  std::vector<SymDim> dims;  // What the kernel expects in `dims`, in order.
};

}  // namespace stoker

namespace stoker::cpu {

// The non-constant dims of a function in order of first occurrence, without repetition: add all
// that the emitter will ask for, in a fixed order.
class DimTable {
 public:
  void Add(const SymDim& dim);
  void Add(const IndexMap& index);
  void Add(const Access& access);
  void Add(const Body& body);
  void Add(const std::vector<Store>& stores);
  std::vector<SymDim> Take() && { return std::move(dims_); }

 private:
  std::vector<SymDim> dims_;
};

// Product, ceiling division: launch shapes are made of these.
SymDim ProductOf(const std::vector<SymDim>& dims);

}  // namespace stoker::cpu
