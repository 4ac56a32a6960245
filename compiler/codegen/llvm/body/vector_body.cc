#include "compiler/codegen/llvm/body/vector_body.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <limits>

#include "compiler/codegen/llvm/body/one_function.h"
#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/math/exp_log.h"
#include "compiler/ir/same_lanes.h"

namespace stoker::codegen {
namespace {

// Lane arithmetic is done in i32 while divisors and moduli stay below this.
constexpr std::int64_t kMaxNarrow = std::int64_t{1} << 30;

// The distance of each lane from lane 0's offset, gathered term by term.
class LaneDistances {
 public:
  LaneDistances(KernelEmitter& emitter, int width)
      : emitter_(emitter), constant_(static_cast<std::size_t>(width), 0) {}

  int width() const { return static_cast<int>(constant_.size()); }

  void AddConstant(std::size_t lane, std::int64_t distance) { constant_[lane] += distance; }

  // `lanes`: <width x i32> or <width x i64>, non-negative and below `limit`.
  void AddDynamic(llvm::Value* lanes, std::int64_t limit, const SymDim& coefficient) {
    llvm::IRBuilder<>& b = emitter_.b();
    const bool narrow =
        lanes->getType()->isIntOrIntVectorTy(32) && coefficient.IsConstant() &&
        std::abs(coefficient.constant()) < kMaxNarrow / std::max<std::int64_t>(limit, 1);
    if (narrow) {
      lanes = b.CreateMul(lanes, KernelEmitter::IntOf(lanes->getType(), coefficient.constant()));
    } else {
      lanes = b.CreateMul(Wide(lanes), emitter_.Splat(emitter_.Dim(coefficient), width()));
    }
    dynamic_ = dynamic_ == nullptr ? lanes : Sum(dynamic_, lanes);
  }

  void Finish(LaneOffset& offset) {
    bool uniform = true;
    bool contiguous = true;
    bool narrow = true;
    for (std::size_t lane = 0; lane < constant_.size(); ++lane) {
      uniform = uniform && constant_[lane] == 0;
      contiguous = contiguous && constant_[lane] == static_cast<std::int64_t>(lane);
      narrow = narrow && std::abs(constant_[lane]) < kMaxNarrow;
    }
    if (dynamic_ == nullptr && (uniform || contiguous)) {
      offset.kind = uniform ? LaneOffset::Kind::kUniform : LaneOffset::Kind::kContiguous;
      return;
    }
    offset.kind = LaneOffset::Kind::kOffsets;
    offset.offsets = dynamic_;
    if (uniform) return;
    llvm::IRBuilder<>& b = emitter_.b();
    llvm::Type* lane_type = narrow ? b.getInt32Ty() : b.getInt64Ty();
    std::vector<llvm::Constant*> lanes;
    for (const std::int64_t distance : constant_) {
      lanes.push_back(KernelEmitter::IntOf(lane_type, distance));
    }
    llvm::Value* constants = llvm::ConstantVector::get(lanes);
    offset.offsets = dynamic_ == nullptr ? constants : Sum(dynamic_, constants);
  }

 private:
  llvm::Value* Wide(llvm::Value* lanes) {
    return emitter_.b().CreateSExt(lanes,
                                   KernelEmitter::VectorOf(emitter_.b().getInt64Ty(), width()));
  }
  // Two i32 distances are each below kMaxNarrow, so that their sum fits; the sum of three might
  // not, so it is wide.
  llvm::Value* Sum(llvm::Value* x, llvm::Value* y) {
    return emitter_.b().CreateAdd(Wide(x), Wide(y));
  }

  KernelEmitter& emitter_;
  std::vector<std::int64_t> constant_;
  llvm::Value* dynamic_ = nullptr;
};

llvm::Value* Scalar(KernelEmitter& emitter, const IndexTerm& term, llvm::Value* index) {
  llvm::IRBuilder<>& b = emitter.b();
  if (term.divisor != 1) index = b.CreateUDiv(index, emitter.I64(term.divisor));
  if (term.modulus != 0) index = b.CreateURem(index, emitter.I64(term.modulus));
  return index;
}

// The part of LaneTerm for small divisors and moduli: lanes are counted in 32 bits.
llvm::Value* NarrowLaneTerm(KernelEmitter& emitter, const IndexTerm& term, const Lanes& lanes,
                            LaneDistances& distances) {
  llvm::IRBuilder<>& b = emitter.b();
  const int w = lanes.width;
  const std::int64_t width = lanes.width;
  const std::int64_t divisor = term.divisor;
  const std::int64_t modulus = term.modulus;
  llvm::Value* base = lanes.index[static_cast<std::size_t>(lanes.dim)];
  // With base = quotient * divisor + rest: (base + lane) / divisor = quotient + (rest + lane) /
  // divisor, where the last part is small.
  llvm::IntegerType* i32 = b.getInt32Ty();
  const auto splat32 = [&](llvm::Value* scalar) {
    return emitter.Splat(b.CreateTrunc(scalar, i32), w);
  };
  llvm::Value* quotient = b.CreateUDiv(base, emitter.I64(divisor));
  llvm::Value* carry = emitter.Iota(i32, w);
  if (divisor != 1) {
    llvm::Value* rest = b.CreateURem(base, emitter.I64(divisor));
    llvm::Value* sum = b.CreateAdd(splat32(rest), carry);
    llvm::Value* limit = splat32(emitter.I64(divisor));
    carry = divisor >= width ? b.CreateZExt(b.CreateICmpUGE(sum, limit), sum->getType())
                             : b.CreateUDiv(sum, limit);
  }
  if (modulus == 0) {
    distances.AddDynamic(carry, width, term.coefficient);
    return quotient;
  }
  llvm::Value* sum = b.CreateAdd(splat32(b.CreateURem(quotient, emitter.I64(modulus))), carry);
  llvm::Value* limit = splat32(emitter.I64(modulus));
  llvm::Value* wrapped =
      modulus >= width ? b.CreateSelect(b.CreateICmpUGE(sum, limit), b.CreateSub(sum, limit), sum)
                       : b.CreateURem(sum, limit);
  distances.AddDynamic(wrapped, modulus, term.coefficient);
  return emitter.I64(0);
}

// Adds the lanes' part of a term over the lane dim; returns lane 0's part.
llvm::Value* LaneTerm(KernelEmitter& emitter, const IndexTerm& term, const Lanes& lanes,
                      LaneDistances& distances) {
  llvm::IRBuilder<>& b = emitter.b();
  const std::int64_t width = lanes.width;
  const std::int64_t divisor = term.divisor;
  const std::int64_t modulus = term.modulus;
  const std::int64_t period = divisor * modulus;
  llvm::Value* base = lanes.index[static_cast<std::size_t>(lanes.dim)];
  const bool affine = divisor == 1 && modulus == 0;
  const bool divides = divisor % width == 0 || width % divisor == 0;
  const bool wraps_between = modulus == 0 || period % width == 0;
  const bool wraps_within = modulus != 0 && width % period == 0;
  if (affine || (lanes.aligned && divides && (wraps_between || wraps_within))) {
    if (term.coefficient.IsConstant()) {
      for (std::int64_t lane = 0; lane < width; ++lane) {
        const std::int64_t step = wraps_within ? lane / divisor % modulus : lane / divisor;
        distances.AddConstant(static_cast<std::size_t>(lane), step * term.coefficient.constant());
      }
    } else {
      std::vector<llvm::Constant*> steps;
      for (std::int64_t lane = 0; lane < width; ++lane) {
        steps.push_back(emitter.I64(wraps_within ? lane / divisor % modulus : lane / divisor));
      }
      distances.AddDynamic(llvm::ConstantVector::get(steps), width, term.coefficient);
    }
    return Scalar(emitter, term, base);
  }
  const int w = lanes.width;
  if (std::max(divisor, modulus) >= kMaxNarrow) {
    llvm::Value* index = b.CreateAdd(emitter.Splat(base, w), emitter.Iota(b.getInt64Ty(), w));
    if (divisor != 1) index = b.CreateUDiv(index, emitter.Splat(emitter.I64(divisor), w));
    if (modulus != 0) index = b.CreateURem(index, emitter.Splat(emitter.I64(modulus), w));
    distances.AddDynamic(index, std::numeric_limits<std::int64_t>::max(), term.coefficient);
    return emitter.I64(0);
  }
  return NarrowLaneTerm(emitter, term, lanes, distances);
}

LaneOffset OffsetWith(KernelEmitter& emitter, const IndexMap& index, const Lanes& lanes,
                      LaneDistances& distances) {
  LaneOffset offset;
  offset.scalar = emitter.Dim(index.offset);
  for (const IndexTerm& term : index.terms) {
    const auto dim = static_cast<std::size_t>(term.dim);
    llvm::Value* at = term.dim == lanes.dim && lanes.width > 1
                          ? LaneTerm(emitter, term, lanes, distances)
                          : Scalar(emitter, term, lanes.index[dim]);
    offset.scalar = emitter.Add(offset.scalar, emitter.Mul(at, emitter.Dim(term.coefficient)));
  }
  return offset;
}

llvm::Value* And(KernelEmitter& emitter, llvm::Value* x, llvm::Value* y) {
  if (x == nullptr) return y;
  if (y == nullptr) return x;
  return emitter.b().CreateAnd(x, y);
}

// `predicate`: null, or one of the lanes' (uniform: i1).
LaneValue LoadFrom(KernelEmitter& emitter, const Access& access, const LaneOffset& offset,
                   const Lanes& lanes, const LaneValue* predicate) {
  llvm::Value* base = emitter.Buffer(access.operand);
  llvm::Value* pointer = emitter.ElementPointer(base, access.dtype, offset.scalar);
  llvm::Value* active = predicate == nullptr ? nullptr : predicate->value;
  if (offset.kind == LaneOffset::Kind::kUniform) {
    if (predicate == nullptr || predicate->uniform) {
      return {emitter.LoadLanes(access.operand, access.dtype, pointer, 1, active), true};
    }
    active = And(emitter, active, lanes.mask);
    llvm::Value* any = emitter.b().CreateOrReduce(active);
    llvm::Value* value = emitter.LoadLanes(access.operand, access.dtype, pointer, 1, any);
    value = emitter.Splat(value, lanes.width);
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    return {emitter.b().CreateSelect(active, value, zero), false};
  }
  const bool is_whole = offset.kind == LaneOffset::Kind::kContiguous && lanes.mask == nullptr &&
                        emitter.BranchesOverLanes();
  if (active != nullptr && predicate->uniform && !is_whole) {
    active = emitter.Splat(active, lanes.width);
  }
  active = And(emitter, active, lanes.mask);
  llvm::Value* value =
      offset.kind == LaneOffset::Kind::kContiguous
          ? emitter.LoadLanes(access.operand, access.dtype, pointer, lanes.width, active)
          : emitter.GatherLanes(access.operand, access.dtype, pointer, offset.offsets, active);
  return {value, false};
}

bool SameLoad(const BodyInstr& x, const BodyInstr& y) {
  return x.op == BodyOp::kLoad && x.access == y.access && x.args == y.args &&
         x.has_predicate == y.has_predicate && x.dtype == y.dtype;
}

}  // namespace

LaneOffset OffsetOf(KernelEmitter& emitter, const IndexMap& index, const Lanes& lanes) {
  LaneDistances distances(emitter, lanes.width);
  LaneOffset offset = OffsetWith(emitter, index, lanes, distances);
  distances.Finish(offset);
  return offset;
}

LaneValue LoadAt(KernelEmitter& emitter, const Access& access, const Lanes& lanes) {
  return LoadFrom(emitter, access, OffsetOf(emitter, access.index, lanes), lanes, nullptr);
}

void StoreAt(KernelEmitter& emitter, const Access& access, const Lanes& lanes,
             const LaneValue& value) {
  const LaneOffset offset = OffsetOf(emitter, access.index, lanes);
  llvm::Value* base = emitter.Buffer(access.operand);
  llvm::Value* pointer = emitter.ElementPointer(base, access.dtype, offset.scalar);
  if (offset.kind == LaneOffset::Kind::kUniform) {
    // Lanes that differ but store to one place: the lane dim has one element, the first lane's.
    llvm::Value* scalar = value.uniform
                              ? value.value
                              : emitter.b().CreateExtractElement(value.value, std::uint64_t{0});
    emitter.StoreLanes(access.operand, access.dtype, pointer, scalar, nullptr);
    return;
  }
  llvm::Value* vector = value.uniform ? emitter.Splat(value.value, lanes.width) : value.value;
  if (offset.kind == LaneOffset::Kind::kContiguous) {
    emitter.StoreLanes(access.operand, access.dtype, pointer, vector, lanes.mask);
  } else {
    emitter.ScatterLanes(access.operand, access.dtype, pointer, offset.offsets, vector, lanes.mask);
  }
}

void VectorBody::Evaluate(const Lanes& lanes, InputFn input, StagedFn staged) {
  lanes_ = lanes;
  values_.clear();
  llvm::IRBuilder<>& b = emitter_.b();
  const bool has_vectors = lanes.width > 1 && lanes.aligned && emitter_.BranchesOverLanes();
  const std::vector<bool> is_one =
      has_vectors ? SameInVectors(body_, lanes.dim, lanes.width) : std::vector<bool>();
  for (std::size_t i = 0; i < body_.instrs.size(); ++i) {
    const BodyInstr& instr = body_.instrs[i];
    LaneValue result;
    switch (instr.op) {
      case BodyOp::kInput:
        result = input(instr);
        break;
      case BodyOp::kConstant: {
        llvm::Type* type = emitter_.LaneType(instr.dtype);
        result.value = type->isFloatingPointTy() ? llvm::ConstantFP::get(type, instr.constant)
                                                 : KernelEmitter::IntOf(type, instr.int_constant);
        break;
      }
      case BodyOp::kIndex: {
        result.value = lanes.index[static_cast<std::size_t>(instr.dim)];
        if (instr.dim == lanes.dim && lanes.width > 1) {
          result.value = b.CreateAdd(emitter_.Splat(result.value, lanes.width),
                                     emitter_.Iota(b.getInt64Ty(), lanes.width));
          result.uniform = false;
        }
        break;
      }
      case BodyOp::kSize:
        result.value = emitter_.Dim(instr.size);
        break;
      case BodyOp::kLoad: {
        // Equal loads are one: a store in place may come before the second.
        const auto same = std::find_if(
            body_.instrs.begin(), body_.instrs.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const BodyInstr& other) { return SameLoad(other, instr); });
        const auto at = static_cast<std::size_t>(same - body_.instrs.begin());
        if (at < i) {
          result = values_[at];
        } else {
          if (staged) result = staged(instr);
          if (result.value == nullptr) result = Load(instr);
        }
        break;
      }
      case BodyOp::kPointwise:
        result = PointwiseOf(i);
        break;
    }
    if (has_vectors && is_one[i] && !result.uniform) {
      result = {b.CreateExtractElement(result.value, std::uint64_t{0}), true};
    }
    values_.push_back(result);
  }
}

LaneValue VectorBody::PointwiseOf(std::size_t number) {
  const BodyInstr& instr = body_.instrs[number];
  LaneValue result;
  for (const std::uint32_t arg : instr.args) {
    result.uniform = result.uniform && values_[arg].uniform;
  }
  Values args;
  for (const std::uint32_t arg : instr.args) {
    args.push_back(result.uniform ? values_[arg].value : Vector(arg));
  }
  emitter_.set_hides_errors(hidden_errors_ != nullptr && (*hidden_errors_)[number]);
  result.value = Pointwise(instr, args);
  emitter_.set_hides_errors(false);
  return result;
}

llvm::Value* VectorBody::Vector(std::uint32_t instr) {
  const LaneValue& value = values_[instr];
  return value.uniform ? emitter_.Splat(value.value, lanes_.width) : value.value;
}

llvm::Value* VectorBody::Pointwise(const BodyInstr& instr, const Values& args) {
  if (formulas_ != nullptr) {
    if (llvm::Value* of_row = OfRow(instr, KernelEmitter::WidthOf(args[0]))) return of_row;
  }
  if (instr.pointwise == OpKind::kDivide && DividesByRowSum(instr)) {
    return DividedByRowSum(args[0], instr.args[1]);
  }
  if (emitter_.hides_errors()) {
    if (llvm::Value* joined = Joined(instr, KernelEmitter::WidthOf(args[0]))) return joined;
  }
  return EmitPointwise(emitter_, instr, body_.instrs[instr.args.back()].dtype, args);
}

llvm::Value* VectorBody::OfRow(const BodyInstr& instr, int width) {
  llvm::IRBuilder<>& b = emitter_.b();
  const auto is_uniform = [&](std::uint32_t i) { return values_[i].uniform; };
  const auto splat = [&](llvm::Value* value) { return emitter_.Splat(value, width); };
  if (const auto normal = formulas_->NormalizedOf(body_, instr)) {
    if (!is_uniform(normal->mean) || !is_uniform(normal->scale)) return nullptr;
    llvm::Value* scale = values_[normal->scale].value;
    // A scale without an end has no product with a mean that is none.
    llvm::Value* product = b.CreateFNeg(b.CreateFMul(values_[normal->mean].value, scale));
    llvm::Value* none = llvm::ConstantFP::getNegativeZero(scale->getType());
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(scale->getType());
    llvm::Value* shift = b.CreateSelect(b.CreateFCmpOEQ(scale, infinity), none, product);
    return emitter_.Fma(ValueOf(normal->x, width), splat(scale), splat(shift));
  }
  if (const auto e = formulas_->ExponentialOf(instr)) {
    llvm::Value* x = ValueOf(e->x, width);
    return ExpLog(emitter_, x->getType())
        .ExpBelow(x, values_[e->most].value, e->scale, e->is_16_bit);
  }
  if (formulas_->IsShare(body_, instr) && is_uniform(instr.args[1]) && emitter_.hides_errors()) {
    // A sum of at least a half.
    llvm::Value* over = emitter_.ReciprocalInHardware(values_[instr.args[1]].value);
    return b.CreateFMul(ValueOf(instr.args[0], width), splat(over));
  }
  return nullptr;
}

llvm::Value* VectorBody::Joined(const BodyInstr& instr, int width) {
  const auto lanes = [&](std::uint32_t i) { return ValueOf(i, width); };
  if (instr.dtype != DType::kF32) return nullptr;
  llvm::IRBuilder<>& b = emitter_.b();
  const auto negated = [&](bool negates, std::uint32_t i) {
    return negates ? b.CreateFNeg(lanes(i)) : lanes(i);
  };
  if (emitter_.HasExp2(emitter_.LaneType(instr.dtype))) {
    llvm::Type* type = KernelEmitter::VectorOf(emitter_.LaneType(instr.dtype), width);
    if (const auto x = OnePlusErfOf(body_, instr))
      return ExpLog(emitter_, type).OnePlusErf(lanes(*x));
    if (const auto x = GeluOf(body_, instr)) return ExpLog(emitter_, type).Gelu(lanes(*x));
  }
  if (const auto sum = MultiplyAddOf(body_, instr)) {
    return emitter_.Fma(negated(sum->negates_product, sum->x), lanes(sum->y),
                        negated(sum->negates_z, sum->z));
  }
  return nullptr;
}

bool VectorBody::DividesByRowSum(const BodyInstr& instr) const {
  if (row_sums_ == nullptr || instr.dtype != DType::kF32) return false;
  if (!values_[instr.args[1]].uniform || values_[instr.args[0]].uniform) return false;
  if (!emitter_.hides_errors() && !row_sums_->IsExponential(body_, instr.args[0])) return false;
  std::vector<std::uint32_t> pending = {instr.args[1]};
  while (!pending.empty()) {
    const BodyInstr& from = body_.instrs[pending.back()];
    pending.pop_back();
    if (from.op == BodyOp::kInput && row_sums_->sums.contains(from.input)) return true;
    pending.insert(pending.end(), from.args.begin(), from.args.end());
  }
  return false;
}

llvm::Value* VectorBody::DividedByRowSum(llvm::Value* x, std::uint32_t instr) {
  llvm::IRBuilder<>& b = emitter_.b();
  llvm::Value* divisor = values_[instr].value;
  const auto number = [&](double value) {
    return llvm::ConstantFP::get(divisor->getType(), value);
  };
  // The reciprocal of what is larger is subnormal, and has fewer digits; that of what is smaller
  // may be infinite.
  llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, divisor);
  llvm::Value* scale =
      b.CreateSelect(b.CreateFCmpOGT(magnitude, number(0x1p126)), number(0x1p-64), number(1));
  scale = b.CreateSelect(b.CreateFCmpOLT(magnitude, number(0x1p-126)), number(0x1p64), scale);
  llvm::Value* reciprocal = b.CreateFDiv(number(1), b.CreateFMul(divisor, scale));
  x = b.CreateFMul(x, emitter_.Splat(reciprocal, lanes_.width));
  return b.CreateFMul(x, emitter_.Splat(scale, lanes_.width));
}

LaneValue VectorBody::Load(const BodyInstr& instr) {
  const Access& access = instr.access;
  LaneDistances distances(emitter_, lanes_.width);
  LaneOffset offset = OffsetWith(emitter_, access.index, lanes_, distances);
  for (std::size_t k = 0; k < access.indirect.size(); ++k) {
    const LaneValue& at = values_[instr.args[k]];
    if (at.uniform) {
      llvm::Value* step = emitter_.Mul(at.value, emitter_.Dim(access.indirect[k]));
      offset.scalar = emitter_.Add(offset.scalar, step);
    } else {
      distances.AddDynamic(at.value, std::numeric_limits<std::int64_t>::max(), access.indirect[k]);
    }
  }
  distances.Finish(offset);
  const LaneValue* predicate = instr.has_predicate ? &values_[instr.args.back()] : nullptr;
  return LoadFrom(emitter_, access, offset, lanes_, predicate);
}

void VectorBody::Store(const std::vector<stoker::Store>& stores) {
  for (const stoker::Store& store : stores) {
    StoreAt(emitter_, store.access, lanes_, values_[store.value]);
  }
}

}  // namespace stoker::codegen
