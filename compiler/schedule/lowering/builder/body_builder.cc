#include "compiler/schedule/lowering/builder/body_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "compiler/analysis/index_instrs.h"
#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/reads.h"
#include "compiler/analysis/view_index.h"
#include "compiler/ir/body_verifier.h"
#include "protocol/base/float16.h"

namespace stoker {
namespace {

bool Is16BitFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

CompareDirection DirectionOf(const Node& node) {
  constexpr std::pair<std::string_view, CompareDirection> kDirections[] = {
      {"EQ", CompareDirection::kEq}, {"NE", CompareDirection::kNe}, {"LT", CompareDirection::kLt},
      {"LE", CompareDirection::kLe}, {"GT", CompareDirection::kGt}, {"GE", CompareDirection::kGe}};
  const std::string& text = node.attributes.String(AttrName::kDirection);
  for (const auto& [name, direction] : kDirections) {
    if (text == name) return direction;
  }
  CheckFailed("unknown direction", __FILE__, __LINE__);
}

template <typename T>
T ElementAt(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

struct Scalar {
  double number = 0;
  std::int64_t integer = 0;
};

Scalar SplatOf(DType dtype, std::string_view bytes) {
  switch (dtype) {
    case DType::kF64:
      return {ElementAt<double>(bytes), 0};
    case DType::kF32:
      return {static_cast<double>(ElementAt<float>(bytes)), 0};
    case DType::kF16:
      return {static_cast<double>(FloatFromF16(ElementAt<std::uint16_t>(bytes))), 0};
    case DType::kBF16:
      return {static_cast<double>(FloatFromBF16(ElementAt<std::uint16_t>(bytes))), 0};
    case DType::kI64:
      return {0, ElementAt<std::int64_t>(bytes)};
    case DType::kI32:
      return {0, ElementAt<std::int32_t>(bytes)};
    case DType::kI16:
      return {0, ElementAt<std::int16_t>(bytes)};
    case DType::kI8:
      return {0, ElementAt<std::int8_t>(bytes)};
    case DType::kU8:
    case DType::kBool:
      return {0, ElementAt<std::uint8_t>(bytes)};
  }
  CheckFailed("unknown dtype", __FILE__, __LINE__);
}

}  // namespace

BodyBuilder::BodyBuilder(const Graph& graph, ProgramBuilder& program, KernelOperands& operands,
                         const IndexSpace& space, const Group* group, bool prepared)
    : graph_(graph),
      program_(program),
      operands_(operands),
      space_(space),
      num_dims_(space.rank()),
      group_(group),
      prepared_(prepared) {}

std::uint32_t BodyBuilder::Emit(BodyInstr instr) { return Append(body_, std::move(instr)); }

std::uint32_t BodyBuilder::EmitPointwise(OpKind kind, DType dtype,
                                         std::vector<std::uint32_t> args) {
  BodyInstr instr;
  instr.op = BodyOp::kPointwise;
  instr.dtype = dtype;
  instr.pointwise = kind;
  instr.args = std::move(args);
  return Emit(std::move(instr));
}

std::uint32_t BodyBuilder::EmitInput(std::uint32_t input, DType dtype) {
  BodyInstr instr;
  instr.op = BodyOp::kInput;
  instr.dtype = dtype;
  instr.input = input;
  return Emit(std::move(instr));
}

std::uint32_t BodyBuilder::EmitInt(std::int64_t value, DType dtype) {
  BodyInstr instr;
  instr.dtype = dtype;
  instr.int_constant = value;
  return Emit(std::move(instr));
}

std::uint32_t BodyBuilder::EmitZero(DType dtype) { return EmitInt(0, ComputeType(dtype)); }

std::uint32_t BodyBuilder::EmitIdentity(Combine combine, DType dtype) {
  BodyInstr instr;
  instr.dtype = ComputeType(dtype);
  if (IsFloat(dtype)) {
    instr.constant = FloatIdentity(combine);
  } else {
    instr.int_constant = IntIdentity(combine, dtype);
  }
  return Emit(std::move(instr));
}

std::uint32_t BodyBuilder::EmitAnd(std::optional<std::uint32_t> a, std::uint32_t b) {
  if (!a || *a == b) return b;
  return EmitPointwise(OpKind::kAnd, DType::kBool, {*a, b});
}

// Conversions to 16-bit floats are one instruction, so that they round once; from them nothing is
// left to do.
std::uint32_t BodyBuilder::EmitConvert(std::uint32_t arg, DType from, DType to) {
  if (from == to || ComputeType(from) == to) return arg;
  arg = BeforeRounding(arg, to);
  const std::uint32_t converted = EmitPointwise(OpKind::kConvert, ComputeType(to), {arg});
  if (Is16BitFloat(to)) body_.instrs[converted].round_to = to;
  return converted;
}

// What else reads `instr` has it as f32.
std::uint32_t BodyBuilder::BeforeRounding(std::uint32_t instr, DType dtype) {
  BodyInstr last = body_.instrs[instr];
  const bool is_from_f64 = last.op == BodyOp::kPointwise && last.dtype == DType::kF32 &&
                           last.pointwise != OpKind::kConvert &&
                           RowOf(last.pointwise).f32_in == DType::kF64;
  if (!is_from_f64 || !Is16BitFloat(dtype)) return instr;
  last.round_to = dtype;
  return Emit(std::move(last));
}

std::uint32_t BodyBuilder::AsStored(std::uint32_t instr, DType dtype) {
  const BodyInstr& last = body_.instrs[instr];
  const bool is_so = last.op == BodyOp::kLoad || last.op == BodyOp::kConstant ||
                     (last.op == BodyOp::kPointwise && last.pointwise == OpKind::kConvert &&
                      last.round_to == dtype);
  return is_so || !Is16BitFloat(dtype) ? instr : EmitConvert(instr, DType::kF32, dtype);
}

std::uint32_t BodyBuilder::ForStore(std::uint32_t instr, DType dtype) {
  const BodyInstr& last = body_.instrs[instr];
  const bool rounds = last.op == BodyOp::kPointwise && last.pointwise == OpKind::kConvert &&
                      last.dtype == DType::kF32 && last.round_to == dtype && Is16BitFloat(dtype);
  const bool is_done_twice = rounds && body_.instrs[last.args[0]].dtype == DType::kF32;
  return BeforeRounding(is_done_twice ? last.args[0] : instr, dtype);
}

Error BodyBuilder::Missing(ValueId value) {
  missing_ = value;
  return NotFound("value %" + std::to_string(value) + " is not in memory.");
}

Error BodyBuilder::Symbolic(const Node& node, const std::string& what) const {
  return Unimplemented(std::string(Name(node.kind)) + " needs a constant " + what +
                       ", not one of " + graph_.type(node.results[0]).ToString() + ".");
}

Result<std::uint32_t> BodyBuilder::Evaluate(ValueId value, const ElementIndex& index) {
  if (body_.instrs.size() > kMaxBodyInstrs) {
    return ResourceExhausted("One kernel has more than " + std::to_string(kMaxBodyInstrs) +
                             " operations.");
  }
  std::vector<Entry>& entries = known_[value];
  for (const Entry& entry : entries) {
    if (entry.index == index && entry.predicate == predicate_) return entry.instr;
  }
  STOKER_TRY(std::uint32_t instr, Compute(value, index));
  if (program_.IsSeenAsStored(value)) instr = AsStored(instr, graph_.type(value).dtype);
  known_[value].push_back({index, predicate_, instr});
  return instr;
}

Result<std::uint32_t> BodyBuilder::Compute(ValueId value, const ElementIndex& index) {
  const auto given = given_.find(value);
  if (given != given_.end() && given->second.index == index) {
    const std::uint32_t input = EmitInput(given->second.input, given->second.dtype);
    // An accumulator may be wider than the value.
    return EmitConvert(input, given->second.dtype, ComputeType(graph_.type(value).dtype));
  }
  const TensorType& type = graph_.type(value);
  const NodeId producer = graph_.value(value).producer;
  const bool is_own = group_ != nullptr && producer != kNoNode && group_->Contains(producer) &&
                      group_->placement.at(producer) == index;
  if (!is_own) {
    const StorageId storage = program_.Find(value, prepared_);
    if (storage != kNoStorage) return Load(storage, type.dtype, index);
    if (producer == kNoNode) return Missing(value);
  }
  const Node& node = graph_.node(producer);
  switch (RoleOf(graph_, node)) {
    case OpRole::kView:
      return View(node, index);
    case OpRole::kVirtual: {
      if (node.kind == OpKind::kConstant) return Constant(node, type);
      const auto dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kDim));
      const std::uint32_t position = EmitIndex(index[dim]);
      return EmitConvert(position, DType::kI64, type.dtype);
    }
    case OpRole::kPointwise:
      return Pointwise(node, index);
    case OpRole::kAssemble:
      return node.kind == OpKind::kPad ? Pad(node, index) : Concatenate(node, index);
    case OpRole::kIndexed:
      if (node.kind == OpKind::kGather) return Gather(node, index);
      if (node.kind == OpKind::kDynamicSlice) return DynamicSlice(node, index);
      return DynamicUpdateSlice(node, index);
    case OpRole::kReduce:
      // Over one element: its value, or the index 0.
      if (!is_own || !group_->reduced.empty()) return Missing(value);
      if (node.kind == OpKind::kArgReduce) return EmitInt(0, DType::kI64);
      return EvaluateReduced(node, index, {});
    case OpRole::kContraction:
    case OpRole::kAttention:
    case OpRole::kOrdered:
    case OpRole::kComposite:
    case OpRole::kExtern:
    case OpRole::kRegion:
      return Missing(value);
  }
  CheckFailed("unknown role", __FILE__, __LINE__);
}

Result<std::uint32_t> BodyBuilder::Constant(const Node& node, const TensorType& type) {
  const Scalar scalar = SplatOf(type.dtype, node.constant);
  BodyInstr instr;
  instr.dtype = ComputeType(type.dtype);
  instr.constant = scalar.number;
  instr.int_constant = scalar.integer;
  return Emit(std::move(instr));
}

Result<std::uint32_t> BodyBuilder::View(const Node& node, const ElementIndex& index) {
  const ValueId operand = node.operands[0];
  if (std::optional<ElementIndex> pulled = PullThroughView(graph_, node, index, space_)) {
    return Evaluate(operand, *pulled);
  }
  // A reshape that is no index expression still is the same row-major element.
  STOKER_CHECK(node.kind == OpKind::kReshape);
  const StorageId storage = program_.FindRowMajor(operand, prepared_);
  if (storage != kNoStorage) {
    const Shape& shape = graph_.type(node.results[0]).shape;
    // Of what is stored: everything along the dim whose stride is 1.
    const std::vector<int>& order = program_.storage(storage).layout.order;
    ElementIndex flat(order.size());
    if (!flat.empty()) {
      flat[static_cast<std::size_t>(order.back())] = Linearize(space_, index, shape.dims());
    }
    return Load(storage, graph_.type(operand).dtype, flat);
  }
  return Missing(operand);
}

Result<std::uint32_t> BodyBuilder::Pointwise(const Node& node, const ElementIndex& index) {
  const DType from = graph_.type(node.operands[0]).dtype;
  const DType to = graph_.type(node.results[0]).dtype;
  if (node.kind == OpKind::kBitcastConvert && (Is16BitFloat(from) || Is16BitFloat(to))) {
    // Bodies see 16-bit floats as f32: their bits are only in memory.
    const Reads::Origin origin = Reads::OriginOf(graph_, node.operands[0]);
    std::optional<ElementIndex> at = index;
    for (const NodeId view : origin.views) {
      at = at ? PullThroughView(graph_, graph_.node(view), *at, space_) : std::nullopt;
    }
    const bool is_own = group_ != nullptr && graph_.value(origin.source).producer != kNoNode &&
                        group_->Contains(graph_.value(origin.source).producer);
    const StorageId storage = at && !is_own ? program_.Find(origin.source, prepared_) : kNoStorage;
    if (storage != kNoStorage) return Load(storage, to, *at);
    const StorageId copy = program_.Find(node.operands[0], prepared_);
    if (copy != kNoStorage) return Load(copy, to, index);
    return Missing(node.operands[0]);
  }
  std::vector<std::uint32_t> args;
  for (const ValueId operand : node.operands) {
    STOKER_TRY(args.emplace_back(), Evaluate(operand, index));
  }
  if (node.kind == OpKind::kConvert) return EmitConvert(args[0], from, to);
  const std::uint32_t result = EmitPointwise(node.kind, ComputeType(to), std::move(args));
  if (node.kind == OpKind::kCompare) body_.instrs[result].direction = DirectionOf(node);
  if (node.kind == OpKind::kRequire) {
    body_.instrs[result].message = node.attributes.String(AttrName::kMessage);
  }
  return result;
}

std::uint32_t BodyBuilder::EmitIndex(const IndexMap& map) {
  return AppendIndexMap(body_, map, [&](int dim) {
    return dim < num_dims_ ? AppendIndex(body_, dim)
                           : virtual_instrs_[static_cast<std::size_t>(dim - num_dims_)];
  });
}

Result<std::uint32_t> BodyBuilder::Load(StorageId id, DType dtype, const ElementIndex& index) {
  const Storage& storage = program_.storage(id);
  const IndexMap position = PhysicalIndex(space_, storage.layout, storage.shape, index);
  BodyInstr instr;
  instr.op = BodyOp::kLoad;
  instr.dtype = ComputeType(dtype);
  instr.access.operand = operands_.Use(id, dtype, false);
  instr.access.dtype = dtype;
  instr.access.index.offset = position.offset;
  for (const IndexTerm& term : position.terms) {
    if (term.dim < num_dims_) {
      instr.access.index.terms.push_back(term);
      continue;
    }
    IndexTerm digit = term;
    digit.coefficient = 1;
    const std::uint32_t value = EmitIndex(IndexMap{0, {digit}});
    instr.access.indirect.push_back(term.coefficient);
    instr.args.push_back(value);
  }
  if (predicate_) {
    instr.has_predicate = true;
    instr.args.push_back(*predicate_);
  }
  return Emit(std::move(instr));
}

Body BodyBuilder::Take(std::vector<std::uint32_t*> roots) {
  std::vector<bool> needed(body_.instrs.size(), false);
  for (const std::uint32_t* root : roots) needed[*root] = true;
  for (std::size_t i = body_.instrs.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const std::uint32_t arg : body_.instrs[i].args) needed[arg] = true;
  }
  Body body;
  std::vector<std::uint32_t> renumbered(body_.instrs.size(), 0);
  for (std::size_t i = 0; i < body_.instrs.size(); ++i) {
    if (!needed[i]) continue;
    renumbered[i] = static_cast<std::uint32_t>(body.instrs.size());
    BodyInstr instr = std::move(body_.instrs[i]);
    for (std::uint32_t& arg : instr.args) arg = renumbered[arg];
    body.instrs.push_back(std::move(instr));
  }
  for (std::uint32_t* root : roots) *root = renumbered[*root];
  body_.instrs.clear();
  known_.clear();
  chosen_.clear();
  return body;
}

}  // namespace stoker
