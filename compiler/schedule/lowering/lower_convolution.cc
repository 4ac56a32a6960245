// The image of a convolution, and which elements of it and of the weights are multiplied at a
// point.
#include <algorithm>
#include <optional>

#include "compiler/schedule/lowering/lower_contraction.h"

namespace stoker {
namespace {

// Elements that neighbour each other along the innermost k dims.
std::int64_t ContiguousRun(const IndexSpace& space, const std::vector<int>& k,
                           const IndexMap& index) {
  std::int64_t run = 1;
  for (std::size_t i = k.size(); i-- > 0;) {
    if (index.CoefficientOf(k[i]) != SymDim(run) || !space.extent(k[i]).IsConstant()) break;
    run *= space.extent(k[i]).constant();
  }
  return run;
}

Status CheckSizes(const TensorType& input, const Shape& kernel) {
  for (int dim = 1; dim < input.shape.rank(); ++dim) {
    if (!input.shape[dim].IsConstant() || !kernel[dim].IsConstant()) {
      return Unimplemented("convolution needs constant sizes except of the batch; dim " +
                           std::to_string(dim) + " of " + input.ToString() + " is symbolic.");
    }
  }
  return Ok();
}

// Where an index is a dim of the space.
std::optional<int> PlainDim(const IndexSpace& space, const IndexMap& index) {
  if (index.terms.size() != 1 || !(index == space.Dim(index.terms[0].dim))) return std::nullopt;
  return index.terms[0].dim;
}

bool HasAtLeast(const Layout& layout, const Layout& halo) {
  for (std::size_t i = 0; i < halo.low.size(); ++i) {
    if (layout.low[i] < halo.low[i] || layout.high[i] < halo.high[i]) return false;
  }
  return true;
}

}  // namespace

// Adds the k dims: the window, then the channels. Which element of the image is read; sets
// rhs_index.
ElementIndex ContractionLowering::WalkWindow(const Group& group, ContractionParts& parts) {
  const Attributes& attributes = parts.node.attributes;
  const Shape& kernel = graph_.type(parts.node.operands[1]).shape;
  const std::vector<std::int64_t>& pad_low = attributes.Ints(AttrName::kPadLow);
  const std::vector<std::int64_t>& pad_high = attributes.Ints(AttrName::kPadHigh);
  const Shape& image = graph_.type(parts.node.operands[0]).shape;
  const ElementIndex& result = group.placement.at(group.hero);
  ElementIndex index(result.size());
  parts.rhs_index.resize(result.size());
  index[0] = result[0];
  for (std::size_t i = 2; i < result.size(); ++i) {
    const int dim = parts.space.AddDim(kernel.dims()[i]);
    parts.k.push_back(dim);
    parts.rhs_index[i] = parts.space.Dim(dim);
  }
  const int channel = parts.space.AddDim(kernel[1]);
  parts.k.push_back(channel);
  parts.rhs_index[0] = result[1];
  parts.rhs_index[1] = parts.space.Dim(channel);
  for (std::size_t i = 2; i < result.size(); ++i) {
    const std::int64_t stride = attributes.Ints(AttrName::kStrides)[i - 2];
    const std::int64_t dilation = attributes.Ints(AttrName::kDilation)[i - 2];
    const IndexMap start = parts.space.Add(parts.space.Scale(result[i], stride),
                                           IndexSpace::Constant(-pad_low[i - 2]));
    index[i] = parts.space.Add(start, parts.space.Scale(parts.rhs_index[i], dilation));
    const std::optional<int> row = PlainDim(parts.space, result[i]);
    const std::optional<int> tap = PlainDim(parts.space, parts.rhs_index[i]);
    if (row && tap && (pad_low[i - 2] > 0 || pad_high[i - 2] > 0)) {
      parts.halos.push_back({static_cast<std::size_t>(*row), static_cast<std::size_t>(*tap), stride,
                             dilation, pad_low[i - 2], image[static_cast<int>(i)].constant()});
    }
  }
  index[1] = parts.rhs_index[1];
  if (!parts.batch.empty()) {
    index[1] =
        parts.space.Add(index[1], parts.space.Scale(parts.space.Dim(parts.batch[0]), kernel[1]));
  }
  std::erase_if(parts.k, [&](int dim) { return parts.IsUnit(dim); });
  return index;
}

// Reads the image at `address` if enough neighbours along the k dims lie together there.
bool ContractionLowering::ReadImage(ContractionParts& parts, const Address& address,
                                    std::int64_t min_run) {
  std::vector<int> k = parts.k;
  SortByStride(k, address.index);
  const SymDim all = parts.ProductOf(parts.k);
  const std::int64_t reduction = all.IsConstant() ? all.constant() : INT64_MAX;
  if (!address.index.IsAffine() ||
      ContiguousRun(parts.space, k, address.index) < std::min(min_run, reduction)) {
    return false;
  }
  parts.lhs = address;
  parts.k = std::move(k);
  return true;
}

Status ContractionLowering::LowerConvolution(Group& group, ContractionParts& parts) {
  const Node& node = parts.node;
  const ValueId input = node.operands[0];
  const Shape& shape = graph_.type(input).shape;
  STOKER_RETURN_IF_ERROR(CheckSizes(graph_.type(input), graph_.type(node.operands[1]).shape));
  parts.space = group.space;
  const ElementIndex index = WalkWindow(group, parts);
  const std::int64_t min_run = machine_.fusion_limits().min_contiguous_run;
  const Layout wanted = ConvolutionInputLayout(graph_, node);
  for (const StorageId id : builder_.FindAll(input, group.prepared)) {
    const Layout& layout = builder_.storage(id).layout;
    if (!HasAtLeast(layout, wanted)) continue;
    const Address address{id, PhysicalIndex(parts.space, layout, shape, index)};
    if (ReadImage(parts, address, layout.order == wanted.order ? 1 : min_run)) return Ok();
  }
  const auto is_padded = [&](AttrName name) {
    const std::vector<std::int64_t>& pad = node.attributes.Ints(name);
    return std::any_of(pad.begin(), pad.end(), [](std::int64_t x) { return x != 0; });
  };
  if (!is_padded(AttrName::kPadLow) && !is_padded(AttrName::kPadHigh)) {
    const std::optional<Address> address =
        lowering_.AddressOf(input, index, parts.space, group.prepared);
    if (address && ReadImage(parts, *address, min_run)) return Ok();
  }
  const std::optional<Layout>& shared = scheduled_.values.wanted[input];
  STOKER_TRY(const StorageId copy,
             lowering_.Copy(input, shared ? *shared : wanted, group.prepared));
  const Address address{copy,
                        PhysicalIndex(parts.space, builder_.storage(copy).layout, shape, index)};
  if (ReadImage(parts, address, 1)) return Ok();
  return Internal("A channels-last copy does not have contiguous channels.");
}

}  // namespace stoker
