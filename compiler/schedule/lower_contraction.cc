#include "compiler/schedule/lower_contraction.h"

#include <algorithm>

#include "compiler/analysis/remap_dims.h"
#include "compiler/ir/body_verifier.h"
#include "compiler/schedule/loop_order.h"

namespace stoker {
namespace {

constexpr int kMaxAttempts = 16;

DType AccumulatorOf(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  if (IsFloat(dtype)) return DType::kF32;
  return dtype == DType::kI64 ? DType::kI64 : DType::kI32;
}

SymDim ProductOf(const IndexSpace& space, const std::vector<int>& dims) {
  SymDim product = 1;
  for (const int dim : dims) product = product * space.extent(dim);
  return product;
}

bool IsUnit(const IndexSpace& space, int dim) { return space.extent(dim) == SymDim(1); }

// Where `dim` of `list` was split: the new inner dim follows it.
void InsertAfter(std::vector<int>& list, int dim, int inner) {
  const auto at = std::find(list.begin(), list.end(), dim);
  if (at != list.end()) list.insert(at + 1, inner);
}

// Slowest stride first; of symbolic strides, constants last.
void SortByStride(std::vector<int>& dims, const IndexMap& index) {
  const auto key = [&](int dim) {
    const SymDim stride = index.CoefficientOf(dim);
    return stride.IsConstant() ? stride.constant() : INT64_MAX;
  };
  std::vector<int> sorted;
  for (const int dim : dims) {
    auto at = sorted.begin();
    while (at != sorted.end() && key(*at) >= key(dim)) ++at;
    sorted.insert(at, dim);
  }
  dims = std::move(sorted);
}

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

// The epilogue of a contraction whose dims [from, from + 1] of (batch, m, n) become one.
bool EpilogueStepsAsOne(const ContractionFunc& func, int from, const SymDim& inner) {
  if (ReadsIndexOf(func.epilogue, from) || ReadsIndexOf(func.epilogue, from + 1)) return false;
  bool fits = true;
  ForEachAccess(func.epilogue, func.stores, [&](const Access& access, bool) {
    for (const IndexTerm& term : access.index.terms) {
      const bool is_plain = term.divisor == 1 && term.modulus == 0;
      if ((term.dim == from || term.dim == from + 1) && !is_plain) fits = false;
    }
    fits = fits && access.index.CoefficientOf(from) == access.index.CoefficientOf(from + 1) * inner;
  });
  return fits;
}

void DropEpilogueDim(ContractionFunc& func, int dim) {
  const auto drop = [&](IndexMap& index) {
    std::erase_if(index.terms, [&](const IndexTerm& term) { return term.dim == dim; });
    for (IndexTerm& term : index.terms) term.dim -= term.dim > dim ? 1 : 0;
  };
  for (BodyInstr& instr : func.epilogue.instrs) {
    if (instr.op == BodyOp::kLoad) drop(instr.access.index);
    if (instr.op == BodyOp::kIndex) instr.dim -= instr.dim > dim ? 1 : 0;
  }
  for (Store& store : func.stores) drop(store.access.index);
}

// Neighbouring batch dims, m dims and k dims through which everything steps as through one.
void MergeDims(ContractionFunc& func) {
  const auto num_batch = static_cast<int>(func.batch.size());
  for (int i = static_cast<int>(func.m.size()) - 2; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const ContractionDim inner = func.m[at + 1];
    ContractionDim& outer = func.m[at];
    if (outer.lhs_stride != inner.lhs_stride * inner.extent) continue;
    if (!EpilogueStepsAsOne(func, num_batch + i, inner.extent)) continue;
    outer = {outer.extent * inner.extent, inner.lhs_stride};
    func.m.erase(func.m.begin() + i + 1);
    // What steps as one keeps the inner index.
    DropEpilogueDim(func, num_batch + i);
  }
  for (int i = num_batch - 2; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const ContractionBatchDim inner = func.batch[at + 1];
    ContractionBatchDim& outer = func.batch[at];
    if (outer.rhs_has != inner.rhs_has) continue;
    if (outer.lhs_stride != inner.lhs_stride * inner.extent) continue;
    if (!EpilogueStepsAsOne(func, i, inner.extent)) continue;
    outer = {outer.extent * inner.extent, inner.lhs_stride, inner.rhs_has};
    func.batch.erase(func.batch.begin() + i + 1);
    DropEpilogueDim(func, i);
  }
  for (std::size_t i = func.k.size(); i-- > 1;) {
    ContractionDim& outer = func.k[i - 1];
    const ContractionDim& inner = func.k[i];
    if (outer.lhs_stride != inner.lhs_stride * inner.extent) continue;
    outer = {outer.extent * inner.extent, inner.lhs_stride};
    func.k.erase(func.k.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::string LabelOf(const Graph& graph, const Group& group, const Node& anchor) {
  std::string label = anchor.kind == OpKind::kConvolution ? "convolution" : "matmul";
  std::vector<OpKind> seen;
  for (const NodeId node : group.nodes) {
    const OpKind kind = graph.node(node).kind;
    const bool is_new = std::find(seen.begin(), seen.end(), kind) == seen.end();
    if (!is_new || node == group.hero || kind == OpKind::kConvert) continue;
    seen.push_back(kind);
    if (seen.size() <= 3) label += "+" + std::string(Name(kind));
  }
  return label;
}

}  // namespace

Status Lowering::LowerContraction(Group group) {
  const Node& node = graph_.node(group.hero);
  ContractionParts parts(node, builder_);
  parts.label = LabelOf(graph_, group, node);
  parts.n = group.space.rank() - 1;
  const std::size_t num_batch = node.kind == OpKind::kConvolution
                                    ? (node.attributes.Int(AttrName::kGroups) > 1 ? 1 : 0)
                                    : node.attributes.Ints(AttrName::kLhsBatch).size();
  for (int dim = 0; dim < parts.n; ++dim) {
    (static_cast<std::size_t>(dim) < num_batch ? parts.batch : parts.m).push_back(dim);
  }
  STOKER_RETURN_IF_ERROR(PlanEpilogue(group, parts));
  if (parts.roots.empty()) return Ok();
  if (node.kind == OpKind::kConvolution) {
    STOKER_RETURN_IF_ERROR(LowerConvolution(group, parts));
  } else {
    STOKER_RETURN_IF_ERROR(LowerDot(group, parts));
  }
  return FinishContraction(group, parts);
}

// Chooses the storages of the results and splits m dims until the epilogue's accesses are affine.
Status Lowering::PlanEpilogue(Group& group, ContractionParts& parts) {
  const auto steps_along_n = [&](const ElementIndex& index, const Shape& shape) {
    const IndexMap linear = Linearize(group.space, index, shape.dims());
    for (const IndexTerm& term : linear.terms) {
      if (term.dim == parts.n && (term.divisor != 1 || term.modulus != 0)) return false;
    }
    return IsUnit(group.space, parts.n) || linear.CoefficientOf(parts.n) == SymDim(1);
  };
  for (const ValueId value : StoredMembers(group)) {
    const ElementIndex& index = group.placement.at(graph_.value(value).producer);
    const bool outputs_fit = steps_along_n(index, graph_.type(value).shape);
    parts.roots.push_back({value, index, AddFixedStorages(value, group.prepared, outputs_fit)});
  }
  const auto order = [&] {
    std::vector<int> dims = parts.batch;
    dims.insert(dims.end(), parts.m.begin(), parts.m.end());
    dims.push_back(parts.n);
    return dims;
  };
  for (Root& root : parts.roots) {
    if (!NeedsStorage(root.value, group.prepared)) continue;
    root.storages.push_back(builder_.Add(root.value, KindFor(root.value, group.prepared), 0,
                                         NaturalLayout(root.index, order())));
  }
  const DType dtype = graph_.type(parts.node.results[0]).dtype;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    KernelOperands operands(builder_);
    BodyBuilder body(graph_, builder_, operands, group.space, &group, group.prepared);
    body.Give(parts.node.results[0], {0, AccumulatorOf(dtype), group.placement.at(group.hero)});
    std::optional<DimSplit> split;
    bool retry = false;
    std::vector<std::uint32_t> values;
    for (const Root& root : parts.roots) {
      const Result<std::uint32_t> value = body.Evaluate(root.value, root.index);
      if (!value.ok()) {
        if (!body.missing()) return value.error();
        STOKER_RETURN_IF_ERROR(Materialize(*body.missing(), group.prepared));
        retry = true;
        break;
      }
      values.push_back(*value);
      for (const StorageId id : root.storages) {
        const Storage& storage = builder_.storage(id);
        const IndexMap index =
            PhysicalIndex(group.space, storage.layout, storage.shape, root.index);
        if (!split) split = FindDimSplit(group.space, index);
      }
    }
    if (retry) continue;
    std::vector<std::uint32_t*> roots;
    for (std::uint32_t& value : values) roots.push_back(&value);
    ForEachAccess(body.Take(roots), {}, [&](const Access& access, bool) {
      if (!split) split = FindDimSplit(group.space, access.index);
    });
    if (!split || split->dim == parts.n) return Ok();
    if (!SplitDim(group, split->dim, split->inner)) break;
    for (Root& root : parts.roots) {
      root.index = group.placement.at(graph_.value(root.value).producer);
    }
    InsertAfter(parts.m, split->dim, group.space.rank() - 1);
    InsertAfter(parts.batch, split->dim, group.space.rank() - 1);
  }
  return Internal("The epilogue's accesses do not become affine.");
}

Status Lowering::LowerDot(Group& group, ContractionParts& parts) {
  const Attributes& attributes = parts.node.attributes;
  const ValueId lhs = parts.node.operands[0];
  const Shape& lhs_shape = graph_.type(lhs).shape;
  const std::vector<std::int64_t>& lhs_batch = attributes.Ints(AttrName::kLhsBatch);
  const std::vector<std::int64_t>& rhs_batch = attributes.Ints(AttrName::kRhsBatch);
  const std::vector<std::int64_t>& lhs_contract = attributes.Ints(AttrName::kLhsContract);
  const std::vector<std::int64_t>& rhs_contract = attributes.Ints(AttrName::kRhsContract);
  // Contracted dims are split where the left operand is a reshape of several.
  std::vector<std::vector<std::int64_t>> splits(lhs_contract.size());

  StorageId copy = kNoStorage;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    parts.space = group.space;
    parts.k.clear();
    std::vector<std::pair<int, std::size_t>> contract_of;  // k dim -> which contracted dim.
    std::vector<IndexMap> contract(lhs_contract.size());
    for (std::size_t i = 0; i < lhs_contract.size(); ++i) {
      SymDim rest = lhs_shape[static_cast<int>(lhs_contract[i])];
      for (const std::int64_t inner : splits[i]) rest = SymDim::FloorDiv(rest, inner);
      std::vector<SymDim> sizes = {rest};
      sizes.insert(sizes.end(), splits[i].begin(), splits[i].end());
      ElementIndex digits;
      for (const SymDim& size : sizes) {
        const int dim = parts.space.AddDim(size);
        contract_of.emplace_back(dim, i);
        parts.k.push_back(dim);
        digits.push_back(parts.space.Dim(dim));
      }
      contract[i] = Linearize(parts.space, digits, sizes);
    }
    const ElementIndex& result = group.placement.at(group.hero);
    const auto operand_index = [&](const Shape& shape, const std::vector<std::int64_t>& batch,
                                   const std::vector<std::int64_t>& over, std::size_t free) {
      ElementIndex index(shape.dims().size());
      std::vector<bool> is_free(index.size(), true);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        index[static_cast<std::size_t>(batch[i])] = result[i];
        is_free[static_cast<std::size_t>(batch[i])] = false;
      }
      for (std::size_t i = 0; i < over.size(); ++i) {
        index[static_cast<std::size_t>(over[i])] = contract[i];
        is_free[static_cast<std::size_t>(over[i])] = false;
      }
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (is_free[i]) index[i] = result[free++];
      }
      return index;
    };
    const ElementIndex lhs_index =
        operand_index(lhs_shape, lhs_batch, lhs_contract, lhs_batch.size());
    const std::size_t num_lhs_free =
        lhs_shape.dims().size() - lhs_batch.size() - lhs_contract.size();
    parts.rhs_index = operand_index(graph_.type(parts.node.operands[1]).shape, rhs_batch,
                                    rhs_contract, lhs_batch.size() + num_lhs_free);
    if (copy != kNoStorage) {
      const Storage& storage = builder_.storage(copy);
      parts.lhs = {copy, PhysicalIndex(parts.space, storage.layout, storage.shape, lhs_index)};
    } else {
      STOKER_TRY(parts.lhs, AddressOrCopy(lhs, lhs_index, parts.space, group.prepared));
    }
    if (const auto split = FindDimSplit(parts.space, parts.lhs.index);
        split && copy == kNoStorage) {
      const auto k = std::find_if(contract_of.begin(), contract_of.end(),
                                  [&](const auto& entry) { return entry.first == split->dim; });
      if (k == contract_of.end() && SplitDim(group, split->dim, split->inner)) {
        for (Root& root : parts.roots) {
          root.index = group.placement.at(graph_.value(root.value).producer);
        }
        InsertAfter(parts.m, split->dim, group.space.rank() - 1);
        InsertAfter(parts.batch, split->dim, group.space.rank() - 1);
      } else if (k != contract_of.end() && splits[k->second].empty()) {
        splits[k->second].push_back(split->inner);
      } else {
        if (k != contract_of.end()) splits[k->second].clear();
        STOKER_TRY(copy, Copy(lhs, Layout::RowMajor(lhs_shape.rank()), group.prepared));
      }
      continue;
    }
    std::erase_if(parts.k, [&](int dim) { return IsUnit(parts.space, dim); });
    SortByStride(parts.k, parts.lhs.index);
    const bool is_contiguous =
        parts.k.empty() || parts.lhs.index.CoefficientOf(parts.k.back()) == SymDim(1);
    if (parts.lhs.index.IsAffine() && is_contiguous) return Ok();
    if (copy != kNoStorage) return Internal("A row-major copy does not have contiguous rows.");
    Layout layout = Layout::RowMajor(lhs_shape.rank());
    std::vector<int> order;
    for (const std::int64_t dim : lhs_batch) order.push_back(static_cast<int>(dim));
    for (int dim = 0; dim < lhs_shape.rank(); ++dim) {
      const auto is_in = [&](const std::vector<std::int64_t>& dims) {
        return std::find(dims.begin(), dims.end(), dim) != dims.end();
      };
      if (!is_in(lhs_batch) && !is_in(lhs_contract)) order.push_back(dim);
    }
    for (const std::int64_t dim : lhs_contract) order.push_back(static_cast<int>(dim));
    layout.order = std::move(order);
    for (std::vector<std::int64_t>& split : splits) split.clear();
    STOKER_TRY(copy, Copy(lhs, std::move(layout), group.prepared));
  }
  return Internal("The left operand's accesses do not become affine.");
}

Status Lowering::LowerConvolution(Group& group, ContractionParts& parts) {
  const Node& node = parts.node;
  const Attributes& attributes = node.attributes;
  const ValueId input = node.operands[0];
  const Shape& shape = graph_.type(input).shape;
  const Shape& kernel = graph_.type(node.operands[1]).shape;
  const std::vector<std::int64_t>& pad_low = attributes.Ints(AttrName::kPadLow);
  const std::vector<std::int64_t>& pad_high = attributes.Ints(AttrName::kPadHigh);
  for (int dim = 1; dim < shape.rank(); ++dim) {
    if (!shape[dim].IsConstant() || !kernel[dim].IsConstant()) {
      return Unimplemented("convolution needs constant sizes except of the batch; dim " +
                           std::to_string(dim) + " of " + graph_.type(input).ToString() +
                           " is symbolic.");
    }
  }
  parts.space = group.space;
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
    const IndexMap start =
        parts.space.Add(parts.space.Scale(result[i], attributes.Ints(AttrName::kStrides)[i - 2]),
                        IndexSpace::Constant(-pad_low[i - 2]));
    index[i] = parts.space.Add(
        start, parts.space.Scale(parts.rhs_index[i], attributes.Ints(AttrName::kDilation)[i - 2]));
  }
  index[1] = parts.rhs_index[1];
  if (!parts.batch.empty()) {
    index[1] =
        parts.space.Add(index[1], parts.space.Scale(parts.space.Dim(parts.batch[0]), kernel[1]));
  }
  std::erase_if(parts.k, [&](int dim) { return IsUnit(parts.space, dim); });

  const auto is_zero = [](std::int64_t x) { return x == 0; };
  const bool is_padded = !std::all_of(pad_low.begin(), pad_low.end(), is_zero) ||
                         !std::all_of(pad_high.begin(), pad_high.end(), is_zero);
  const auto fits = [&](const Address& address, std::int64_t min_run) {
    std::vector<int> k = parts.k;
    SortByStride(k, address.index);
    const std::int64_t reduction = ProductOf(parts.space, parts.k).IsConstant()
                                       ? ProductOf(parts.space, parts.k).constant()
                                       : INT64_MAX;
    if (!address.index.IsAffine() ||
        ContiguousRun(parts.space, k, address.index) < std::min(min_run, reduction)) {
      return false;
    }
    parts.lhs = address;
    parts.k = std::move(k);
    return true;
  };
  const std::int64_t min_run_in_place = machine_.fusion_limits().min_contiguous_run;
  const Layout wanted = ConvolutionInputLayout(graph_, node);
  for (const StorageId id : builder_.FindAll(input, group.prepared)) {
    const Layout& layout = builder_.storage(id).layout;
    bool has_halo = true;
    for (std::size_t i = 0; i < wanted.low.size(); ++i) {
      has_halo = has_halo && layout.low[i] >= wanted.low[i] && layout.high[i] >= wanted.high[i];
    }
    if (!has_halo) continue;
    const Address address{id, PhysicalIndex(parts.space, layout, shape, index)};
    const bool is_channels_last = layout.order == wanted.order;
    if (fits(address, is_channels_last ? 1 : min_run_in_place)) return Ok();
  }
  if (!is_padded) {
    const std::optional<Address> address = AddressOf(input, index, parts.space, group.prepared);
    if (address && fits(*address, min_run_in_place)) return Ok();
  }
  const std::optional<Layout>& shared = scheduled_.values.wanted[input];
  STOKER_TRY(const StorageId copy, Copy(input, shared ? *shared : wanted, group.prepared));
  const Address address{copy,
                        PhysicalIndex(parts.space, builder_.storage(copy).layout, shape, index)};
  if (fits(address, 1)) return Ok();
  return Internal("A channels-last copy does not have contiguous channels.");
}

Status Lowering::FinishContraction(Group& group, ContractionParts& parts) {
  ContractionFunc& func = parts.func;
  const DType dtype = graph_.type(parts.node.results[0]).dtype;
  const SymDim m = ProductOf(parts.space, parts.m);
  const SymDim n = parts.space.extent(parts.n);
  const SymDim k = ProductOf(parts.space, parts.k);
  func.n = n;
  func.lhs_dtype = dtype;
  func.accumulator = AccumulatorOf(dtype);
  // Convolutions lose nothing: torch.set_float32_matmul_precision is not about them.
  const Numerics numerics = parts.node.kind == OpKind::kDotGeneral ? numerics_ : Numerics::kHighest;
  const ProductLayout product = machine_.LayoutOf({dtype, numerics, m, n, k});
  func.rhs = product.rhs;
  func.parts = product.parts;
  func.lhs_offset = parts.lhs.index.offset;

  std::erase_if(parts.batch, [&](int dim) { return IsUnit(parts.space, dim); });
  std::erase_if(parts.m, [&](int dim) { return IsUnit(parts.space, dim); });
  const std::vector<int> rhs_dims = DimsOf(parts.rhs_index);
  const auto rhs_has = [&](int dim) {
    return std::binary_search(rhs_dims.begin(), rhs_dims.end(), dim);
  };
  // A batch that shares B is more rows.
  while (!parts.batch.empty() && !rhs_has(parts.batch.back())) {
    parts.m.insert(parts.m.begin(), parts.batch.back());
    parts.batch.pop_back();
  }
  for (const int dim : parts.batch) {
    func.batch.push_back(
        {parts.space.extent(dim), parts.lhs.index.CoefficientOf(dim), rhs_has(dim)});
  }
  for (const int dim : parts.m) {
    func.m.push_back({parts.space.extent(dim), parts.lhs.index.CoefficientOf(dim)});
  }
  for (const int dim : parts.k) {
    func.k.push_back({parts.space.extent(dim), parts.lhs.index.CoefficientOf(dim)});
  }
  // A window of one column over one channel steps by lines only.
  if (func.k.empty() || !(func.k.back().lhs_stride == SymDim(1))) func.k.push_back({1, 1});

  parts.operands.Use(parts.lhs.storage, dtype, false);
  STOKER_TRY(const StorageId packed, PackRhs(parts, group.prepared));
  parts.operands.Use(packed, func.rhs.dtype, false);

  BodyBuilder body(graph_, builder_, parts.operands, group.space, &group, group.prepared);
  body.Give(parts.node.results[0], {0, func.accumulator, group.placement.at(group.hero)});
  for (const Root& root : parts.roots) {
    STOKER_TRY(const std::uint32_t value, body.Evaluate(root.value, root.index));
    for (const StorageId id : root.storages) {
      const Storage& storage = builder_.storage(id);
      Store store;
      store.value = body.WithoutRounding(value, storage.dtype);
      store.access.operand = parts.operands.Use(id, storage.dtype, true);
      store.access.dtype = storage.dtype;
      store.access.index = PhysicalIndex(group.space, storage.layout, storage.shape, root.index);
      func.stores.push_back(std::move(store));
    }
  }
  std::vector<std::uint32_t*> values;
  for (Store& store : func.stores) values.push_back(&store.value);
  func.epilogue = body.Take(std::move(values));
  func.operands = parts.operands.operands;

  // Epilogue dims: batch, m, n.
  std::vector<int> order = parts.batch;
  order.insert(order.end(), parts.m.begin(), parts.m.end());
  if (parts.m.empty()) func.m.push_back({1, 0});
  std::vector<SymDim> extents;
  for (const int dim : order) extents.push_back(parts.space.extent(dim));
  if (parts.m.empty()) extents.emplace_back(1);
  extents.push_back(n);
  DimMapping mapping{IndexSpace(std::move(extents)), {}};
  mapping.replacements.resize(static_cast<std::size_t>(group.space.rank()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    mapping.replacements[static_cast<std::size_t>(order[i])] =
        mapping.space.Dim(static_cast<int>(i));
  }
  mapping.replacements[static_cast<std::size_t>(parts.n)] =
      mapping.space.Dim(mapping.space.rank() - 1);
  STOKER_CHECK(RemapBody(mapping, func.epilogue, func.stores, {}));
  MergeDims(func);
  // Lanes run over n even when it is one column: a store without it would be of one element.
  if (n == SymDim(1)) {
    const int column = static_cast<int>(func.batch.size() + func.m.size());
    for (Store& store : func.stores) store.access.index.terms.push_back({column, 1, 1, 0});
  }

  Step step;
  step.prepared = group.prepared;
  step.flops = ProductOf(parts.space, parts.batch) * m * n * k * 2;
  for (const StorageId id : parts.operands.buffers)
    step.bytes = step.bytes + builder_.storage(id).bytes;
  step.label = parts.label + " " + m.ToString() + "x" + n.ToString() + "x" + k.ToString();
  step.buffers = parts.operands.buffers;
  step.func = std::move(func);
  builder_.Append(std::move(step));
  return Ok();
}

}  // namespace stoker
