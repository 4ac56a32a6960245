#include "compiler/schedule/loops/dim_table.h"

#include <algorithm>

namespace stoker {

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

void DimTable::Add(const LoopFunc& func) {
  for (const SymDim& dim : func.dims) Add(dim);
  for (const Stage& stage : func.stages) {
    Add(stage.body);
    Add(stage.stores);
  }
}

void DimTable::Add(const ScanFunc& func) {
  for (const SymDim& dim : func.outer) Add(dim);
  Add(func.extent);
  Add(func.input);
  Add(func.output);
}

void DimTable::Add(const SortFunc& func) {
  for (const SymDim& dim : func.outer) Add(dim);
  Add(func.extent);
  Add(func.key);
  for (const Access& value : func.values) Add(value);
  for (const Access& output : func.outputs) Add(output);
}

void DimTable::Add(const ScatterFunc& func) {
  for (const SymDim& dim : func.dims) Add(dim);
  Add(func.update);
  for (const Access& index : func.indices) Add(index);
  for (const SymDim& dim : func.index_limits) Add(dim);
  for (const SymDim& dim : func.index_strides) Add(dim);
  Add(func.output);
}

void DimTable::Add(const AttentionOperand& operand) {
  Add(operand.offset);
  for (const SymDim& stride : operand.strides) Add(stride);
}

void DimTable::Add(const AttentionFunc& func) {
  for (const SymDim& dim : {func.batch, func.heads, func.kv_heads, func.queries, func.keys}) {
    Add(dim);
  }
  for (const AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out, &func.mask}) {
    Add(*operand);
  }
}

SymDim ProductOf(const std::vector<SymDim>& dims) {
  SymDim product = 1;
  for (const SymDim& dim : dims) product = product * dim;
  return product;
}

}  // namespace stoker
