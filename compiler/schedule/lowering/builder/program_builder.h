// ProgramBuilder: the storages and steps of a Program under construction, and where values are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/program/program.h"
#include "protocol/graph/graph.h"

namespace stoker {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Graph& graph);

  // A storage that fits `value`; once bound, steps may load the value from it.
  StorageId New(ValueId value, BufferKind kind, std::uint32_t index, Layout layout);
  void Bind(ValueId value, StorageId storage) { of_value_[value].push_back(storage); }
  // From here on steps load it from this one.
  void BindFirst(ValueId value, StorageId storage) {
    of_value_[value].insert(of_value_[value].begin(), storage);
  }
  StorageId Add(ValueId value, BufferKind kind, std::uint32_t index, Layout layout);  // Both.
  // Elements that are no graph value: a packed matrix, memory to work in.
  StorageId AddPacked(BufferKind kind, DType dtype, SymDim elements);
  // Of a region that becomes a part of the program.
  StorageId AddStorage(Storage storage);
  StorageId AddInArena(const TensorType& type);  // Row-major.
  StorageId AddConstant(Storage storage, const std::string& bytes);

  // A storage of `value` that a step may read, or kNoStorage. Dense constants get one when asked.
  StorageId Find(ValueId value, bool prepared);
  // All of them, in the order they were made.
  std::vector<StorageId> FindAll(ValueId value, bool prepared);
  // One that has the value's elements in row-major order: its own, or that of what it looks at,
  // whose shape may be another.
  StorageId FindRowMajor(ValueId value, bool prepared);

  // Steps from here on are of this group.
  void BeginGroup(std::uint32_t group) { group_ = group; }
  std::uint32_t group() const { return group_; }
  void Append(Step step) {
    step.group = group_;
    program_.steps.push_back(std::move(step));
  }
  const Storage& storage(StorageId id) const { return program_.storages[id]; }
  Program& program() { return program_; }
  bool IsSeenAsStored(ValueId value) const { return seen_as_stored_[value]; }
  bool IsReadable(StorageId id, bool prepared) const;  // By a step of `prepare`, or of every call.

 private:
  std::uint32_t NumberOf(const std::string& constant);

  const Graph& graph_;
  Program program_;
  const std::vector<bool> seen_as_stored_;  // By value.
  std::uint32_t group_ = 0;
  std::vector<std::vector<StorageId>> of_value_;
  std::map<std::string, std::uint32_t> constants_;  // Bytes -> number.
};

// The operands of one kernel: each storage once per dtype it is seen as.
class KernelOperands {
 public:
  explicit KernelOperands(const ProgramBuilder& builder) : builder_(builder) {}

  std::uint32_t Use(StorageId storage, DType dtype, bool written);

  std::vector<Operand> operands;
  std::vector<StorageId> buffers;

 private:
  const ProgramBuilder& builder_;
};

}  // namespace stoker
