// Packing of the right operand of a contraction.
#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/view_index.h"
#include "compiler/schedule/lowering/lower_contraction.h"

namespace stoker {
namespace {

// Neighbouring k dims, and batch dims, through which the sources step as through one.
void MergePackDims(PackFunc& func) {
  const auto steps_as_one = [](const IndexMap& index, int dim, const SymDim& inner) {
    for (const IndexTerm& term : index.terms) {
      const bool is_plain = term.divisor == 1 && term.modulus == 0;
      if ((term.dim == dim || term.dim == dim + 1) && !is_plain) return false;
    }
    return index.CoefficientOf(dim) == index.CoefficientOf(dim + 1) * inner;
  };
  const auto drop = [](IndexMap& index, int dim) {
    std::erase_if(index.terms, [&](const IndexTerm& term) { return term.dim == dim; });
    for (IndexTerm& term : index.terms) term.dim -= term.dim > dim ? 1 : 0;
  };
  const auto merge = [&](std::vector<SymDim>& dims, int first) {
    for (int i = static_cast<int>(dims.size()) - 2; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      const SymDim& inner = dims[at + 1];
      if (!steps_as_one(func.source.index, first + i, inner)) continue;
      if (func.has_scale && !steps_as_one(func.scale.index, first + i, inner)) continue;
      dims[at] = dims[at] * inner;
      dims.erase(dims.begin() + i + 1);
      drop(func.source.index, first + i);
      if (func.has_scale) drop(func.scale.index, first + i);
    }
  };
  merge(func.k, static_cast<int>(func.batch.size()));
  merge(func.batch, 0);
}

}  // namespace

// Appends the step that packs `value`, whose element along n is n_index, from `offset` elements of
// the packed buffer on.
Status ContractionLowering::AppendPack(ContractionParts& parts, const PackSource& source,
                                       StorageId packed, const SymDim& offset, bool prepared) {
  std::vector<int> dims;
  PackFunc func;
  func.layout = parts.func.rhs;
  const std::vector<int> used = DimsOf(parts.rhs_index);
  for (const int dim : parts.batch) {
    if (!std::binary_search(used.begin(), used.end(), dim)) continue;
    func.batch.push_back(parts.space.extent(dim));
    dims.push_back(dim);
  }
  for (const int dim : parts.k) {
    func.k.push_back(parts.space.extent(dim));
    dims.push_back(dim);
  }
  if (parts.k.empty()) func.k.push_back(1);
  func.n = source.n;
  std::vector<SymDim> extents = func.batch;
  extents.insert(extents.end(), func.k.begin(), func.k.end());
  extents.push_back(func.n);
  const IndexSpace space(std::move(extents));
  std::vector<IndexMap> replacements(static_cast<std::size_t>(parts.space.rank()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    replacements[static_cast<std::size_t>(dims[i])] = space.Dim(static_cast<int>(i));
  }
  replacements[static_cast<std::size_t>(parts.n)] = space.Dim(space.rank() - 1);

  Step step;
  const auto use = [&](const Address& address, std::uint32_t operand, Access& access) {
    const Storage& storage = builder_.storage(address.storage);
    const std::optional<IndexMap> index = space.Substitute(address.index, replacements);
    STOKER_CHECK(index.has_value());
    access = {operand, storage.dtype, *index, {}};
    step.bytes = step.bytes + storage.bytes;
  };
  use(source.matrix, 0, func.source);
  step.buffers = {source.matrix.storage, packed};
  step.offsets = {0, offset};
  if (source.scale) {
    func.has_scale = true;
    use(*source.scale, 2, func.scale);
    step.buffers.push_back(source.scale->storage);
    step.offsets.emplace_back(0);
  }
  MergePackDims(func);
  step.bytes = step.bytes + PackedElements(func) * SizeInBytes(func.layout.dtype);
  step.label = "pack " + func.n.ToString();
  for (const SymDim& k : func.k) step.label += "x" + k.ToString();
  step.prepared = prepared;
  step.work = std::move(func);
  builder_.Append(std::move(step));
  return Ok();
}

// Finds what `value` is read from at parts.rhs_index: one matrix in memory, a matrix with a scale,
// or several side by side along n, which is how sibling contractions were merged.
Result<std::vector<ContractionLowering::PackSource>> ContractionLowering::FindPackSources(
    ContractionParts& parts, ValueId value, bool prepared) {
  ElementIndex index = parts.rhs_index;
  ValueId at = value;
  const SymDim n = parts.space.extent(parts.n);
  for (;;) {
    const StorageId id = builder_.Find(at, prepared);
    if (id != kNoStorage) {
      const Storage& storage = builder_.storage(id);
      return std::vector<PackSource>{
          {n, {id, PhysicalIndex(parts.space, storage.layout, storage.shape, index)}, {}}};
    }
    const NodeId producer = graph_.value(at).producer;
    if (producer == kNoNode) break;
    const Node& node = graph_.node(producer);
    if (IsView(node.kind)) {
      std::optional<ElementIndex> pulled = PullThroughView(graph_, node, index, parts.space);
      if (!pulled) break;
      index = *std::move(pulled);
      at = node.operands[0];
      continue;
    }
    if (node.kind == OpKind::kMultiply && IsMadeByPacking(graph_, scheduled_.reads, node)) {
      STOKER_TRY(const Address a,
                 lowering_.AddressOrCopy(node.operands[0], index, parts.space, prepared));
      STOKER_TRY(const Address b,
                 lowering_.AddressOrCopy(node.operands[1], index, parts.space, prepared));
      const bool a_is_matrix = a.index.terms.size() >= b.index.terms.size();
      return std::vector<PackSource>{{n, a_is_matrix ? a : b, a_is_matrix ? b : a}};
    }
    if (node.kind == OpKind::kConcatenate && parts.batch.empty()) {
      STOKER_TRY(std::vector<PackSource> pieces, SplitConcatenation(parts, node, index, prepared));
      if (!pieces.empty()) return pieces;
    }
    break;
  }
  STOKER_TRY(const Address address,
             lowering_.AddressOrCopy(value, parts.rhs_index, parts.space, prepared));
  return std::vector<PackSource>{{n, address, {}}};
}

// The operands of a concatenation along n, when each fills whole panels; else nothing.
Result<std::vector<ContractionLowering::PackSource>> ContractionLowering::SplitConcatenation(
    ContractionParts& parts, const Node& node, const ElementIndex& index, bool prepared) {
  const auto dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kDim));
  std::vector<PackSource> pieces;
  if (index[dim] != parts.space.Dim(parts.n)) return pieces;
  for (const ValueId operand : node.operands) {
    const SymDim& size = graph_.type(operand).shape[static_cast<int>(dim)];
    if (!size.IsConstant() || size.constant() % parts.func.rhs.nr != 0)
      return std::vector<PackSource>();
    // Within the piece, n counts from its start: the index is the same expression.
    STOKER_TRY(const Address address,
               lowering_.AddressOrCopy(operand, index, parts.space, prepared));
    pieces.push_back({size, address, {}});
  }
  return pieces;
}

Result<StorageId> ContractionLowering::PackRhs(ContractionParts& parts, bool prepared) {
  const ValueId rhs = parts.node.operands[1];
  const bool once = prepared || scheduled_.prepared[rhs];
  STOKER_TRY(const std::vector<PackSource> sources, FindPackSources(parts, rhs, once));
  const std::size_t first = builder_.program().steps.size();
  const PackedLayout& layout = parts.func.rhs;
  SymDim k = 1;
  for (const int dim : parts.k) k = k * parts.space.extent(dim);
  const SymDim panel = PanelElements(layout, k);
  const StorageId packed = kNoStorage;
  SymDim offset = 0;
  SymDim elements = 0;
  for (const PackSource& source : sources) {
    STOKER_RETURN_IF_ERROR(AppendPack(parts, source, packed, offset, once));
    offset = offset + SymDim::FloorDiv(source.n, layout.nr) * panel;
    elements =
        elements + PackedElements(std::get<PackFunc>(*builder_.program().steps.back().func()));
  }
  // The same matrix packed the same way is packed once.
  std::vector<Step>& steps = builder_.program().steps;
  std::string name = once ? "prepared" : "call";
  for (std::size_t i = first; i < steps.size(); ++i) {
    name += " " + std::to_string(steps[i].buffers[0]) + " " +
            (steps[i].buffers.size() > 2 ? std::to_string(steps[i].buffers[2]) : "-") + "\n" +
            ToString(*steps[i].func());
  }
  const auto known = packed_.find(name);
  if (known != packed_.end()) {
    steps.resize(first);
    // What only `prepare` has read so far is kept for the calls too.
    Storage& storage = builder_.program().storages[known->second];
    if (!prepared && storage.kind == BufferKind::kPrepareArena) {
      storage.kind = BufferKind::kPrepared;
    }
    return known->second;
  }
  const StorageId id = builder_.AddPacked(
      once ? (prepared ? BufferKind::kPrepareArena : BufferKind::kPrepared) : BufferKind::kArena,
      layout.dtype, elements);
  for (std::size_t i = first; i < steps.size(); ++i) steps[i].buffers[1] = id;
  packed_.emplace(std::move(name), id);
  return id;
}

}  // namespace stoker
