// Kernels whose work along one dim is ordered: scans, sorts, scatters.
#include <algorithm>

#include "compiler/analysis/op_traits.h"
#include "compiler/ir/body_verifier.h"
#include "compiler/schedule/lowering/lowering.h"

namespace stoker {
namespace {

// The dims of a shape with `last` moved to the end, and the index of an element over them.
struct ScanSpace {
  IndexSpace space;
  ElementIndex index;
  std::vector<SymDim> outer;
};

ScanSpace ScanSpaceOf(const Shape& shape, int last) {
  ScanSpace result;
  result.index.resize(shape.dims().size());
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (dim == last) continue;
    result.index[static_cast<std::size_t>(dim)] = result.space.Dim(result.space.AddDim(shape[dim]));
    result.outer.push_back(shape[dim]);
  }
  result.index[static_cast<std::size_t>(last)] = result.space.Dim(result.space.AddDim(shape[last]));
  return result;
}

}  // namespace

Status Lowering::LowerOrdered(const Group& group) {
  const Node& node = graph_.node(group.hero);
  const std::vector<ValueId> stored = StoredMembers(group);
  if (stored.empty()) return Ok();
  if (node.kind == OpKind::kCumulative) return LowerCumulative(node, group.prepared);
  if (node.kind == OpKind::kScatter) return LowerScatter(node, group.prepared);
  return LowerSort(node, group.prepared);
}

// Storages for a result that its kernel can write one of; the others are copied.
Lowering::ResultStorages Lowering::AddResultStorages(ValueId value, bool prepared) {
  std::vector<StorageId> storages = AddFixedStorages(value, prepared, true);
  if (storages.empty()) {
    storages.push_back(builder_.Add(value, KindFor(value, prepared), 0,
                                    Layout::RowMajor(graph_.type(value).shape.rank())));
  }
  return {storages.front(), {storages.begin() + 1, storages.end()}};
}

Status Lowering::CopyResult(ValueId value, const ResultStorages& storages, bool prepared) {
  for (const StorageId copy : storages.copies) {
    STOKER_RETURN_IF_ERROR(CopyTo(value, copy, prepared));
  }
  return Ok();
}

void Lowering::AppendOrdered(KernelFunc func, std::vector<StorageId> buffers, const Node& node,
                             bool prepared) {
  Step step;
  for (const StorageId id : buffers) step.bytes = step.bytes + builder_.storage(id).bytes;
  if (const auto* scatter = std::get_if<ScatterFunc>(&func)) {
    // Of the result it touches as much as there are updates, and reads it where it combines them.
    const SymDim updates = builder_.storage(buffers[1]).bytes;
    step.bytes = step.bytes - builder_.storage(buffers[0]).bytes + updates;
    if (scatter->kind != Combine::kAssign) step.bytes = step.bytes + updates;
  }
  step.work = std::move(func);
  step.buffers = std::move(buffers);
  step.prepared = prepared;
  step.label = std::string(Name(node.kind)) + " " + graph_.type(node.results[0]).ToString();
  builder_.Append(std::move(step));
}

Status Lowering::LowerCumulative(const Node& node, bool prepared) {
  const TensorType& type = graph_.type(node.results[0]);
  const auto dim = static_cast<int>(node.attributes.Int(AttrName::kDim));
  ScanSpace scan = ScanSpaceOf(type.shape, dim);
  if (node.attributes.Bool(AttrName::kReverse)) {
    IndexMap& index = scan.index[static_cast<std::size_t>(dim)];
    index = scan.space.Add(IndexSpace::Constant(type.shape[dim] - 1), scan.space.Scale(index, -1));
  }
  ScanFunc func;
  func.outer = scan.outer;
  func.extent = scan.space.extents().back();
  func.kind = CombineOf(node.attributes);
  func.dtype = ScanType(func.kind, type.dtype);
  func.exclusive = node.attributes.Bool(AttrName::kExclusive);
  STOKER_TRY(const Address input,
             AddressOrCopy(node.operands[0], scan.index, scan.space, prepared));
  func.input = {0, type.dtype, input.index, {}};
  const ResultStorages result = AddResultStorages(node.results[0], prepared);
  const Storage& output = builder_.storage(result.written);
  func.output = {
      1, type.dtype, PhysicalIndex(scan.space, output.layout, output.shape, scan.index), {}};
  AppendOrdered(std::move(func), {input.storage, result.written}, node, prepared);
  return CopyResult(node.results[0], result, prepared);
}

Status Lowering::LowerSort(const Node& node, bool prepared) {
  const bool is_top_k = node.kind == OpKind::kTopK;
  const Shape& shape = graph_.type(node.operands[0]).shape;
  const int dim =
      is_top_k ? shape.rank() - 1 : static_cast<int>(node.attributes.Int(AttrName::kDim));
  const ScanSpace scan = ScanSpaceOf(shape, dim);
  SortFunc func;
  func.outer = scan.outer;
  func.extent = scan.space.extents().back();
  func.output_index = is_top_k;
  if (is_top_k) func.keep = node.attributes.Int(AttrName::kK);
  func.descending = node.attributes.Bool(is_top_k ? AttrName::kLargest : AttrName::kDescending);
  std::vector<StorageId> buffers;
  for (const ValueId operand : node.operands) {
    STOKER_TRY(const Address address, AddressOrCopy(operand, scan.index, scan.space, prepared));
    const Access access{
        static_cast<std::uint32_t>(buffers.size()), graph_.type(operand).dtype, address.index, {}};
    if (buffers.empty()) {
      func.key = access;
    } else {
      func.values.push_back(access);
    }
    buffers.push_back(address.storage);
  }
  std::vector<ResultStorages> results;
  for (const ValueId value : node.results) {
    results.push_back(AddResultStorages(value, prepared));
    const Storage& storage = builder_.storage(results.back().written);
    const ScanSpace kept = ScanSpaceOf(storage.shape, dim);
    func.outputs.push_back({static_cast<std::uint32_t>(buffers.size()),
                            storage.dtype,
                            PhysicalIndex(kept.space, storage.layout, storage.shape, kept.index),
                            {}});
    buffers.push_back(results.back().written);
  }
  if (const std::optional<SymDim> work = SortWorkElements(func)) {
    buffers.push_back(builder_.AddPacked(prepared ? BufferKind::kPrepareArena : BufferKind::kArena,
                                         DType::kI64, *work));
  }
  AppendOrdered(std::move(func), std::move(buffers), node, prepared);
  for (std::size_t i = 0; i < results.size(); ++i) {
    STOKER_RETURN_IF_ERROR(CopyResult(node.results[i], results[i], prepared));
  }
  return Ok();
}

Result<std::vector<Address>> Lowering::ScatterIndices(const Node& node, const IndexSpace& space,
                                                      const ElementIndex& batch, bool prepared) {
  const ValueId indices = node.operands[1];
  const auto vector_dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kIndexVectorDim));
  const std::size_t count = node.attributes.Ints(AttrName::kScatterDims).size();
  std::vector<Address> addresses;
  // Twice: a copy that some component needs is then what all are read from.
  for (int pass = 0; pass < 2; ++pass) {
    addresses.clear();
    for (std::size_t k = 0; k < count; ++k) {
      ElementIndex at = batch;
      if (vector_dim < graph_.type(indices).shape.dims().size()) {
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(vector_dim),
                  IndexSpace::Constant(static_cast<std::int64_t>(k)));
      }
      STOKER_TRY(addresses.emplace_back(), AddressOrCopy(indices, at, space, prepared));
    }
  }
  return addresses;
}

std::optional<ValueId> Lowering::OnlyReadBy(const Node& scatter) const {
  const Reads::Origin origin = Reads::OriginOf(graph_, scatter.operands[0]);
  // Of another shape its storage would be addressed otherwise than the result's readers do.
  const bool is_alike = graph_.type(origin.source) == graph_.type(scatter.operands[0]);
  if (graph_.value(origin.source).producer == kNoNode || !is_alike ||
      !AreReshapes(graph_, origin.views) || scheduled_.reads.OfSource(origin.source).size() != 1) {
    return std::nullopt;
  }
  const bool is_output = std::ranges::any_of(graph_.outputs(), [&](ValueId output) {
    return Reads::OriginOf(graph_, output).source == origin.source;
  });
  return is_output ? std::nullopt : std::optional(origin.source);
}

// The kernel updates the result in place. It starts as the operand, in the operand's own memory
// where nobody else reads it, or as a copy.
Result<Lowering::ResultStorages> Lowering::AddScatterStorages(const Node& node, bool prepared) {
  const ValueId value = node.results[0];
  if (const std::optional<ValueId> start = OnlyReadBy(node)) {
    const StorageId id = builder_.Find(*start, prepared);
    const bool is_own = id != kNoStorage && builder_.storage(id).layout.IsRowMajor() &&
                        (builder_.storage(id).kind == BufferKind::kOutput ||
                         builder_.storage(id).kind == KindFor(value, prepared));
    if (is_own) {
      builder_.Bind(value, id);
      return ResultStorages{id, AddFixedStorages(value, prepared, true)};
    }
  }
  const ResultStorages result = AddResultStorages(value, prepared);
  STOKER_RETURN_IF_ERROR(CopyTo(node.operands[0], result.written, prepared));
  return result;
}

Status Lowering::LowerScatter(const Node& node, bool prepared) {
  const Attributes& attributes = node.attributes;
  const TensorType& type = graph_.type(node.results[0]);
  const std::vector<SymDim>& updates = graph_.type(node.operands[2]).shape.dims();
  const std::vector<std::int64_t>& window_dims = attributes.Ints(AttrName::kUpdateWindowDims);
  const std::vector<std::int64_t>& inserted = attributes.Ints(AttrName::kInsertedWindowDims);
  const std::vector<std::int64_t>& scatter_dims = attributes.Ints(AttrName::kScatterDims);
  const auto contains = [](const std::vector<std::int64_t>& dims, std::size_t dim) {
    return std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) != dims.end();
  };

  STOKER_TRY(const ResultStorages result, AddScatterStorages(node, prepared));
  const Storage output = builder_.storage(result.written);

  const IndexSpace space(updates);
  ElementIndex update_index;
  ElementIndex batch;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    update_index.push_back(space.Dim(static_cast<int>(i)));
    if (!contains(window_dims, i)) batch.push_back(update_index.back());
  }
  ElementIndex position(type.shape.dims().size());
  std::vector<int> window_of(position.size(), -1);  // Per dim of the result: the update dim.
  std::size_t window = 0;
  for (std::size_t i = 0; i < position.size(); ++i) {
    if (contains(inserted, i)) continue;
    const auto dim = static_cast<std::size_t>(window_dims[window++]);
    position[i] = update_index[dim];
    window_of[i] = static_cast<int>(dim);
  }

  ScatterFunc func;
  func.dims = updates;
  func.kind = CombineOf(node.attributes);
  func.dtype = ComputeType(type.dtype);
  STOKER_TRY(const Address update, AddressOrCopy(node.operands[2], update_index, space, prepared));
  func.update = {1, type.dtype, update.index, {}};
  func.output = {0, type.dtype, PhysicalIndex(space, output.layout, output.shape, position), {}};
  STOKER_TRY(const std::vector<Address> indices, ScatterIndices(node, space, batch, prepared));
  const std::vector<SymDim> strides = StridesOf(output.layout, output.shape);
  for (std::size_t k = 0; k < scatter_dims.size(); ++k) {
    const auto dim = static_cast<std::size_t>(scatter_dims[k]);
    func.indices.push_back({2, graph_.type(node.operands[1]).dtype, indices[k].index, {}});
    func.window_dims.push_back(window_of[dim]);
    func.index_limits.push_back(type.shape.dims()[dim]);
    func.index_strides.push_back(strides[dim]);
  }
  // A scatter of no dims reads no index: any buffer will do.
  const StorageId index_storage = indices.empty() ? update.storage : indices[0].storage;
  AppendOrdered(std::move(func), {result.written, update.storage, index_storage}, node, prepared);
  return CopyResult(node.results[0], result, prepared);
}

}  // namespace stoker
