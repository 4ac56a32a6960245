#include "compiler/schedule/lowering/lowering.h"

#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/view_index.h"
#include "compiler/schedule/fusion/seen_layout.h"
#include "compiler/schedule/lowering/lower_contraction.h"
#include "compiler/schedule/program/place_updates.h"

namespace stoker {

Lowering::Lowering(const ScheduledGraph& scheduled, const Machine& machine, Numerics numerics,
                   const std::vector<bool>& copied)
    : scheduled_(scheduled),
      graph_(scheduled.graph),
      machine_(machine),
      numerics_(numerics),
      builder_(scheduled.graph),
      copied_(copied),
      output_written_(scheduled.graph.outputs().size(), false) {}

Error Lowering::AtNode(const Error& error, NodeId node) const {
  return error.WithContext("node " + std::to_string(node) + " (" +
                           std::string(Name(graph_.node(node).kind)) + ")");
}

Result<Program> Lowering::Run(std::uint32_t& failed) && {
  for (const ValueId output : graph_.outputs()) {
    OutputSpec spec;
    spec.type = graph_.type(output);
    const Value& value = graph_.value(output);
    const bool stays = std::ranges::none_of(
        graph_.updates(), [&](const InputUpdate& update) { return update.input == value.index; });
    if (value.producer == kNoNode && stays) {
      spec.same_as_input = static_cast<std::int32_t>(value.index);
    }
    builder_.program().outputs.push_back(std::move(spec));
  }
  for (const InputUpdate& update : graph_.updates()) {
    OutputSpec& spec = builder_.program().outputs[update.output];
    spec.same_as_input = -1;
    spec.updates_input = static_cast<std::int32_t>(update.input);
  }
  for (const std::uint32_t index : scheduled_.order) {
    const Group& group = scheduled_.grouping.groups[index];
    builder_.BeginGroup(index);
    if (const Status status = LowerGroup(group); !status.ok()) {
      failed = index;
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
      return ContractionLowering(*this).Lower(group);
    case GroupKind::kAttention:
      return LowerAttention(group);
    case GroupKind::kOrdered:
      return LowerOrdered(group);
    case GroupKind::kHost:
      return LowerHost(group);
    case GroupKind::kWhile:
      return LowerWhile(group);
  }
  CheckFailed("unknown group kind", __FILE__, __LINE__);
}

// What no kernel could write in place: views, inputs under another type, values that lie otherwise.
// Then those that are copied, which read no input any more: they may update each other's.
Status Lowering::LowerOutputs() {
  const std::vector<OutputSpec>& outputs = builder_.program().outputs;
  std::vector<std::uint32_t> made;
  std::vector<std::uint32_t> updating;
  std::vector<std::uint32_t> last;
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    if (output_written_[i] || outputs[i].same_as_input >= 0) continue;
    (copied_[i] ? last : outputs[i].updates_input >= 0 ? updating : made).push_back(i);
  }
  for (const std::uint32_t i : last) {
    const ValueId value = graph_.outputs()[i];
    if (graph_.value(Reads::OriginOf(graph_, value).source).producer != kNoNode) continue;
    const StorageId copy = builder_.New(value, BufferKind::kArena, 0,
                                        Layout::RowMajor(graph_.type(value).shape.rank()));
    STOKER_RETURN_IF_ERROR(CopyTo(value, copy, false));
    builder_.BindFirst(value, copy);
  }
  for (const auto* outputs_of_kind : {&made, &updating, &last}) {
    for (const std::uint32_t i : *outputs_of_kind) STOKER_RETURN_IF_ERROR(CopyToOutput(i));
  }
  return Ok();
}

Status Lowering::CopyToOutput(std::uint32_t output) {
  const ValueId value = graph_.outputs()[output];
  const StorageId storage = builder_.New(value, BufferKind::kOutput, output,
                                         Layout::RowMajor(graph_.type(value).shape.rank()));
  return CopyTo(value, storage, false);
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
  AddFixedStorages(value, prepared, outputs_fit, storages);
  return storages;
}

void Lowering::AddFixedStorages(ValueId value, bool prepared, bool outputs_fit,
                                std::vector<StorageId>& storages) {
  if (prepared) return;
  const Shape& shape = graph_.type(value).shape;
  for (std::uint32_t i = 0; i < graph_.outputs().size() && outputs_fit; ++i) {
    if (output_written_[i] || copied_[i] || !BecomesOutput(value, i)) continue;
    storages.push_back(builder_.Add(value, BufferKind::kOutput, i, Layout::RowMajor(shape.rank())));
    output_written_[i] = true;
  }
  AddWanted(value, outputs_fit, storages);
}

std::vector<StorageId> Lowering::AddLoopStorages(ValueId value, bool prepared) {
  for (std::uint32_t i = 0; i < graph_.outputs().size() && !prepared; ++i) {
    if (!output_written_[i] && !copied_[i] && BecomesOutput(value, i)) {
      return AddFixedStorages(value, prepared, true);
    }
  }
  std::vector<StorageId> storages;
  for (std::uint32_t i = 0; i < graph_.outputs().size() && !prepared; ++i) {
    const std::optional<Layout> layout = LayoutAsOutput(value, i);
    if (output_written_[i] || copied_[i] || !layout) continue;
    storages.push_back(builder_.Add(value, BufferKind::kOutput, i, *layout));
    output_written_[i] = true;
    break;
  }
  if (!prepared) AddWanted(value, true, storages);
  return storages;
}

// Where it lies as its readers want it, unless it does so already, or could not.
void Lowering::AddWanted(ValueId value, bool outputs_fit, std::vector<StorageId>& storages) {
  const std::optional<Layout>& wanted = scheduled_.values.wanted[value];
  if (!wanted || (wanted->IsRowMajor() && !outputs_fit)) return;
  for (const StorageId id : storages) {
    if (LieAlike(builder_.storage(id).layout, *wanted, graph_.type(value).shape)) return;
  }
  if (scheduled_.values.wanted_by_products[value] && !storages.empty() &&
      ProductsRead(value, builder_.storage(storages.front()).layout)) {
    return;
  }
  storages.push_back(builder_.Add(value, BufferKind::kArena, 0, *wanted));
}

// Whether all that products see as one dim of `value` steps as one where it lies in `layout`.
bool Lowering::ProductsRead(ValueId value, const Layout& layout) const {
  return std::ranges::all_of(scheduled_.reads.OfSource(value), [&](std::uint32_t index) {
    const Read& read = scheduled_.reads.read(index);
    return graph_.node(read.reader).kind != OpKind::kDotGeneral ||
           LayoutSeenOf(graph_, read.views, layout).has_value();
  });
}

// In which an output is row-major that shows the value's dims in another order.
std::optional<Layout> Lowering::LayoutAsOutput(ValueId value, std::uint32_t output) const {
  const ValueId shown = graph_.outputs()[output];
  const Reads::Origin origin = Reads::OriginOf(graph_, shown);
  const bool updates = std::ranges::any_of(
      graph_.updates(), [&](const InputUpdate& update) { return update.output == output; });
  if (origin.source != value || updates) return std::nullopt;
  return LayoutSeenRowMajor(graph_, origin.views, graph_.type(shown).shape.rank());
}

bool Lowering::BecomesOutput(ValueId value, std::uint32_t output) const {
  for (ValueId at = graph_.outputs()[output];;) {
    const Reads::Origin origin = Reads::OriginOf(graph_, at);
    if (!AreReshapes(graph_, origin.views)) return false;
    if (origin.source == value) return true;
    const NodeId producer = graph_.value(origin.source).producer;
    if (producer == kNoNode || graph_.node(producer).kind != OpKind::kScatter) return false;
    const std::optional<ValueId> start = OnlyReadBy(graph_.node(producer));
    if (!start) return false;
    at = *start;
  }
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
    const Node& view = graph_.node(producer);
    std::optional<ElementIndex> pulled = PullThroughView(graph_, view, element, space);
    if (!pulled) return AddressOfElement(view, element, space, prepared);
    element = *std::move(pulled);
    at = view.operands[0];
  }
}

// Of a reshape that is no index expression: still the same row-major element.
std::optional<Address> Lowering::AddressOfElement(const Node& view, const ElementIndex& index,
                                                  const IndexSpace& space, bool prepared) {
  if (view.kind != OpKind::kReshape) return std::nullopt;
  const StorageId id = builder_.FindRowMajor(view.operands[0], prepared);
  if (id == kNoStorage) return std::nullopt;
  return Address{id, Linearize(space, index, graph_.type(view.results[0]).shape.dims())};
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
                            Numerics numerics, std::uint32_t& failed) {
  failed = kNoGroup;
  std::vector<bool> copied(scheduled.graph.outputs().size());
  for (;;) {
    STOKER_TRY(Program program, Lowering(scheduled, machine, numerics, copied).Run(failed));
    const std::vector<std::uint32_t> refused = PlaceUpdates(program);
    if (refused.empty()) return program;
    for (const std::uint32_t output : refused) {
      STOKER_CHECK(!copied[output]);  // The last steps copy these, and read no input.
      copied[output] = true;
    }
  }
}

}  // namespace stoker
