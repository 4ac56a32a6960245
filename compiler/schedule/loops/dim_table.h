// DimTable: what a kernel is passed at its launch.
#pragma once

#include <vector>

#include "compiler/ir/attention_func.h"
#include "compiler/ir/loop_func.h"
#include "compiler/ir/ordered_func.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

// The non-constant dims of a function in order of first occurrence, without repetition: add all
// that the emitter will ask for, in a fixed order.
class DimTable {
 public:
  void Add(const SymDim& dim);
  void Add(const IndexMap& index);
  void Add(const Access& access);
  void Add(const Body& body);
  void Add(const std::vector<Store>& stores);
  void Add(const LoopFunc& func);
  void Add(const ScanFunc& func);
  void Add(const SortFunc& func);
  void Add(const ScatterFunc& func);
  void Add(const AttentionOperand& operand);
  void Add(const AttentionFunc& func);
  std::vector<SymDim> Take() && { return std::move(dims_); }

 private:
  std::vector<SymDim> dims_;
};

SymDim ProductOf(const std::vector<SymDim>& dims);

}  // namespace stoker
