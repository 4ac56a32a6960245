#include <algorithm>

#include "compiler/analysis/remap_dims.h"
#include "compiler/schedule/lowering/loop_order.h"
#include "compiler/schedule/lowering/lowering.h"

namespace stoker {
namespace {

// A copy may itself need copies, of what it reads: reshapes of transposes of pads and so on.
constexpr int kMaxCopyDepth = 16;
constexpr int kMaxSplits = 8;

// Gives the dims the numbers of their loops; dims of one element vanish.
void RenumberDims(LoopFunc& func, const Group& group, const LoopOrder& order) {
  DimMapping mapping;
  mapping.replacements.resize(func.dims.size());
  std::vector<int> number(func.dims.size(), -1);
  int num_outer = 0;
  std::vector<SymDim> extents;
  for (std::size_t i = 0; i < order.dims.size(); ++i) {
    const auto dim = static_cast<std::size_t>(order.dims[i]);
    if (group.space.extent(order.dims[i]) == SymDim(1)) continue;
    number[dim] = static_cast<int>(extents.size());
    extents.push_back(group.space.extent(order.dims[i]));
    if (static_cast<int>(i) < order.num_outer) ++num_outer;
  }
  mapping.space = IndexSpace(std::move(extents));
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] >= 0) mapping.replacements[i] = mapping.space.Dim(number[i]);
  }
  const auto renumber = [&](std::vector<int>& dims) {
    for (int& dim : dims) dim = number[static_cast<std::size_t>(dim)];
    std::erase(dims, -1);
    std::sort(dims.begin(), dims.end());
  };
  for (Stage& stage : func.stages) {
    std::vector<std::uint32_t*> values;
    for (Temporary& temporary : stage.temporaries) values.push_back(&temporary.value);
    for (Reduction& reduction : stage.reductions) {
      values.push_back(&reduction.value);
      renumber(reduction.over);
    }
    renumber(stage.loops);
    STOKER_CHECK(RemapBody(mapping, stage.body, stage.stores, values));
  }
  func.dims = mapping.space.extents();
  func.num_outer = num_outer;
}

SymDim PointsOf(const LoopFunc& func, const Stage& stage) {
  SymDim points = 1;
  for (int i = 0; i < func.num_outer; ++i) {
    points = points * func.dims[static_cast<std::size_t>(i)];
  }
  for (const int dim : stage.loops) points = points * func.dims[static_cast<std::size_t>(dim)];
  return points;
}

SymDim FlopsOf(const LoopFunc& func) {
  SymDim flops;
  for (const Stage& stage : func.stages) {
    std::int64_t per_point = static_cast<std::int64_t>(stage.reductions.size());
    for (const BodyInstr& instr : stage.body.instrs) {
      per_point += instr.op == BodyOp::kPointwise && IsFloat(instr.dtype) ? 1 : 0;
    }
    flops = flops + PointsOf(func, stage) * per_point;
  }
  return flops;
}

// Bytes moved to and from memory: each operand once, but of one read through indices no more than
// is asked for.
SymDim BytesOf(const LoopFunc& func, const std::vector<StorageId>& buffers,
               const ProgramBuilder& builder) {
  SymDim bytes;
  for (std::uint32_t operand = 0; operand < buffers.size(); ++operand) {
    SymDim gathered;
    bool is_direct = false;
    for (const Stage& stage : func.stages) {
      ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
        if (access.operand != operand) return;
        if (access.indirect.empty()) {
          is_direct = true;
        } else {
          gathered = gathered + PointsOf(func, stage) * SizeInBytes(access.dtype);
        }
      });
    }
    bytes = bytes + (is_direct ? builder.storage(buffers[operand]).bytes : gathered);
  }
  return bytes;
}

// Index expressions over the dims of a value's own shape.
Group GroupOfShape(const Shape& shape, bool prepared, ElementIndex& index) {
  Group group;
  group.prepared = prepared;
  for (const SymDim& size : shape) index.push_back(group.space.Dim(group.space.AddDim(size)));
  return group;
}

std::string LabelOf(const Graph& graph, const Group& group) {
  constexpr std::size_t kMaxNames = 4;
  std::string label;
  std::size_t names = 0;
  std::vector<OpKind> seen;
  for (const NodeId node : group.nodes) {
    const OpKind kind = graph.node(node).kind;
    if (kind == OpKind::kConvert || std::find(seen.begin(), seen.end(), kind) != seen.end()) {
      continue;
    }
    seen.push_back(kind);
    if (names++ >= kMaxNames) continue;
    label += (label.empty() ? "" : "+") + std::string(Name(kind));
  }
  if (names > kMaxNames) label += "+" + std::to_string(names - kMaxNames);
  return label.empty() ? "convert" : label;
}

}  // namespace

Status Lowering::BuildLoop(Group& group, std::vector<Root>& roots, bool may_add_storages,
                           const std::string& label) {
  LoopOrder order;
  for (int splits = 0;;) {
    order = {};
    for (int dim = 0; dim < group.space.rank(); ++dim) order.dims.push_back(dim);
    LoopBuilder trial(graph_, scheduled_.reads, builder_, group, roots, order.dims, 0,
                      machine_.fusion_limits());
    const Result<LoopFunc> func = trial.Build(true);
    if (!func.ok()) {
      if (!trial.missing()) return func.error();
      STOKER_RETURN_IF_ERROR(Materialize(*trial.missing(), group.prepared));
      continue;
    }
    const std::optional<DimSplit> split = FindDimSplit(group.space, *func);
    if (split && splits++ < kMaxSplits) {
      std::vector<ElementIndex*> indices;
      for (Root& root : roots) indices.push_back(&root.index);
      if (SplitDim(group, split->dim, split->inner, indices)) continue;
    }
    order = ChooseLoopOrder(group, *func, machine_.fusion_limits());
    break;
  }
  if (may_add_storages) {
    for (Root& root : roots) {
      if (!NeedsStorage(root.value, group.prepared)) continue;
      root.storages.push_back(builder_.Add(root.value, KindFor(root.value, group.prepared), 0,
                                           NaturalLayout(root.index, order.dims)));
    }
  }
  LoopBuilder loops(graph_, scheduled_.reads, builder_, group, roots, order.dims, order.num_outer,
                    machine_.fusion_limits());
  STOKER_TRY(LoopFunc func, loops.Build());
  RenumberDims(func, group, order);
  Step step;
  step.flops = FlopsOf(func);
  step.bytes = BytesOf(func, loops.buffers(), builder_);
  step.work = std::move(func);
  step.buffers = loops.buffers();
  step.prepared = group.prepared;
  step.label = label + " " + graph_.type(roots[0].value).ToString();
  builder_.Append(std::move(step));
  return Ok();
}

Status Lowering::LowerLoop(Group group, std::vector<ValueId> values) {
  std::vector<Root> roots;
  for (const ValueId value : values) {
    const NodeId producer = graph_.value(value).producer;
    roots.push_back({value, group.placement.at(producer), AddLoopStorages(value, group.prepared)});
  }
  if (roots.empty()) return Ok();
  const std::string label = LabelOf(graph_, group);
  return BuildLoop(group, roots, true, label);
}

Status Lowering::CopyTo(ValueId value, StorageId storage, bool prepared) {
  if (copy_depth_ >= kMaxCopyDepth) {
    return Internal("Copies of copies nest deeper than " + std::to_string(kMaxCopyDepth) + ".");
  }
  ++copy_depth_;
  std::vector<Root> roots(1);
  Group group = GroupOfShape(graph_.type(value).shape, prepared, roots[0].index);
  roots[0].value = value;
  roots[0].storages.push_back(storage);
  const Status status = BuildLoop(group, roots, false, "copy");
  --copy_depth_;
  return status;
}

Result<StorageId> Lowering::Copy(ValueId value, Layout layout, bool prepared) {
  // What follows from parameters alone is copied once, whoever asks.
  const bool once = prepared || (scheduled_.prepared[value] && !layout.HasHalo());
  const BufferKind kind =
      !once ? BufferKind::kArena : (prepared ? BufferKind::kPrepareArena : BufferKind::kPrepared);
  const StorageId storage = builder_.New(value, kind, 0, std::move(layout));
  STOKER_RETURN_IF_ERROR(CopyTo(value, storage, once));
  builder_.Bind(value, storage);
  return storage;
}

Status Lowering::Materialize(ValueId value, bool prepared) {
  STOKER_TRY([[maybe_unused]] const StorageId storage,
             Copy(value, Layout::RowMajor(graph_.type(value).shape.rank()), prepared));
  return Ok();
}

}  // namespace stoker
