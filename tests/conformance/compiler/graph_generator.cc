#include "tests/conformance/compiler/graph_generator.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "protocol/graph/combine.h"
#include "protocol/graph/op_table.h"

namespace stoker::test {
namespace {

constexpr DType kFloats[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

// Ops whose result jumps where their operand hardly changes.
bool Jumps(OpKind kind) {
  constexpr OpKind kJumping[] = {
      OpKind::kSign,      OpKind::kFloor,         OpKind::kCeil,     OpKind::kTrunc,
      OpKind::kCompare,   OpKind::kIsNan,         OpKind::kIsFinite, OpKind::kRoundNearestEven,
      OpKind::kConvert,   OpKind::kSort,          OpKind::kTopK,     OpKind::kArgReduce,
      OpKind::kRemainder, OpKind::kBitcastConvert};
  return std::find(std::begin(kJumping), std::end(kJumping), kind) != std::end(kJumping);
}

// Ops that only choose among or move what they are given, or are exact on it.
bool KeepsExact(OpKind kind) {
  constexpr OpKind kExact[] = {OpKind::kAbs,    OpKind::kNegate, OpKind::kMaximum, OpKind::kMinimum,
                               OpKind::kSelect, OpKind::kClamp,  OpKind::kNot,     OpKind::kAnd,
                               OpKind::kOr,     OpKind::kXor};
  return Jumps(kind) || std::find(std::begin(kExact), std::end(kExact), kind) != std::end(kExact);
}

std::vector<std::int64_t> Range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> range(static_cast<std::size_t>(std::max<std::int64_t>(0, end - begin)));
  std::iota(range.begin(), range.end(), begin);
  return range;
}

std::vector<SymDim> Dims(const std::vector<std::int64_t>& sizes) {
  return {sizes.begin(), sizes.end()};
}

}  // namespace

std::int64_t GraphGenerator::Size() {
  constexpr std::int64_t kSmall[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31};
  constexpr std::int64_t kLarge[] = {1, 2, 3, 16, 33, 50, 64, 100, 128, 199, 200};
  if (scale_ == Scale::kTiny) return Below(3);
  return (scale_ == Scale::kSmall ? kSmall : kLarge)[Below(std::size(kSmall))];
}

std::vector<std::int64_t> GraphGenerator::Sizes(int min_rank, int max_rank) {
  std::vector<std::int64_t> sizes;
  const std::int64_t rank = min_rank + Below(max_rank - min_rank + 1);
  const std::int64_t limit = scale_ == Scale::kLarge ? 40000 : 4096;
  std::int64_t product = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t size = Size();
    while (product * size > limit) size = 1 + Below(3);
    product *= size;
    sizes.push_back(size);
  }
  return sizes;
}

Shape GraphGenerator::ShapeOf(const std::vector<std::int64_t>& sizes) { return Dims(sizes); }

std::vector<std::int64_t> GraphGenerator::SizesOf(const Entry& entry) {
  return entry.type.shape.StaticDims();
}

GraphGenerator::Entry GraphGenerator::Emit(OpKind kind, const std::vector<Entry>& operands,
                                           Attributes attributes, std::optional<TensorType> hint,
                                           bool exact) {
  std::vector<ValueId> ids;
  bool all_exact = true;
  for (const Entry& operand : operands) {
    ids.push_back(operand.id);
    all_exact = all_exact && operand.exact;
    for (Entry& value : values_) value.used = value.used || value.id == operand.id;
  }
  const ValueId id = builder_.Add(kind, ids, std::move(attributes), std::move(hint));
  if (id == kNoValue) return {};
  Entry entry{id, builder_.type(id), all_exact, false};
  if (IsFloat(entry.type.dtype) && !exact && !KeepsExact(kind)) entry.exact = false;
  values_.push_back(entry);
  return entry;
}

bool GraphGenerator::EmitAll(OpKind kind, const std::vector<Entry>& operands, Attributes attributes,
                             std::vector<TensorType> hints) {
  std::vector<ValueId> ids;
  for (const Entry& operand : operands) {
    ids.push_back(operand.id);
    for (Entry& value : values_) value.used = value.used || value.id == operand.id;
  }
  const std::vector<ValueId> results =
      builder_.AddMulti(kind, ids, std::move(attributes), std::move(hints));
  for (const ValueId id : results) {
    if (id == kNoValue) return false;
    values_.push_back({id, builder_.type(id), true, false});
  }
  return true;
}

GraphGenerator::Entry GraphGenerator::NewInput(DType dtype,
                                               const std::vector<std::int64_t>& sizes) {
  const InputRole role = Coin(4) ? InputRole::kParameter : InputRole::kActivation;
  const auto input = [&](const std::vector<std::int64_t>& shape) {
    const TensorType type{dtype, ShapeOf(shape)};
    const Entry entry{builder_.Input(type, role), type, true, false};
    values_.push_back(entry);
    return entry;
  };
  // Some are seen through a view.
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (rank >= 2 && Coin(4)) {
    std::vector<std::int64_t> dims = Range(0, rank);
    std::shuffle(dims.begin(), dims.end(), random_);
    std::vector<std::int64_t> from(sizes.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      from[static_cast<std::size_t>(dims[i])] = sizes[i];
    }
    return Emit(OpKind::kTranspose, {input(from)}, {{AttrName::kDims, dims}}, {}, true);
  }
  if (rank >= 1 && Coin(4)) {
    // A broadcast of some dims.
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> from;
    for (std::int64_t i = 0; i < rank; ++i) {
      if (Coin(2)) continue;
      dims.push_back(i);
      from.push_back(Coin(3) ? 1 : sizes[static_cast<std::size_t>(i)]);
    }
    return Emit(OpKind::kBroadcastInDim, {input(from)}, {{AttrName::kDims, dims}},
                TensorType{dtype, ShapeOf(sizes)}, true);
  }
  if (rank >= 1 && Coin(4)) {
    std::vector<std::int64_t> from = sizes;
    std::vector<SymDim> start;
    std::vector<SymDim> limit;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t low = Below(3);
      from[i] += low + Below(2);
      start.emplace_back(low);
      limit.emplace_back(low + sizes[i]);
    }
    return Emit(OpKind::kSlice, {input(from)},
                {{AttrName::kStart, start},
                 {AttrName::kLimit, limit},
                 {AttrName::kStride, std::vector<std::int64_t>(sizes.size(), 1)}},
                {}, true);
  }
  return input(sizes);
}

GraphGenerator::Entry GraphGenerator::Operand(DType dtype, const std::vector<std::int64_t>& sizes,
                                              bool exact) {
  if (!chaining_) return NewInput(dtype, sizes);
  std::int64_t wanted = 1;
  for (const std::int64_t size : sizes) wanted *= size;
  std::vector<Entry> fitting;
  for (const Entry& value : values_) {
    if (value.type.dtype != dtype || (exact && !value.exact)) continue;
    std::int64_t count = 1;
    for (const std::int64_t size : SizesOf(value)) count *= size;
    if (count == wanted) fitting.push_back(value);
  }
  if (fitting.empty() || Coin(4)) return NewInput(dtype, sizes);
  // Mostly the latest.
  const auto last = static_cast<std::int64_t>(fitting.size()) - 1;
  const Entry chosen =
      fitting[static_cast<std::size_t>(last - Below(std::min<std::int64_t>(last + 1, 4)))];
  if (SizesOf(chosen) == sizes) return chosen;
  return Emit(OpKind::kReshape, {chosen}, {}, TensorType{dtype, ShapeOf(sizes)}, true);
}

GraphGenerator::Entry GraphGenerator::AnyOperand(DType dtype, int min_rank, int max_rank,
                                                 bool exact) {
  if (chaining_) {
    for (std::size_t i = values_.size(); i-- > 0;) {
      const Entry& value = values_[i];
      const int rank = value.type.shape.rank();
      if (value.type.dtype == dtype && (!exact || value.exact) && rank >= min_rank &&
          rank <= max_rank && !Coin(3)) {
        return value;
      }
    }
  }
  return NewInput(dtype, Sizes(min_rank, max_rank));
}

GraphGenerator::Entry GraphGenerator::Regrouped(const Entry& x) {
  const auto rank = static_cast<std::int64_t>(x.type.shape.rank());
  if (rank < 2) return x;
  std::vector<std::int64_t> dims = Range(0, rank);
  std::shuffle(dims.begin(), dims.end(), random_);
  const Entry turned = Emit(OpKind::kTranspose, {x}, {{AttrName::kDims, dims}}, {}, true);
  const std::vector<std::int64_t> from = SizesOf(turned);
  const std::int64_t first = Below(rank - 1);
  const std::int64_t last = first + 1 + Below(rank - first - 1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t size = from[static_cast<std::size_t>(i)];
    if (i > first && i <= last) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
    }
  }
  return Emit(OpKind::kReshape, {turned}, {}, TensorType{x.type.dtype, ShapeOf(sizes)}, true);
}

GraphGenerator::Entry GraphGenerator::Bounded(const Entry& x) {
  if (!chaining_ || !IsFloat(x.type.dtype)) return x;
  return Emit(OpKind::kTanh, {x});
}

bool GraphGenerator::Pointwise(OpKind kind, DType dtype) {
  if (!Contains(RowOf(kind).dtypes, dtype)) return false;
  const bool exact = Jumps(kind) || kind == OpKind::kSelect || kind == OpKind::kClamp;
  Entry x = AnyOperand(dtype, 0, 4, exact && chaining_);
  const std::vector<std::int64_t> sizes = SizesOf(x);
  const auto constant = [&](DType type, double value) {
    const TensorType splat{type, ShapeOf(sizes)};
    const ValueId id = builder_.Scalar(splat, value);
    return Entry{id, splat, true, true};
  };
  if (kind == OpKind::kConvert) {
    constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                              DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};
    DType to = kAll[Below(std::size(kAll))];
    // Out of an integer's range the value depends on the route.
    if (chaining_ && (to == DType::kI8 || to == DType::kU8 || to == DType::kI16)) {
      to = DType::kF32;
    }
    const Entry converted = Emit(kind, {x}, {}, TensorType{to, ShapeOf(sizes)});
    if (converted.id == kNoValue) return false;
    // Whether a narrow float is rounded before it is stored is open.
    if (IsFloat(to) && SizeInBytes(to) < SizeInBytes(dtype)) values_.back().exact = false;
    return true;
  }
  if (kind == OpKind::kBitcastConvert) {
    DType to = dtype;
    if (dtype == DType::kF32) to = DType::kI32;
    if (dtype == DType::kI32 && !chaining_) to = DType::kF32;
    if (dtype == DType::kF64) to = DType::kI64;
    if (dtype == DType::kBF16 || dtype == DType::kF16) to = DType::kI16;
    if (dtype == DType::kI16 && !chaining_) to = DType::kF16;
    if (dtype == DType::kI8) to = DType::kU8;
    return Emit(kind, {x}, {}, TensorType{to, ShapeOf(sizes)}).id != kNoValue;
  }
  if (kind == OpKind::kSelect) {
    const Entry predicate = Operand(DType::kBool, sizes);
    return Emit(kind, {predicate, x, Operand(dtype, sizes)}).id != kNoValue;
  }
  if (kind == OpKind::kClamp) {
    return Emit(kind, {constant(dtype, 0), x, constant(dtype, 2)}).id != kNoValue;
  }
  if (NumOperands(kind) == 1) {
    if (chaining_ && IsFloat(dtype) && !KeepsExact(kind)) {
      if (kind == OpKind::kTan || kind == OpKind::kAsin || kind == OpKind::kAcos) return false;
      x = Bounded(x);
      const bool positive = kind == OpKind::kLog || kind == OpKind::kLog2 ||
                            kind == OpKind::kLogPlusOne || kind == OpKind::kSqrt ||
                            kind == OpKind::kRsqrt || kind == OpKind::kLogGamma;
      if (positive) {
        x = Emit(OpKind::kAdd, {Emit(OpKind::kAbs, {x}), constant(dtype, 0.5)});
      }
    }
    if (kind == OpKind::kRequire) {
      return Emit(kind, {x}, {{AttrName::kMessage, std::string("it holds")}}).id != kNoValue;
    }
    return Emit(kind, {x}).id != kNoValue;
  }
  Entry y = Operand(dtype, sizes, exact && chaining_);
  if (kind == OpKind::kCompare) {
    constexpr const char* kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    return Emit(kind, {x, y}, {{AttrName::kDirection, std::string(kDirections[Below(6)])}}).id !=
           kNoValue;
  }
  if (chaining_ && IsFloat(dtype) && !KeepsExact(kind)) {
    x = Bounded(x);
    y = Bounded(y);
    const bool needs_positive = kind == OpKind::kDivide || kind == OpKind::kPower;
    if (needs_positive) {
      y = Emit(OpKind::kAdd, {Emit(OpKind::kAbs, {y}), constant(dtype, 0.5)});
    }
    if (kind == OpKind::kPower) {
      x = Emit(OpKind::kAdd, {Emit(OpKind::kAbs, {x}), constant(dtype, 0.5)});
    }
    if (kind == OpKind::kAtan2) return false;
  }
  return Emit(kind, {x, y}).id != kNoValue;
}

bool GraphGenerator::View(OpKind kind, DType dtype) {
  if (kind == OpKind::kBroadcastInDim) {
    const std::vector<std::int64_t> to = Sizes(1, 4);
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> from;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (Coin(2)) continue;
      dims.push_back(static_cast<std::int64_t>(i));
      from.push_back(Coin(2) ? 1 : to[i]);
    }
    const Entry x = Operand(dtype, from);
    return Emit(kind, {x}, {{AttrName::kDims, dims}}, TensorType{dtype, ShapeOf(to)}, true).id !=
           kNoValue;
  }
  if (kind == OpKind::kReshape) {
    const Entry x = AnyOperand(dtype, 1, 4);
    std::vector<std::int64_t> sizes = SizesOf(x);
    // Merge two neighbours, split off a factor, or add a dim.
    if (sizes.size() >= 2 && Coin(2)) {
      const auto at =
          static_cast<std::ptrdiff_t>(Below(static_cast<std::int64_t>(sizes.size()) - 1));
      sizes[static_cast<std::size_t>(at)] *= sizes[static_cast<std::size_t>(at) + 1];
      sizes.erase(sizes.begin() + at + 1);
    }
    if (sizes.size() < 4) {
      const auto at = static_cast<std::size_t>(Below(static_cast<std::int64_t>(sizes.size())));
      std::int64_t factor = 1;
      for (const std::int64_t candidate : {2, 3, 5, 7}) {
        if (sizes[at] % candidate == 0 && Coin(2)) factor = candidate;
      }
      sizes[at] /= factor;
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at) + Below(2), factor);
    }
    return Emit(kind, {x}, {}, TensorType{dtype, ShapeOf(sizes)}, true).id != kNoValue;
  }
  if (kind == OpKind::kConcatenate) {
    const Entry x = AnyOperand(dtype, 1, 4);
    std::vector<std::int64_t> sizes = SizesOf(x);
    const std::int64_t dim = Below(static_cast<std::int64_t>(sizes.size()));
    std::vector<Entry> operands = {x};
    for (std::int64_t i = 0; i <= Below(2); ++i) {
      sizes[static_cast<std::size_t>(dim)] = Size();
      operands.push_back(Operand(dtype, sizes));
    }
    std::shuffle(operands.begin(), operands.end(), random_);
    return Emit(kind, operands, {{AttrName::kDim, dim}}, {}, true).id != kNoValue;
  }
  const Entry x = AnyOperand(dtype, 1, 4);
  const std::vector<std::int64_t> sizes = SizesOf(x);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (kind == OpKind::kTranspose) {
    std::vector<std::int64_t> dims = Range(0, rank);
    std::shuffle(dims.begin(), dims.end(), random_);
    return Emit(kind, {x}, {{AttrName::kDims, dims}}, {}, true).id != kNoValue;
  }
  if (kind == OpKind::kReverse) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = 0; i < rank; ++i) {
      if (Coin(2)) dims.push_back(i);
    }
    return Emit(kind, {x}, {{AttrName::kDims, dims}}, {}, true).id != kNoValue;
  }
  if (kind == OpKind::kSlice) {
    std::vector<SymDim> start;
    std::vector<SymDim> limit;
    std::vector<std::int64_t> stride;
    for (const std::int64_t size : sizes) {
      const std::int64_t begin = Below(size);
      start.emplace_back(begin);
      limit.emplace_back(size == 0 ? 0 : begin + 1 + Below(size - begin));
      stride.push_back(1 + Below(3));
    }
    return Emit(kind, {x},
                {{AttrName::kStart, start}, {AttrName::kLimit, limit}, {AttrName::kStride, stride}},
                {}, true)
               .id != kNoValue;
  }
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<std::int64_t> interior;
  for (const std::int64_t size : sizes) {
    low.push_back(Below(3) - (size > 2 ? Below(2) : 0));
    high.push_back(Below(3) - (size > 3 ? Below(2) : 0));
    interior.push_back(Coin(4) ? 1 + Below(2) : 0);
  }
  return Emit(kind, {x, Operand(dtype, {}, true)},
              {{AttrName::kLow, low}, {AttrName::kHigh, high}, {AttrName::kInterior, interior}}, {},
              true)
             .id != kNoValue;
}

bool GraphGenerator::Reduction(OpKind kind, DType dtype) {
  const bool jumps = Jumps(kind);
  // Long products vanish or overflow, on the way if not in the end.
  const bool additive = chaining_ || scale_ == Scale::kLarge;
  Entry x = AnyOperand(dtype, 1, 4, jumps && chaining_);
  if (Coin(3)) x = Regrouped(x);
  const std::vector<std::int64_t> sizes = SizesOf(x);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::vector<Combine> combines;
  for (const Combine combine : CombinesOf(kind)) {
    if (!Contains(DTypesOf(combine), dtype)) continue;
    if (!additive || combine != Combine::kMultiply) combines.push_back(combine);
  }
  if (combines.empty()) return false;
  const std::string how(
      Name(combines[static_cast<std::size_t>(Below(static_cast<std::int64_t>(combines.size())))]));
  if (kind == OpKind::kReduce) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = 0; i < rank; ++i) {
      if (Coin(2)) dims.push_back(i);
    }
    return Emit(kind, {x}, {{AttrName::kDims, dims}, {AttrName::kKind, how}}).id != kNoValue;
  }
  if (kind == OpKind::kArgReduce) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
    return Emit(kind, {x}, {{AttrName::kDim, Below(rank)}, {AttrName::kKind, how}}).id != kNoValue;
  }
  if (kind == OpKind::kCumulative) {
    return Emit(kind, {x},
                {{AttrName::kDim, Below(rank)},
                 {AttrName::kKind, how},
                 {AttrName::kReverse, Coin(2)},
                 {AttrName::kExclusive, Coin(2)}})
               .id != kNoValue;
  }
  Attributes attributes;
  std::vector<std::int64_t> window;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<std::int64_t> dilation;
  for (const std::int64_t size : sizes) {
    const bool slides = Coin(2);
    window.push_back(slides ? 1 + Below(std::min<std::int64_t>(size, 3)) : 1);
    strides.push_back(slides ? 1 + Below(2) : 1);
    const bool pads = slides && window.back() > 1 && Coin(2);
    low.push_back(pads ? 1 : 0);
    high.push_back(pads ? Below(2) : 0);
    const bool dilates = slides && window.back() > 1 && (window.back() - 1) * 2 < size && Coin(3);
    dilation.push_back(dilates ? 2 : 1);
  }
  attributes.Set(AttrName::kWindow, window);
  attributes.Set(AttrName::kStrides, strides);
  attributes.Set(AttrName::kPadLow, low);
  attributes.Set(AttrName::kPadHigh, high);
  attributes.Set(AttrName::kDilation, dilation);
  attributes.Set(AttrName::kKind, how);
  return Emit(kind, {x}, attributes).id != kNoValue;
}

bool GraphGenerator::Contraction(OpKind kind, DType dtype) {
  if (dtype == DType::kBool) return false;
  if (kind == OpKind::kDotGeneral) {
    const std::int64_t batch_rank = Coin(2) ? 0 : 1 + Below(2);
    std::vector<std::int64_t> batch;
    for (std::int64_t i = 0; i < batch_rank; ++i) batch.push_back(1 + Below(3));
    const std::vector<std::int64_t> m = Coin(4) ? std::vector<std::int64_t>{} : Sizes(1, 1);
    const std::vector<std::int64_t> n = Coin(4) ? std::vector<std::int64_t>{} : Sizes(1, 2);
    std::vector<std::int64_t> k = {Size()};
    if (Coin(4)) k.push_back(1 + Below(3));
    const auto operand = [&](const std::vector<std::int64_t>& free,
                             std::vector<std::int64_t>& batch_dims,
                             std::vector<std::int64_t>& contract_dims) {
      // The dims in a random order, free ones staying in theirs.
      std::vector<int> roles;
      for (std::size_t i = 0; i < batch.size(); ++i) roles.push_back(0);
      for (std::size_t i = 0; i < free.size(); ++i) roles.push_back(1);
      for (std::size_t i = 0; i < k.size(); ++i) roles.push_back(2);
      if (Coin(2)) std::shuffle(roles.begin(), roles.end(), random_);
      std::vector<std::int64_t> sizes;
      std::size_t next_free = 0;
      for (std::size_t i = 0; i < roles.size(); ++i) {
        const auto dim = static_cast<std::int64_t>(i);
        if (roles[i] == 0) {
          sizes.push_back(batch[batch_dims.size()]);
          batch_dims.push_back(dim);
        } else if (roles[i] == 1) {
          sizes.push_back(free[next_free++]);
        } else {
          sizes.push_back(k[contract_dims.size()]);
          contract_dims.push_back(dim);
        }
      }
      return Bounded(Operand(dtype, sizes));
    };
    std::vector<std::int64_t> lhs_batch;
    std::vector<std::int64_t> rhs_batch;
    std::vector<std::int64_t> lhs_contract;
    std::vector<std::int64_t> rhs_contract;
    const Entry a = operand(m, lhs_batch, lhs_contract);
    const Entry b = operand(n, rhs_batch, rhs_contract);
    return Emit(kind, {a, b},
                {{AttrName::kLhsBatch, lhs_batch},
                 {AttrName::kRhsBatch, rhs_batch},
                 {AttrName::kLhsContract, lhs_contract},
                 {AttrName::kRhsContract, rhs_contract}})
               .id != kNoValue;
  }
  if (!IsFloat(dtype)) return false;
  const std::int64_t spatial = 1 + Below(3);
  const std::int64_t groups = Coin(3) ? 1 + Below(4) : 1;
  const std::int64_t channels = 1 + Below(5);
  std::vector<std::int64_t> x = {1 + Below(3), channels * groups};
  std::vector<std::int64_t> w = {(1 + Below(6)) * groups, channels};
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  std::vector<std::int64_t> dilation;
  std::vector<std::int64_t> lhs_dilation;
  for (std::int64_t i = 0; i < spatial; ++i) {
    x.push_back(5 + Below(4));
    w.push_back(1 + Below(3));
    strides.push_back(1 + Below(2));
    low.push_back(Below(3) - (Coin(4) ? 1 : 0));
    high.push_back(Below(3) - (Coin(4) ? 1 : 0));
    dilation.push_back(1 + (Coin(3) ? 1 : 0));
    lhs_dilation.push_back(1 + (Coin(4) ? 1 : 0));
  }
  return Emit(kind, {Bounded(Operand(dtype, x)), Bounded(Operand(dtype, w))},
              {{AttrName::kStrides, strides},
               {AttrName::kPadLow, low},
               {AttrName::kPadHigh, high},
               {AttrName::kDilation, dilation},
               {AttrName::kLhsDilation, lhs_dilation},
               {AttrName::kGroups, groups}})
             .id != kNoValue;
}

bool GraphGenerator::Indexing(OpKind kind, DType dtype) {
  constexpr DType kIndexTypes[] = {DType::kI64, DType::kI32, DType::kU8};
  const DType index_type = kIndexTypes[Below(3)];
  if (kind == OpKind::kSort || kind == OpKind::kTopK) {
    Entry x = AnyOperand(dtype, 1, 3, chaining_);
    if (Coin(3)) x = Regrouped(x);
    const std::vector<std::int64_t> sizes = SizesOf(x);
    if (kind == OpKind::kTopK) {
      if (dtype == DType::kBool) return false;
      return EmitAll(kind, {x},
                     {{AttrName::kK, sizes.back() == 0 ? 0 : 1 + Below(sizes.back())},
                      {AttrName::kLargest, Coin(2)}});
    }
    std::vector<Entry> operands = {x};
    if (Coin(2)) operands.push_back(Operand(DType::kI32, sizes));
    return EmitAll(kind, operands,
                   {{AttrName::kDim, Below(static_cast<std::int64_t>(sizes.size()))},
                    {AttrName::kDescending, Coin(2)}});
  }
  const Entry x = AnyOperand(dtype, 1, 3);
  const std::vector<std::int64_t> sizes = SizesOf(x);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  std::vector<std::int64_t> window;
  for (const std::int64_t size : sizes) window.push_back(size == 0 ? 0 : 1 + Below(size));
  if (kind == OpKind::kDynamicSlice || kind == OpKind::kDynamicUpdateSlice) {
    std::vector<Entry> operands = {x};
    if (kind == OpKind::kDynamicUpdateSlice) operands.push_back(Operand(dtype, window));
    for (std::int64_t i = 0; i < rank; ++i) operands.push_back(Operand(DType::kI64, {}, true));
    Attributes attributes;
    if (kind == OpKind::kDynamicSlice) attributes.Set(AttrName::kSliceSizes, Dims(window));
    return Emit(kind, operands, attributes, {}, true).id != kNoValue;
  }
  // Indices into one or two dims, which then are collapsed or keep a window.
  std::vector<std::int64_t> indexed = Range(0, rank);
  std::shuffle(indexed.begin(), indexed.end(), random_);
  indexed.resize(static_cast<std::size_t>(1 + Below(std::min<std::int64_t>(rank, 2))));
  std::vector<std::int64_t> collapsed;
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool is_indexed = std::find(indexed.begin(), indexed.end(), i) != indexed.end();
    const auto at = static_cast<std::size_t>(i);
    if (!is_indexed) {
      window[at] = sizes[at];
    } else if (sizes[at] > 0 && Coin(2)) {
      window[at] = 1;
      collapsed.push_back(i);
    }
  }
  std::vector<std::int64_t> batch = Sizes(0, 2);
  const auto batch_rank = static_cast<std::int64_t>(batch.size());
  std::vector<std::int64_t> index_sizes = batch;
  index_sizes.push_back(static_cast<std::int64_t>(indexed.size()));
  const Entry indices = Operand(index_type, index_sizes, true);
  // The result's dims: those of the batch, then those of the window.
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (std::find(collapsed.begin(), collapsed.end(), i) == collapsed.end()) {
      kept.push_back(window[static_cast<std::size_t>(i)]);
    }
  }
  const std::vector<std::int64_t> window_dims =
      Range(batch_rank, batch_rank + static_cast<std::int64_t>(kept.size()));
  if (kind == OpKind::kGather) {
    return Emit(kind, {x, indices},
                {{AttrName::kOffsetDims, window_dims},
                 {AttrName::kCollapsedDims, collapsed},
                 {AttrName::kStartIndexMap, indexed},
                 {AttrName::kIndexVectorDim, batch_rank},
                 {AttrName::kSliceSizes, Dims(window)}},
                {}, true)
               .id != kNoValue;
  }
  std::vector<std::int64_t> update_sizes = batch;
  update_sizes.insert(update_sizes.end(), kept.begin(), kept.end());
  constexpr const char* kKinds[] = {"assign", "add", "maximum", "minimum", "multiply"};
  std::int64_t num_kinds = dtype == DType::kBool ? 1 : chaining_ ? 4 : 5;
  // Thousands of updates of one 16-bit element are rounded thousands of times.
  if (scale_ == Scale::kLarge && SizeInBytes(dtype) == 2) num_kinds = 1;
  const Entry result = Emit(kind, {x, indices, Operand(dtype, update_sizes)},
                            {{AttrName::kUpdateWindowDims, window_dims},
                             {AttrName::kInsertedWindowDims, collapsed},
                             {AttrName::kScatterDims, indexed},
                             {AttrName::kIndexVectorDim, batch_rank},
                             {AttrName::kKind, std::string(kKinds[Below(num_kinds)])}});
  if (result.id == kNoValue) return false;
  // What is updated again, perhaps as of another shape, may be updated where it is.
  if (!chaining_ || !Coin(3)) return true;
  return (!Coin(2) || View(OpKind::kReshape, dtype)) && Indexing(kind, dtype);
}

bool GraphGenerator::Attend(DType dtype) {
  if (!IsFloat(dtype)) return false;
  const std::int64_t batch = 1 + Below(2);
  const std::int64_t kv_heads = 1 + Below(2);
  const std::int64_t heads = kv_heads * (1 + Below(2));
  const std::int64_t queries = Size();
  const std::int64_t keys = Coin(2) ? queries : Size();
  const std::int64_t head_dim = 1 + Below(24);
  const std::int64_t value_dim = Coin(2) ? head_dim : 1 + Below(24);
  std::vector<Entry> operands = {Bounded(Operand(dtype, {batch, heads, queries, head_dim})),
                                 Bounded(Operand(dtype, {batch, kv_heads, keys, head_dim})),
                                 Bounded(Operand(dtype, {batch, kv_heads, keys, value_dim}))};
  if (Coin(2)) {
    const std::vector<std::int64_t> mask = {Coin(2) ? 1 : batch, Coin(2) ? 1 : heads,
                                            Coin(2) ? 1 : queries, Coin(3) ? 1 : keys};
    operands.push_back(Operand(Coin(2) ? DType::kBool : dtype, mask, true));
  }
  return Emit(OpKind::kAttention, operands,
              {{AttrName::kScale, 0.25}, {AttrName::kCausal, Coin(2)}})
             .id != kNoValue;
}

bool GraphGenerator::Add(OpKind kind, DType dtype) {
  switch (RowOf(kind).result) {
    case ResultRule::kCreation: {
      if (kind == OpKind::kConstant) {
        const TensorType type{dtype, ShapeOf(Sizes(0, 3))};
        const std::size_t count = static_cast<std::size_t>(type.shape.NumElements().constant());
        std::string bytes;
        for (std::size_t i = 0; i < count * static_cast<std::size_t>(SizeInBytes(dtype)); ++i) {
          bytes.push_back(static_cast<char>(dtype == DType::kBool ? Below(2) : Below(60)));
        }
        const ValueId id = builder_.Constant(type, bytes);
        values_.push_back({id, type, true, false});
        return id != kNoValue;
      }
      if (dtype == DType::kBool) return false;
      const std::vector<std::int64_t> sizes = Sizes(1, 3);
      const std::int64_t dim = Below(static_cast<std::int64_t>(sizes.size()));
      return Emit(kind, {}, {{AttrName::kDim, dim}}, TensorType{dtype, ShapeOf(sizes)}, true).id !=
             kNoValue;
    }
    case ResultRule::kSame:
    case ResultRule::kBool:
    case ResultRule::kHinted:
      return Pointwise(kind, dtype);
    case ResultRule::kShape:
      return View(kind, dtype);
    case ResultRule::kReduction:
      return Reduction(kind, dtype);
    case ResultRule::kContraction:
      return kind == OpKind::kAttention ? Attend(dtype) : Contraction(kind, dtype);
    case ResultRule::kIndexing:
      return Indexing(kind, dtype);
    case ResultRule::kRandom: {
      if (dtype != DType::kI32 && dtype != DType::kI64) return false;
      const Entry state = Operand(DType::kI64, {2 + Below(2)});
      if (!EmitAll(kind, {state}, {{AttrName::kAlgorithm, std::string("PHILOX")}},
                   {state.type, TensorType{dtype, ShapeOf(Sizes(0, 3))}})) {
        return false;
      }
      // Other ops take integers that are small.
      const Entry bits = values_.back();
      values_.pop_back();
      const ValueId mask = builder_.Scalar(bits.type, 63);
      return Emit(OpKind::kAnd, {bits, {mask, bits.type, true, true}}).id != kNoValue;
    }
    case ResultRule::kExtern:
    case ResultRule::kRegion:
      return false;
  }
  return false;
}

bool GraphGenerator::IsChainable(OpKind kind) {
  const OpRole role = RowOf(kind).role;
  return role != OpRole::kExtern && role != OpRole::kRegion && kind != OpKind::kConstant;
}

void GraphGenerator::AddChain(int length) {
  chaining_ = true;
  for (int i = 0; i < length && builder_.ok();) {
    const auto kind = static_cast<OpKind>(Below(kNumOpKinds));
    if (!IsChainable(kind)) continue;
    // Mostly floats of one type, as in models.
    DType dtype = Coin(3) ? kFloats[Below(4)] : DType::kF32;
    if (Coin(4)) dtype = Coin(2) ? DType::kI64 : DType::kI32;
    if (Coin(10)) dtype = DType::kBool;
    if (Add(kind, dtype)) ++i;
  }
}

Result<Graph> GraphGenerator::Build() {
  constexpr std::size_t kMaxOutputs = 16;
  std::vector<ValueId> outputs;
  for (std::size_t i = values_.size(); i-- > 0 && outputs.size() < kMaxOutputs;) {
    if (!values_[i].used) outputs.push_back(values_[i].id);
  }
  return builder_.Build(outputs);
}

}  // namespace stoker::test
