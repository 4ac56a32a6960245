#include "compiler/schedule/lowering/lowering.h"

#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/view_index.h"

namespace stoker {

Lowering::Lowering(const ScheduledGraph& scheduled, const Machine& machine, Numerics numerics)
    : scheduled_(scheduled),
      graph_(scheduled.graph),
      machine_(machine),
      numerics_(numerics),
      builder_(scheduled.graph),
      output_written_(scheduled.graph.outputs().size(), false) {}

Error Lowering::AtNode(const Error& error, NodeId node) const {
  return error.WithContext("node " + std::to_string(node) + " (" +
                           std::string(Name(graph_.node(node).kind)) + ")");
}

Result<Program> Lowering::Run() && {
  for (const ValueId output : graph_.outputs()) {
    OutputSpec spec{graph_.type(output), -1};
    const Value& value = graph_.value(output);
    if (value.producer == kNoNode) spec.same_as_input = static_cast<std::int32_t>(value.index);
    builder_.program().outputs.push_back(std::move(spec));
  }
  for (const std::uint32_t index : scheduled_.order) {
    const Group& group = scheduled_.grouping.groups[index];
    if (const Status status = LowerGroup(group); !status.ok()) {
      return AtNode(status.error(), group.hero);
    }
  }
  STOKER_RETURN_IF_ERROR(LowerOutputs());
  return std::move(builder_.program());
}

Status Lowering::LowerGroup(const Group& group) {
  switch (group.kind) {
    case GroupKind::kLoop:
      return LowerLoop(group, StoredMembers(group));
    case GroupKind::kContraction:
      return LowerContraction(group);
    case GroupKind::kAttention:
      return LowerAttention(group);
    case GroupKind::kOrdered:
      return LowerOrdered(group);
    case GroupKind::kHost:
      return LowerHost(group);
  }
  CheckFailed("unknown group kind", __FILE__, __LINE__);
}

// What no kernel could write in place: views, inputs under another type, values that lie otherwise.
Status Lowering::LowerOutputs() {
  for (std::uint32_t i = 0; i < output_written_.size(); ++i) {
    if (output_written_[i] || builder_.program().outputs[i].same_as_input >= 0) continue;
    const ValueId value = graph_.outputs()[i];
    const StorageId storage = builder_.New(value, BufferKind::kOutput, i,
                                           Layout::RowMajor(graph_.type(value).shape.rank()));
    STOKER_RETURN_IF_ERROR(CopyTo(value, storage, false));
  }
  return Ok();
}

std::vector<ValueId> Lowering::StoredMembers(const Group& group) const {
  std::vector<ValueId> values;
  for (const NodeId node : group.nodes) {
    for (const ValueId result : graph_.node(node).results) {
      if (scheduled_.values.stored[result]) values.push_back(result);
    }
  }
  return values;
}

BufferKind Lowering::KindFor(ValueId value, bool prepared) const {
  if (!prepared) return BufferKind::kArena;
  return scheduled_.values.read_by_call[value] ? BufferKind::kPrepared : BufferKind::kPrepareArena;
}

std::vector<StorageId> Lowering::AddFixedStorages(ValueId value, bool prepared, bool outputs_fit) {
  std::vector<StorageId> storages;
  if (prepared) return storages;
  const int rank = graph_.type(value).shape.rank();
  for (std::uint32_t i = 0; i < graph_.outputs().size() && outputs_fit; ++i) {
    if (output_written_[i]) continue;
    const Reads::Origin origin = Reads::OriginOf(graph_, graph_.outputs()[i]);
    // A reshape is the same row-major bytes.
    const bool is_same_bytes =
        origin.source == value &&
        std::all_of(origin.views.begin(), origin.views.end(),
                    [&](NodeId view) { return graph_.node(view).kind == OpKind::kReshape; });
    if (!is_same_bytes) continue;
    storages.push_back(builder_.Add(value, BufferKind::kOutput, i, Layout::RowMajor(rank)));
    output_written_[i] = true;
  }
  const std::optional<Layout>& wanted = scheduled_.values.wanted[value];
  // An output lies so already, or could not.
  const bool is_like_output = wanted && wanted->IsRowMajor();
  if (wanted && !(is_like_output && (!storages.empty() || !outputs_fit))) {
    storages.push_back(builder_.Add(value, BufferKind::kArena, 0, *wanted));
  }
  return storages;
}

bool Lowering::NeedsStorage(ValueId value, bool prepared) {
  return builder_.Find(value, prepared) == kNoStorage;
}

std::optional<Address> Lowering::AddressOf(ValueId value, const ElementIndex& index,
                                           const IndexSpace& space, bool prepared) {
  ValueId at = value;
  ElementIndex element = index;
  for (;;) {
    const StorageId id = builder_.Find(at, prepared);
    if (id != kNoStorage) {
      const Storage& storage = builder_.storage(id);
      return Address{id, PhysicalIndex(space, storage.layout, storage.shape, element)};
    }
    const NodeId producer = graph_.value(at).producer;
    if (producer == kNoNode || !IsView(graph_.node(producer).kind)) return std::nullopt;
    std::optional<ElementIndex> pulled =
        PullThroughView(graph_, graph_.node(producer), element, space);
    if (!pulled) return std::nullopt;
    element = *std::move(pulled);
    at = graph_.node(producer).operands[0];
  }
}

Result<Address> Lowering::AddressOrCopy(ValueId value, const ElementIndex& index,
                                        const IndexSpace& space, bool prepared) {
  if (std::optional<Address> address = AddressOf(value, index, space, prepared)) return *address;
  STOKER_RETURN_IF_ERROR(Materialize(value, prepared));
  const std::optional<Address> address = AddressOf(value, index, space, prepared);
  STOKER_CHECK(address.has_value());
  return *address;
}

Result<Program> LowerGroups(const ScheduledGraph& scheduled, const Machine& machine,
                            Numerics numerics) {
  return Lowering(scheduled, machine, numerics).Run();
}

}  // namespace stoker
