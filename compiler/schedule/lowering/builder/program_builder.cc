#include "compiler/schedule/lowering/builder/program_builder.h"

#include <utility>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/seen_as_stored.h"
#include "compiler/schedule/fusion/seen_layout.h"

namespace stoker {

ProgramBuilder::ProgramBuilder(const Graph& graph)
    : graph_(graph), seen_as_stored_(SeenAsStored(graph)), of_value_(graph.values().size()) {
  for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId value = graph.inputs()[i].value;
    Add(value, BufferKind::kInput, i, Layout::RowMajor(graph.type(value).shape.rank()));
  }
}

StorageId ProgramBuilder::New(ValueId value, BufferKind kind, std::uint32_t index, Layout layout) {
  const TensorType& type = graph_.type(value);
  const SymDim bytes = ElementsOf(layout, type.shape) * SizeInBytes(type.dtype);
  return AddStorage({kind, index, type.dtype, type.shape, std::move(layout), bytes});
}

StorageId ProgramBuilder::Add(ValueId value, BufferKind kind, std::uint32_t index, Layout layout) {
  const StorageId id = New(value, kind, index, std::move(layout));
  Bind(value, id);
  return id;
}

StorageId ProgramBuilder::AddPacked(BufferKind kind, DType dtype, SymDim elements) {
  const SymDim bytes = elements * SizeInBytes(dtype);
  return AddStorage({kind, 0, dtype, Shape({std::move(elements)}), Layout::RowMajor(1), bytes});
}

StorageId ProgramBuilder::AddStorage(Storage storage) {
  program_.storages.push_back(std::move(storage));
  return static_cast<StorageId>(program_.storages.size() - 1);
}

StorageId ProgramBuilder::AddInArena(const TensorType& type) {
  Layout layout = Layout::RowMajor(type.shape.rank());
  const SymDim bytes = ElementsOf(layout, type.shape) * SizeInBytes(type.dtype);
  return AddStorage({BufferKind::kArena, 0, type.dtype, type.shape, std::move(layout), bytes});
}

StorageId ProgramBuilder::AddConstant(Storage storage, const std::string& bytes) {
  storage.index = NumberOf(bytes);
  return AddStorage(std::move(storage));
}

std::uint32_t ProgramBuilder::NumberOf(const std::string& constant) {
  const auto number = static_cast<std::uint32_t>(constants_.size());
  const auto [entry, is_new] = constants_.emplace(constant, number);
  if (is_new) program_.constants.push_back(constant);
  return entry->second;
}

bool ProgramBuilder::IsReadable(StorageId id, bool prepared) const {
  const Storage& storage = program_.storages[id];
  switch (storage.kind) {
    case BufferKind::kInput:
      return !prepared || graph_.inputs()[storage.index].role == InputRole::kParameter;
    case BufferKind::kPrepared:
    case BufferKind::kConstant:
      return true;
    case BufferKind::kOutput:
    case BufferKind::kArena:
      return !prepared;
    case BufferKind::kPrepareArena:
      return prepared;
  }
  CheckFailed("unknown buffer kind", __FILE__, __LINE__);
}

std::vector<StorageId> ProgramBuilder::FindAll(ValueId value, bool prepared) {
  std::vector<StorageId> found;
  for (const StorageId id : of_value_[value]) {
    if (IsReadable(id, prepared)) found.push_back(id);
  }
  const NodeId producer = graph_.value(value).producer;
  if (!found.empty() || producer == kNoNode || graph_.node(producer).kind != OpKind::kConstant) {
    return found;
  }
  const TensorType& type = graph_.type(value);
  const std::string& bytes = graph_.node(producer).constant;
  const SymDim size = type.shape.NumElements() * SizeInBytes(type.dtype);
  if (!size.IsConstant() || size.constant() != static_cast<std::int64_t>(bytes.size())) {
    return found;  // A splat.
  }
  found.push_back(
      Add(value, BufferKind::kConstant, NumberOf(bytes), Layout::RowMajor(type.shape.rank())));
  return found;
}

StorageId ProgramBuilder::Find(ValueId value, bool prepared) {
  const std::vector<StorageId> all = FindAll(value, prepared);
  return all.empty() ? kNoStorage : all.front();
}

StorageId ProgramBuilder::FindRowMajor(ValueId value, bool prepared) {
  const int rank = graph_.type(value).shape.rank();
  std::vector<NodeId> views;
  for (;;) {
    const std::optional<Layout> layout = LayoutSeenRowMajor(graph_, views, rank);
    if (!layout) return kNoStorage;
    for (const StorageId id : FindAll(value, prepared)) {
      const Storage& storage = program_.storages[id];
      if (LieAlike(storage.layout, *layout, storage.shape)) return id;
    }
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || !IsView(graph_.node(producer).kind)) return kNoStorage;
    views.push_back(producer);
    value = graph_.node(producer).operands[0];
  }
}

std::uint32_t KernelOperands::Use(StorageId storage, DType dtype, bool written) {
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == storage && operands[i].dtype == dtype) {
      operands[i].written = operands[i].written || written;
      return i;
    }
  }
  const BufferKind kind = builder_.storage(storage).kind;
  const bool has_slack = kind == BufferKind::kArena || kind == BufferKind::kPrepared ||
                         kind == BufferKind::kPrepareArena;
  operands.push_back({dtype, written, has_slack});
  buffers.push_back(storage);
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

}  // namespace stoker
