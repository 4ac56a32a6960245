// Ops that the host framework runs.
#include "compiler/schedule/lowering/lowering.h"

namespace stoker {

Result<StorageId> Lowering::RowMajorStorage(ValueId value) {
  const StorageId found = builder_.FindRowMajor(value, false);
  if (found != kNoStorage) return found;
  return Copy(value, Layout::RowMajor(graph_.type(value).shape.rank()), false);
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
    STOKER_TRY(const StorageId storage, RowMajorStorage(operand));
    op.operands.push_back(graph_.type(operand));
    step.buffers.push_back(storage);
  }
  std::vector<ResultStorages> results;
  for (const ValueId value : node.results) {
    const ResultStorages& result = results.emplace_back(AddRowMajorResult(value));
    op.results.push_back(graph_.type(value));
    step.buffers.push_back(result.written);
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
