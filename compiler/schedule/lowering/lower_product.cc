// Matrix products that a library of the machine computes.
#include <algorithm>
#include <utility>

#include "compiler/analysis/view_index.h"
#include "compiler/schedule/lowering/lower_contraction.h"
#include "compiler/schedule/lowering/product_dims.h"
#include "compiler/schedule/lowering/product_epilogue.h"

namespace stoker {
namespace {

MatmulCompute ComputeOf(DType factor, Numerics numerics) {
  if (factor == DType::kF64) return MatmulCompute::kF64;
  const bool may_lose = factor == DType::kF32 && numerics != Numerics::kHighest;
  return may_lose ? MatmulCompute::kTf32 : MatmulCompute::kF32;
}

DType ComputeTypeOf(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

std::string LabelOf(const FlatProduct& flat, const LibraryOp& op) {
  std::string label = "matmul";
  if (op.matmul.alpha != 1) label += "+scale";
  if (op.matmul.c) label += "+matrix";
  if (op.matmul.bias) label += "+bias";
  if (op.matmul.activation == MatmulActivation::kRelu) label += "+relu";
  label += " ";
  if (!(flat.batch == SymDim(1))) label += flat.batch.ToString() + "x";
  return label + flat.m.ToString() + "x" + flat.n.ToString() + "x" + flat.k.ToString();
}

}  // namespace

// A product while it is lowered.
struct ContractionLowering::ProductParts {
  explicit ProductParts(const Node& anchor, const ProgramBuilder& builder)
      : contraction(anchor, builder), epilogue_operands(builder) {}

  ContractionParts contraction;  // Dims and where the factors are.
  Address rhs;
  ValueId root = 0;  // What is written.
  ProductEpilogue epilogue;
  KernelOperands epilogue_operands;

  // `d`: where elements of the root are.
  ProductDims DimsFor(const IndexMap& d, bool with_matrix) const {
    const auto dims_of = [&](const std::vector<int>& which) {
      std::vector<ProductDim> dims;
      for (const int dim : which) {
        const SymDim step = d.CoefficientOf(dim);
        dims.push_back({contraction.space.extent(dim), contraction.lhs.index.CoefficientOf(dim),
                        rhs.index.CoefficientOf(dim),
                        with_matrix ? epilogue.matrix->index.CoefficientOf(dim) : step, step});
      }
      return dims;
    };
    return {dims_of(contraction.batch), dims_of(contraction.m), dims_of({contraction.n}),
            dims_of(contraction.k)};
  }
};

// Whether a library computes all that follows the product in its group. Makes what that reads.
Result<bool> ContractionLowering::MatchEpilogue(const Group& group, ProductParts& parts) {
  const ValueId product = parts.contraction.node.results[0];
  const TensorType& type = graph_.type(product);
  const DType result = graph_.type(parts.root).dtype;
  const ElementIndex& index = group.placement.at(graph_.value(parts.root).producer);
  for (int attempt = 0; attempt < kMaxContractionAttempts; ++attempt) {
    KernelOperands operands(builder_);
    BodyBuilder body(graph_, builder_, operands, group.space, &group, group.prepared);
    body.Give(product, {0, ComputeTypeOf(type.dtype), group.placement.at(group.hero)});
    Result<std::uint32_t> value = body.Evaluate(parts.root, index);
    if (!value.ok() && !body.missing()) return value.error();
    if (!value.ok()) {
      STOKER_RETURN_IF_ERROR(lowering_.Materialize(*body.missing(), group.prepared));
      continue;
    }
    std::uint32_t stored = body.ForStore(*value, result);
    const Body instrs = body.Take({&stored});
    const auto found = FindProductEpilogue(instrs, stored, parts.contraction.n);
    const auto is_of_result = [&](const std::optional<Access>& access) {
      return !access || access->dtype == result;
    };
    if (!found || !is_of_result(found->bias) || !is_of_result(found->matrix)) return false;
    const bool is_more = found->bias || found->activation != MatmulActivation::kNone;
    if (type.dtype == DType::kF64 && is_more) return false;
    parts.epilogue = *found;
    parts.epilogue_operands.buffers = operands.buffers;
    return IsMatmulType(type.dtype, result, ComputeOf(type.dtype, numerics_));
  }
  return Internal("The epilogue asks for more values than can be copied.");
}

// Where operand `which` is, after a copy if it lies nowhere as matrices do. What is behind its
// transposes is copied: the next product may read that too, by rows where this one does by columns.
Result<Address> ContractionLowering::PlaceFactor(const Group& group, const ProductParts& parts,
                                                 const ElementIndex& index, int which) {
  const ValueId value = parts.contraction.node.operands[static_cast<std::size_t>(which)];
  const std::optional<Address> address =
      lowering_.AddressOf(value, index, parts.contraction.space, group.prepared);
  if (address && address->index.IsAffine()) return *address;
  const SeenFactor seen = BehindTransposes(parts, index, which);
  if (builder_.FindRowMajor(seen.value, group.prepared) == kNoStorage) {
    STOKER_RETURN_IF_ERROR(lowering_.Materialize(seen.value, group.prepared));
  }
  return Address{builder_.FindRowMajor(seen.value, group.prepared), RowMajorIndex(parts, seen)};
}

IndexMap ContractionLowering::RowMajorIndex(const ProductParts& parts,
                                            const SeenFactor& seen) const {
  return Linearize(parts.contraction.space, seen.index, graph_.type(seen.value).shape.dims());
}

// The same of one that does not lie as a matrix together with the others: `fits` says whether it
// would at an address.
template <typename Fits>
Result<Address> ContractionLowering::CopyFactor(const Group& group, const ProductParts& parts,
                                                const ElementIndex& index, int which, Fits fits) {
  const Node& node = parts.contraction.node;
  const ValueId value = node.operands[static_cast<std::size_t>(which)];
  const IndexSpace& space = parts.contraction.space;
  for (SeenFactor at{value, index};;) {
    for (const StorageId id : builder_.FindAll(at.value, group.prepared)) {
      const Storage& storage = builder_.storage(id);
      IndexMap physical = PhysicalIndex(space, storage.layout, storage.shape, at.index);
      if (physical.IsAffine() && fits(physical)) return Address{id, std::move(physical)};
    }
    const NodeId producer = graph_.value(at.value).producer;
    if (producer == kNoNode || !IsView(graph_.node(producer).kind)) break;
    auto pulled = PullThroughView(graph_, graph_.node(producer), at.index, space);
    if (!pulled) break;
    at = {graph_.node(producer).operands[0], *std::move(pulled)};
  }
  const SeenFactor seen = BehindTransposes(parts, index, which);
  if (IndexMap row_major = RowMajorIndex(parts, seen); fits(row_major)) {
    StorageId id = builder_.FindRowMajor(seen.value, group.prepared);
    if (id == kNoStorage) {
      const Layout layout = Layout::RowMajor(graph_.type(seen.value).shape.rank());
      STOKER_TRY(id, lowering_.Copy(seen.value, layout, group.prepared));
    }
    return Address{id, std::move(row_major)};
  }
  const Layout layout = LayoutOfCopy(parts, index, which, fits);
  STOKER_TRY(const StorageId id, lowering_.Copy(value, layout, group.prepared));
  const Storage& storage = builder_.storage(id);
  return Address{id, PhysicalIndex(space, storage.layout, storage.shape, index)};
}

// Batch by batch, with those elements as neighbours that are now: whether these are of one row or
// of one column, a library reads both.
template <typename Fits>
Layout ContractionLowering::LayoutOfCopy(const ProductParts& parts, const ElementIndex& index,
                                         int which, Fits fits) const {
  const ContractionParts& dims = parts.contraction;
  const Shape& shape = graph_.type(dims.node.operands[static_cast<std::size_t>(which)]).shape;
  const Attributes& attributes = dims.node.attributes;
  const std::vector<std::int64_t>& batch =
      attributes.Ints(which == 0 ? AttrName::kLhsBatch : AttrName::kRhsBatch);
  const std::vector<std::int64_t>& contract =
      attributes.Ints(which == 0 ? AttrName::kLhsContract : AttrName::kRhsContract);
  Layout rows = LayoutOfRows(shape.rank(), batch, contract);
  const IndexMap& at = which == 0 ? dims.lhs.index : parts.rhs.index;
  const bool are_of_rows =
      std::ranges::any_of(dims.k, [&](int dim) { return at.CoefficientOf(dim) == SymDim(1); });
  if (are_of_rows) return rows;
  std::vector<std::int64_t> free;
  for (const int dim : rows.order) {
    if (std::ranges::find(batch, dim) == batch.end() &&
        std::ranges::find(contract, dim) == contract.end()) {
      free.push_back(dim);
    }
  }
  Layout columns = LayoutOfRows(shape.rank(), batch, free);
  return fits(PhysicalIndex(dims.space, columns, shape, index)) ? columns : rows;
}

// What the operand shows, behind the transposes that a library reads where they lie.
ContractionLowering::SeenFactor ContractionLowering::BehindTransposes(const ProductParts& parts,
                                                                      const ElementIndex& index,
                                                                      int which) const {
  const Node& node = parts.contraction.node;
  SeenFactor seen{node.operands[static_cast<std::size_t>(which)], index};
  for (;;) {
    const NodeId producer = graph_.value(seen.value).producer;
    if (producer == kNoNode || graph_.node(producer).kind != OpKind::kTranspose) return seen;
    const Node& view = graph_.node(producer);
    seen.index = *PullThroughView(graph_, view, seen.index, parts.contraction.space);
    seen.value = view.operands[0];
  }
}

// Where the factors are, after copies of those that lie as no library reads them.
Status ContractionLowering::PlaceFactors(const Group& group, ProductParts& parts) {
  ContractionParts& dims = parts.contraction;
  const ElementIndex lhs_index = SetContracted(group, dims);
  STOKER_TRY(dims.lhs, PlaceFactor(group, parts, lhs_index, 0));
  STOKER_TRY(parts.rhs, PlaceFactor(group, parts, dims.rhs_index, 1));
  // Rows in the order in which they lie are one dim more often, and D may lie as they do.
  const auto repeats = [&](int dim) { return dims.lhs.index.CoefficientOf(dim) == SymDim(0); };
  if (std::ranges::none_of(dims.m, repeats)) SortByStride(dims.m, dims.lhs.index);
  const IndexMap dense = DenseIndex(dims);
  for (int attempt = 0; attempt < kMaxContractionAttempts; ++attempt) {
    ProductOperand blamed = ProductOperand::kA;
    if (FlattenProduct(parts.DimsFor(dense, false), &blamed)) return Ok();
    const bool is_lhs = blamed == ProductOperand::kA;
    Address& address = is_lhs ? dims.lhs : parts.rhs;
    const auto fits = [&](const IndexMap& at) {
      const IndexMap before = std::exchange(address.index, at);
      ProductOperand next = ProductOperand::kA;
      const bool is_other = FlattenProduct(parts.DimsFor(dense, false), &next) || next != blamed;
      address.index = before;
      return is_other;
    };
    STOKER_TRY(address,
               CopyFactor(group, parts, is_lhs ? lhs_index : dims.rhs_index, is_lhs ? 0 : 1, fits));
  }
  return Internal("The operands of a product do not become matrices.");
}

// Row-major over batch, rows and columns.
IndexMap ContractionLowering::DenseIndex(const ContractionParts& parts) {
  std::vector<int> order = parts.batch;
  order.insert(order.end(), parts.m.begin(), parts.m.end());
  order.push_back(parts.n);
  ElementIndex index;
  std::vector<SymDim> sizes;
  for (const int dim : order) {
    index.push_back(parts.space.Dim(dim));
    sizes.push_back(parts.space.extent(dim));
  }
  return Linearize(parts.space, index, sizes);
}

// Whether the library can write the root as it would lie in `layout`.
bool ContractionLowering::FitsProduct(const Group& group, const ProductParts& parts,
                                      const Layout& layout) const {
  const IndexSpace& space = parts.contraction.space;
  const IndexMap d = PhysicalIndex(space, layout, graph_.type(parts.root).shape,
                                   group.placement.at(graph_.value(parts.root).producer));
  ProductOperand blamed = ProductOperand::kD;
  const bool has_matrix = parts.epilogue.matrix.has_value();
  return d.IsAffine() && FlattenProduct(parts.DimsFor(d, has_matrix), &blamed).has_value();
}

// As it is computed, but where another product wants it otherwise, or all that read it see it
// transposed in one way: as they do, since a product of which the rows of a head lie apart costs no
// more.
Layout ContractionLowering::OwnLayoutOf(const Group& group, const ProductParts& parts) const {
  const ContractionParts& dims = parts.contraction;
  std::vector<int> order = dims.batch;
  order.insert(order.end(), dims.m.begin(), dims.m.end());
  order.push_back(dims.n);
  const NodeId producer = graph_.value(parts.root).producer;
  const Layout natural = NaturalLayout(group.placement.at(producer), order);
  const std::optional<Layout>& wanted = scheduled_.values.wanted[parts.root];
  if (wanted && !wanted->HasHalo() && FitsProduct(group, parts, *wanted)) return *wanted;
  std::optional<Layout> seen;
  for (const std::uint32_t index : scheduled_.reads.OfSource(parts.root)) {
    const Read& read = scheduled_.reads.read(index);
    if (read.views.empty()) return natural;
    const Node& view = graph_.node(read.views.back());
    if (view.kind != OpKind::kTranspose) return natural;
    Layout layout = natural;
    const std::vector<std::int64_t>& permutation = view.attributes.Ints(AttrName::kDims);
    layout.order.assign(permutation.begin(), permutation.end());
    if (seen && *seen != layout) return natural;
    seen = std::move(layout);
  }
  return seen && FitsProduct(group, parts, *seen) ? *seen : natural;
}

// An odd number of columns, or rows of the result at odd places, has the library read even the
// factors in small pieces: a head of 50257 columns takes five times as long as its bytes do
// (notes/0004). Below these bytes a copy would take as long as that costs.
bool ContractionLowering::PaysToAlignRows(const ProductParts& parts,
                                          const FlatProduct& flat) const {
  constexpr std::int64_t kMinBytes = 4 << 20;
  const DType factor = graph_.type(parts.contraction.node.results[0]).dtype;
  const DType result = graph_.type(parts.root).dtype;
  const std::int64_t row_bytes = machine_.fusion_limits().product_row_bytes;
  const auto is_aligned = [&](const SymDim& elements, DType dtype) {
    return SymDim::Mod(elements * SizeInBytes(dtype), row_bytes) == SymDim(0);
  };
  const bool is_sized = flat.n.IsConstant() && flat.k.IsConstant() && !(flat.m == SymDim(1));
  if (!is_sized || parts.epilogue.matrix || is_aligned(flat.n, result)) return false;
  if (flat.n.constant() * SizeInBytes(result) < row_bytes) return false;
  if (!is_aligned(flat.a.leading, factor) || !is_aligned(flat.b.leading, factor)) return false;
  SymDim numbers = flat.n * flat.k;  // Of what has no known size there may be little.
  if (flat.m.IsConstant()) numbers = numbers + flat.m * (flat.n + flat.k);
  return numbers.constant() * SizeInBytes(result) >= kMinBytes;
}

// As the library writes it best, where that is not as it is computed.
std::optional<Layout> ContractionLowering::AlignedLayoutOf(const Group& group,
                                                           const ProductParts& parts,
                                                           const FlatProduct& dense) const {
  if (group.prepared || !PaysToAlignRows(parts, dense)) return std::nullopt;
  Layout layout = OwnLayoutOf(group, parts);
  const TensorType& type = graph_.type(parts.root);
  if (type.shape[layout.order.back()] != dense.n) return std::nullopt;
  layout.row_multiple = machine_.fusion_limits().product_row_bytes / SizeInBytes(type.dtype);
  return FitsProduct(group, parts, layout) ? std::optional(layout) : std::nullopt;
}

// Storages of the root, the one first that the library writes.
std::vector<StorageId> ContractionLowering::AddProductStorages(const Group& group,
                                                               const ProductParts& parts,
                                                               const FlatProduct& dense) {
  const ValueId root = parts.root;
  const bool outputs_fit =
      FitsProduct(group, parts, Layout::RowMajor(graph_.type(root).shape.rank()));
  std::vector<StorageId> storages;
  const std::optional<Layout> aligned = AlignedLayoutOf(group, parts, dense);
  const auto add_own = [&] {
    storages.push_back(builder_.Add(root, lowering_.KindFor(root, group.prepared), 0,
                                    aligned ? *aligned : OwnLayoutOf(group, parts)));
  };
  // What is bound first is what copies are made of.
  const std::optional<Layout>& wanted = scheduled_.values.wanted[root];
  if (!outputs_fit || aligned || (wanted && !wanted->IsRowMajor())) add_own();
  lowering_.AddFixedStorages(root, group.prepared, outputs_fit, storages);
  if (storages.empty()) add_own();
  return storages;
}

// A result with gaps between rows is there for columns in whole pieces: the few that are left are a
// product of their own.
Status ContractionLowering::AppendProduct(const Group& group, const ProductParts& parts,
                                          const FlatProduct& flat, StorageId written,
                                          const IndexMap& d) {
  const std::int64_t piece = builder_.storage(written).layout.row_multiple;
  if (piece == 1) return AppendColumns(group, parts, flat, SymDim(0), written, d);
  FlatProduct whole = flat;
  FlatProduct rest = flat;
  rest.n = SymDim::Mod(flat.n, piece);
  whole.n = flat.n - rest.n;
  STOKER_RETURN_IF_ERROR(AppendColumns(group, parts, whole, SymDim(0), written, d));
  return AppendColumns(group, parts, rest, whole.n, written, d);
}

// `flat.n` columns, from `first` on.
Status ContractionLowering::AppendColumns(const Group& group, const ProductParts& parts,
                                          const FlatProduct& flat, const SymDim& first,
                                          StorageId written, const IndexMap& d) {
  const DType factor = graph_.type(parts.contraction.node.results[0]).dtype;
  LibraryOp op;
  Step step;
  step.prepared = group.prepared;
  const auto use = [&](StorageId storage) {
    step.buffers.push_back(storage);
    return static_cast<std::uint32_t>(step.buffers.size() - 1);
  };
  const auto place = [&](StorageId storage, const SymDim& offset, const FlatMatrix& matrix,
                         const SymDim& elements) {
    const SymDim batch = matrix.batch_stride == SymDim(0) ? SymDim(1) : flat.batch;
    step.bytes = step.bytes + batch * elements * SizeInBytes(builder_.storage(storage).dtype);
    return LibraryMatmul::Matrix{use(storage), offset, matrix.leading, matrix.batch_stride};
  };
  LibraryMatmul& matmul = op.matmul;
  matmul.batch = flat.batch;
  matmul.m = flat.m;
  matmul.n = flat.n;
  matmul.k = flat.k;
  matmul.factor = factor;
  matmul.result = graph_.type(parts.root).dtype;
  matmul.compute = ComputeOf(factor, numerics_);
  matmul.activation = parts.epilogue.activation;
  matmul.alpha = parts.epilogue.alpha;
  matmul.a_by_columns = flat.a.by_columns;
  matmul.b_by_columns = flat.b.by_columns;
  const Address& lhs = parts.contraction.lhs;
  matmul.a = place(lhs.storage, lhs.index.offset, flat.a, flat.m * flat.k);
  const SymDim b_first = flat.b.by_columns ? first * flat.b.leading : first;
  matmul.b = place(parts.rhs.storage, parts.rhs.index.offset + b_first, flat.b, flat.k * flat.n);
  matmul.d = place(written, d.offset + first, flat.d, flat.m * flat.n);
  const std::vector<StorageId>& read = parts.epilogue_operands.buffers;
  if (const std::optional<Access>& matrix = parts.epilogue.matrix) {
    matmul.beta = 1;
    matmul.c = place(read[matrix->operand], matrix->index.offset, flat.c, flat.m * flat.n);
  }
  if (const std::optional<Access>& bias = parts.epilogue.bias) {
    matmul.bias = {use(read[bias->operand]), bias->index.offset + first};
  }
  const SymDim numbers = flat.batch * flat.m * flat.n;
  std::optional<std::int64_t> known;
  if (numbers.IsConstant()) known = numbers.constant();
  matmul.workspace = use(
      builder_.AddPacked(BufferKind::kArena, DType::kU8, machine_.ProductWorkspaceBytes(known)));
  step.flops = numbers * flat.k * 2;
  step.label = LabelOf(flat, op);
  step.work = std::move(op);
  builder_.Append(std::move(step));
  return Ok();
}

// The product alone, then what the library does not take along, as a loop that reads it.
Status ContractionLowering::LowerApart(const Group& group) {
  const ValueId product = graph_.node(group.hero).results[0];
  Group alone = group;
  alone.nodes = {group.hero};
  alone.placement = {{group.hero, group.placement.at(group.hero)}};
  STOKER_RETURN_IF_ERROR(LowerProduct(std::move(alone), product));
  Group rest = group;
  rest.kind = GroupKind::kLoop;
  std::erase(rest.nodes, group.hero);
  rest.placement.erase(group.hero);
  rest.hero = rest.nodes.front();
  return lowering_.LowerLoop(rest, lowering_.StoredMembers(rest));
}

Status ContractionLowering::LowerProduct(Group group, ValueId root) {
  const Node& node = graph_.node(group.hero);
  ProductParts parts(node, builder_);
  parts.root = root;
  ContractionParts& dims = parts.contraction;
  dims.n = group.space.rank() - 1;
  const std::size_t num_batch = node.attributes.Ints(AttrName::kLhsBatch).size();
  for (int dim = 0; dim < dims.n; ++dim) {
    (static_cast<std::size_t>(dim) < num_batch ? dims.batch : dims.m).push_back(dim);
  }
  STOKER_TRY(bool fits, MatchEpilogue(group, parts));
  if (!fits && group.nodes.size() > 1) return LowerApart(group);
  STOKER_CHECK(fits);
  STOKER_RETURN_IF_ERROR(PlaceFactors(group, parts));
  const bool has_matrix = parts.epilogue.matrix.has_value();
  ProductOperand blamed = ProductOperand::kD;
  const auto dense = FlattenProduct(parts.DimsFor(DenseIndex(dims), has_matrix), &blamed);
  if (!dense) return LowerApart(group);
  // What follows the product may see its rows and columns in parts, as the heads of attention.
  if (group.nodes.size() > 1 && !FitsProduct(group, parts, OwnLayoutOf(group, parts))) {
    return LowerApart(group);
  }
  const std::vector<StorageId> storages = AddProductStorages(group, parts, *dense);
  const Storage& written = builder_.storage(storages.front());
  const IndexMap d = PhysicalIndex(dims.space, written.layout, written.shape,
                                   group.placement.at(graph_.value(root).producer));
  const auto flat = FlattenProduct(parts.DimsFor(d, has_matrix), &blamed);
  if (!d.IsAffine() || !flat) return Internal("The result of a product does not lie as a matrix.");
  STOKER_RETURN_IF_ERROR(AppendProduct(group, parts, *flat, storages.front(), d));
  for (std::size_t i = 1; i < storages.size(); ++i) {
    STOKER_RETURN_IF_ERROR(lowering_.CopyTo(root, storages[i], group.prepared));
  }
  return Ok();
}

}  // namespace stoker
