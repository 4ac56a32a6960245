#include "compiler/schedule/lowering/program_builder.h"

namespace stoker {

ProgramBuilder::ProgramBuilder(const Graph& graph)
    : graph_(graph), of_value_(graph.values().size()) {
  for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId value = graph.inputs()[i].value;
    Add(value, BufferKind::kInput, i, Layout::RowMajor(graph.type(value).shape.rank()));
  }
}

StorageId ProgramBuilder::New(ValueId value, BufferKind kind, std::uint32_t index, Layout layout) {
  const TensorType& type = graph_.type(value);
  const auto id = static_cast<StorageId>(program_.storages.size());
  const SymDim bytes = ElementsOf(layout, type.shape) * SizeInBytes(type.dtype);
  program_.storages.push_back({kind, index, type.dtype, type.shape, std::move(layout), bytes});
  return id;
}

StorageId ProgramBuilder::Add(ValueId value, BufferKind kind, std::uint32_t index, Layout layout) {
  const StorageId id = New(value, kind, index, std::move(layout));
  Bind(value, id);
  return id;
}

StorageId ProgramBuilder::AddPacked(BufferKind kind, DType dtype, SymDim elements) {
  const auto id = static_cast<StorageId>(program_.storages.size());
  const SymDim bytes = elements * SizeInBytes(dtype);
  program_.storages.push_back(
      {kind, 0, dtype, Shape({std::move(elements)}), Layout::RowMajor(1), bytes});
  return id;
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
  const auto number = static_cast<std::uint32_t>(constants_.size());
  const auto [entry, is_new] = constants_.emplace(bytes, number);
  if (is_new) program_.constants.push_back(bytes);
  found.push_back(
      Add(value, BufferKind::kConstant, entry->second, Layout::RowMajor(type.shape.rank())));
  return found;
}

StorageId ProgramBuilder::Find(ValueId value, bool prepared) {
  const std::vector<StorageId> all = FindAll(value, prepared);
  return all.empty() ? kNoStorage : all.front();
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
