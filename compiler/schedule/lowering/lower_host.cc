// Ops that the host framework runs.
#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/schedule/lowering/lowering.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

// What it is a reshape of.
ValueId BehindReshapes(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId producer = graph.value(value).producer;
    if (producer == kNoNode || graph.node(producer).kind != OpKind::kReshape) return value;
    value = graph.node(producer).operands[0];
  }
}

}  // namespace

Result<StorageId> Lowering::RowMajorStorage(ValueId value) {
  const StorageId found = builder_.FindRowMajor(value, false);
  if (found != kNoStorage) return found;
  return Copy(value, Layout::RowMajor(graph_.type(value).shape.rank()), false);
}

std::optional<Lowering::Part> Lowering::FindPart(ValueId value) {
  const TensorType& type = graph_.type(value);
  IndexSpace space;
  ElementIndex index;
  for (const SymDim& size : type.shape) index.push_back(space.Dim(space.AddDim(size)));
  const std::optional<Address> address = AddressOf(value, index, space, false);
  if (!address || !address->index.IsAffine()) return std::nullopt;
  const SymDim& first = address->index.offset;
  IndexMap row_major = Linearize(space, index, type.shape.dims());
  row_major.offset = first;
  const bool is_aligned =
      SymDim::Mod(first * SizeInBytes(type.dtype), kBufferAlignment) == SymDim(0);
  if (address->index != row_major || !is_aligned) return std::nullopt;
  return Part{address->storage, first};
}

// Where parts of an output are asked for before it is there, it is made first.
Status Lowering::MakeOutputAround(ValueId value) {
  for (ValueId at = value;;) {
    const NodeId producer = graph_.value(at).producer;
    if (producer == kNoNode || !IsView(graph_.node(producer).kind)) return Ok();
    const ValueId around = BehindReshapes(graph_, graph_.node(producer).operands[0]);
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i) {
      const OutputSpec& output = builder_.program().outputs[i];
      const bool is_made = output_written_[i] || copied_[i] || output.updates_input >= 0;
      if (is_made || BehindReshapes(graph_, graph_.outputs()[i]) != around) continue;
      if (graph_.node(producer).kind != OpKind::kSlice) continue;
      const StorageId storage = builder_.New(around, BufferKind::kOutput, i,
                                             Layout::RowMajor(graph_.type(around).shape.rank()));
      STOKER_RETURN_IF_ERROR(CopyTo(around, storage, false));
      builder_.Bind(around, storage);
      output_written_[i] = true;
      return Ok();
    }
    at = graph_.node(producer).operands[0];
  }
}

Result<Lowering::Part> Lowering::PlaceOperand(ValueId value) {
  const StorageId found = builder_.FindRowMajor(value, false);
  if (found != kNoStorage) return Part{found, {}};
  if (const std::optional<Part> part = FindPart(value)) return *part;
  STOKER_RETURN_IF_ERROR(MakeOutputAround(value));
  if (const std::optional<Part> part = FindPart(value)) return *part;
  STOKER_TRY(const StorageId copy, RowMajorStorage(value));
  return Part{copy, {}};
}

Lowering::ResultStorages Lowering::AddRowMajorResult(ValueId value) {
  const std::optional<Layout>& wanted = scheduled_.values.wanted[value];
  if (!wanted || wanted->IsRowMajor()) return AddResultStorages(value, false);
  // A convolution wants it with zeros around: first it is what copies are made of.
  ResultStorages result;
  result.written =
      builder_.Add(value, BufferKind::kArena, 0, Layout::RowMajor(graph_.type(value).shape.rank()));
  result.copies = AddFixedStorages(value, false, true);
  return result;
}

Status Lowering::LowerHost(const Group& group) {
  const Node& node = graph_.node(group.hero);
  HostOp op;
  op.target = node.attributes.String(AttrName::kTarget);
  Step step;
  for (const ValueId operand : node.operands) {
    STOKER_TRY(const Part part, PlaceOperand(operand));
    op.operands.push_back(graph_.type(operand));
    step.buffers.push_back(part.storage);
    step.offsets.push_back(part.first);
  }
  std::vector<ResultStorages> results;
  for (const ValueId value : node.results) {
    const ResultStorages& result = results.emplace_back(AddRowMajorResult(value));
    op.results.push_back(graph_.type(value));
    step.buffers.push_back(result.written);
    step.offsets.emplace_back(0);
  }
  for (const StorageId id : step.buffers) step.bytes = step.bytes + builder_.storage(id).bytes;
  step.label = "host call";
  step.work = std::move(op);
  builder_.Append(std::move(step));
  for (std::size_t i = 0; i < results.size(); ++i) {
    STOKER_RETURN_IF_ERROR(CopyResult(node.results[i], results[i], false));
  }
  return Ok();
}

}  // namespace stoker
