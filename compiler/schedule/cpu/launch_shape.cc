#include "compiler/schedule/cpu/launch_shape.h"

#include <algorithm>

namespace stoker::cpu {

void DimTable::Add(const SymDim& dim) {
  if (dim.IsConstant()) return;
  if (std::find(dims_.begin(), dims_.end(), dim) == dims_.end()) dims_.push_back(dim);
}

void DimTable::Add(const IndexMap& index) {
  Add(index.offset);
  for (const IndexTerm& term : index.terms) Add(term.coefficient);
}

void DimTable::Add(const Access& access) {
  Add(access.index);
  for (const SymDim& dim : access.indirect) Add(dim);
}

void DimTable::Add(const Body& body) {
  for (const BodyInstr& instr : body.instrs) {
    if (instr.op == BodyOp::kLoad) Add(instr.access);
    if (instr.op == BodyOp::kSize) Add(instr.size);
  }
}

void DimTable::Add(const std::vector<Store>& stores) {
  for (const Store& store : stores) Add(store.access);
}

SymDim ProductOf(const std::vector<SymDim>& dims) {
  SymDim product = 1;
  for (const SymDim& dim : dims) product = product * dim;
  return product;
}

}  // namespace stoker::cpu
