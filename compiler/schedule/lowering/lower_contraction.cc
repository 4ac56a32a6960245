#include "compiler/schedule/lowering/lower_contraction.h"

#include <algorithm>

#include "compiler/analysis/remap_dims.h"
#include "compiler/ir/body_verifier.h"
#include "compiler/schedule/lowering/loop_order.h"

namespace stoker {
namespace {

DType AccumulatorOf(DType dtype) {
  if (dtype == DType::kF64) return DType::kF64;
  if (IsFloat(dtype)) return DType::kF32;
  return dtype == DType::kI64 ? DType::kI64 : DType::kI32;
}

// Where `dim` of `list` was split: the new inner dim follows it.
void InsertAfter(std::vector<int>& list, int dim, int inner) {
  const auto at = std::find(list.begin(), list.end(), dim);
  if (at != list.end()) list.insert(at + 1, inner);
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

// Where rows `outer` and the next dim become one, nothing is known to be zero.
void MergeRowsOfHalos(ContractionFunc& func, std::size_t outer) {
  std::erase_if(func.halos,
                [&](const Halo& halo) { return halo.m == outer || halo.m == outer + 1; });
  for (Halo& halo : func.halos) halo.m -= halo.m > outer ? 1 : 0;
}

void MergeTapsOfHalos(ContractionFunc& func, std::size_t outer, const SymDim& inner) {
  std::erase_if(func.halos, [&](const Halo& halo) {
    return halo.k == outer + 1 || (halo.k == outer && !inner.IsConstant());
  });
  for (Halo& halo : func.halos) {
    if (halo.k == outer) halo.inner *= inner.constant();
    halo.k -= halo.k > outer ? 1 : 0;
  }
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
    MergeRowsOfHalos(func, at);
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
    MergeTapsOfHalos(func, i - 1, inner.extent);
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

SymDim ContractionParts::ProductOf(const std::vector<int>& dims) const {
  SymDim product = 1;
  for (const int dim : dims) product = product * space.extent(dim);
  return product;
}

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

ContractionLowering::ContractionLowering(Lowering& lowering)
    : lowering_(lowering),
      scheduled_(lowering.scheduled_),
      graph_(lowering.graph_),
      machine_(lowering.machine_),
      numerics_(lowering.numerics_),
      builder_(lowering.builder_),
      packed_(lowering.packed_) {}

Status ContractionLowering::Lower(Group group) {
  const Node& node = graph_.node(group.hero);
  if (node.kind == OpKind::kDotGeneral && machine_.fusion_limits().products_are_calls) {
    // What it ends with is all of it that others read.
    const ValueId root = graph_.node(group.nodes.back()).results[0];
    return LowerProduct(std::move(group), root);
  }
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

// Splits a dim of the result's rows there.
bool ContractionLowering::SplitRows(Group& group, ContractionParts& parts, const DimSplit& split) {
  if (!SplitDim(group, split.dim, split.inner)) return false;
  for (Root& root : parts.roots) {
    root.index = group.placement.at(graph_.value(root.value).producer);
  }
  InsertAfter(parts.m, split.dim, group.space.rank() - 1);
  InsertAfter(parts.batch, split.dim, group.space.rank() - 1);
  return true;
}

void ContractionLowering::AddContractionStorages(Group& group, ContractionParts& parts) {
  const auto steps_along_n = [&](const ElementIndex& index, const Shape& shape) {
    const IndexMap linear = Linearize(group.space, index, shape.dims());
    for (const IndexTerm& term : linear.terms) {
      if (term.dim == parts.n && (term.divisor != 1 || term.modulus != 0)) return false;
    }
    return group.space.extent(parts.n) == SymDim(1) || linear.CoefficientOf(parts.n) == SymDim(1);
  };
  for (const ValueId value : lowering_.StoredMembers(group)) {
    const ElementIndex& index = group.placement.at(graph_.value(value).producer);
    const bool outputs_fit = steps_along_n(index, graph_.type(value).shape);
    parts.roots.push_back(
        {value, index, lowering_.AddFixedStorages(value, group.prepared, outputs_fit)});
  }
  std::vector<int> order = parts.batch;
  order.insert(order.end(), parts.m.begin(), parts.m.end());
  order.push_back(parts.n);
  for (Root& root : parts.roots) {
    if (!lowering_.NeedsStorage(root.value, group.prepared)) continue;
    root.storages.push_back(builder_.Add(root.value, lowering_.KindFor(root.value, group.prepared),
                                         0, NaturalLayout(root.index, order)));
  }
}

// Where a dim has to be split for the epilogue's accesses to be affine. Makes what it reads.
Result<std::optional<DimSplit>> ContractionLowering::FindEpilogueSplit(Group& group,
                                                                       ContractionParts& parts) {
  const DType dtype = graph_.type(parts.node.results[0]).dtype;
  for (int attempt = 0; attempt < kMaxContractionAttempts; ++attempt) {
    KernelOperands operands(builder_);
    BodyBuilder body(graph_, builder_, operands, group.space, &group, group.prepared);
    body.Give(parts.node.results[0], {0, AccumulatorOf(dtype), group.placement.at(group.hero)});
    std::optional<DimSplit> split;
    std::vector<std::uint32_t> values;
    for (const Root& root : parts.roots) {
      const Result<std::uint32_t> value = body.Evaluate(root.value, root.index);
      if (!value.ok() && !body.missing()) return value.error();
      if (!value.ok()) break;
      values.push_back(*value);
      for (const StorageId id : root.storages) {
        const Storage& storage = builder_.storage(id);
        const IndexMap index =
            PhysicalIndex(group.space, storage.layout, storage.shape, root.index);
        if (!split) split = FindDimSplit(group.space, index);
      }
    }
    if (values.size() < parts.roots.size()) {
      STOKER_RETURN_IF_ERROR(lowering_.Materialize(*body.missing(), group.prepared));
      continue;
    }
    std::vector<std::uint32_t*> roots;
    for (std::uint32_t& value : values) roots.push_back(&value);
    ForEachAccess(body.Take(roots), {}, [&](const Access& access, bool) {
      if (!split) split = FindDimSplit(group.space, access.index);
    });
    return split;
  }
  return Internal("The epilogue asks for more values than can be copied.");
}

// Chooses the storages of the results and splits m dims until the epilogue's accesses are affine.
Status ContractionLowering::PlanEpilogue(Group& group, ContractionParts& parts) {
  AddContractionStorages(group, parts);
  for (int attempt = 0; attempt < kMaxContractionAttempts; ++attempt) {
    STOKER_TRY(const std::optional<DimSplit> split, FindEpilogueSplit(group, parts));
    if (!split || split->dim == parts.n) return Ok();
    if (!SplitRows(group, parts, *split)) break;
  }
  return Internal("The epilogue's accesses do not become affine.");
}

// The form in which the product multiplies, and its nests: what B does not vary over is rows.
void ContractionLowering::SetNests(ContractionParts& parts) {
  ContractionFunc& func = parts.func;
  const DType dtype = graph_.type(parts.node.results[0]).dtype;
  const SymDim m = parts.ProductOf(parts.m);
  const SymDim n = parts.space.extent(parts.n);
  const SymDim k = parts.ProductOf(parts.k);
  func.n = n;
  func.lhs_dtype = dtype;
  func.accumulator = AccumulatorOf(dtype);
  // Convolutions lose nothing: torch.set_float32_matmul_precision is not about them.
  const Numerics numerics = parts.node.kind == OpKind::kDotGeneral ? numerics_ : Numerics::kHighest;
  const ProductLayout product = machine_.LayoutOf({dtype, numerics, m, n, k});
  func.rhs = product.rhs;
  func.parts = product.parts;
  func.lhs_offset = parts.lhs.index.offset;

  std::erase_if(parts.batch, [&](int dim) { return parts.IsUnit(dim); });
  std::erase_if(parts.m, [&](int dim) { return parts.IsUnit(dim); });
  const std::vector<int> rhs_dims = DimsOf(parts.rhs_index);
  const auto rhs_has = [&](int dim) {
    return std::binary_search(rhs_dims.begin(), rhs_dims.end(), dim);
  };
  // A batch that shares B is more rows.
  while (!parts.batch.empty() && !rhs_has(parts.batch.back())) {
    parts.m.insert(parts.m.begin(), parts.batch.back());
    parts.batch.pop_back();
  }
  const auto stride_of = [&](int dim) { return parts.lhs.index.CoefficientOf(dim); };
  for (const int dim : parts.batch) {
    func.batch.push_back({parts.space.extent(dim), stride_of(dim), rhs_has(dim)});
  }
  for (const int dim : parts.m) func.m.push_back({parts.space.extent(dim), stride_of(dim)});
  for (const int dim : parts.k) func.k.push_back({parts.space.extent(dim), stride_of(dim)});
  for (Halo halo : parts.halos) {
    const auto row = std::find(parts.m.begin(), parts.m.end(), static_cast<int>(halo.m));
    const auto tap = std::find(parts.k.begin(), parts.k.end(), static_cast<int>(halo.k));
    if (row == parts.m.end() || tap == parts.k.end()) continue;
    halo.m = static_cast<std::size_t>(row - parts.m.begin());
    halo.k = static_cast<std::size_t>(tap - parts.k.begin());
    func.halos.push_back(halo);
  }
  // A window of one column over one channel steps by lines only.
  if (func.k.empty() || !(func.k.back().lhs_stride == SymDim(1))) func.k.push_back({1, 1});
}

Status ContractionLowering::BuildEpilogue(const Group& group, ContractionParts& parts) {
  ContractionFunc& func = parts.func;
  BodyBuilder body(graph_, builder_, parts.operands, group.space, &group, group.prepared);
  body.Give(parts.node.results[0], {0, func.accumulator, group.placement.at(group.hero)});
  for (const Root& root : parts.roots) {
    STOKER_TRY(const std::uint32_t value, body.Evaluate(root.value, root.index));
    for (const StorageId id : root.storages) {
      const Storage& storage = builder_.storage(id);
      Store store;
      store.value = body.ForStore(value, storage.dtype);
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
  extents.push_back(func.n);
  DimMapping mapping{IndexSpace(std::move(extents)), {}};
  mapping.replacements.resize(static_cast<std::size_t>(group.space.rank()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    mapping.replacements[static_cast<std::size_t>(order[i])] =
        mapping.space.Dim(static_cast<int>(i));
  }
  mapping.replacements[static_cast<std::size_t>(parts.n)] =
      mapping.space.Dim(mapping.space.rank() - 1);
  STOKER_CHECK(RemapBody(mapping, func.epilogue, func.stores, {}));
  return Ok();
}

Status ContractionLowering::FinishContraction(Group& group, ContractionParts& parts) {
  ContractionFunc& func = parts.func;
  const SymDim m = parts.ProductOf(parts.m);
  const SymDim k = parts.ProductOf(parts.k);
  SetNests(parts);
  parts.operands.Use(parts.lhs.storage, func.lhs_dtype, false);
  STOKER_TRY(const StorageId packed, PackRhs(parts, group.prepared));
  parts.operands.Use(packed, func.rhs.dtype, false);
  STOKER_RETURN_IF_ERROR(BuildEpilogue(group, parts));
  const SymDim n = func.n;
  MergeDims(func);
  // Lanes run over n even when it is one column: a store without it would be of one element.
  if (n == SymDim(1)) {
    const int column = static_cast<int>(func.batch.size() + func.m.size());
    for (Store& store : func.stores) store.access.index.terms.push_back({column, 1, 1, 0});
  }
  Step step;
  step.prepared = group.prepared;
  step.flops = parts.ProductOf(parts.batch) * m * n * k * 2;
  for (const StorageId id : parts.operands.buffers)
    step.bytes = step.bytes + builder_.storage(id).bytes;
  step.label = parts.label + " " + m.ToString() + "x" + n.ToString() + "x" + k.ToString();
  step.buffers = parts.operands.buffers;
  step.work = std::move(func);
  builder_.Append(std::move(step));
  return Ok();
}

}  // namespace stoker
