#include "compiler/transform/random_bits.h"

#include <array>
#include <string>

#include "protocol/graph/interpret/philox.h"

namespace stoker {
namespace {

constexpr int kWordBits = 32;
constexpr std::int64_t kWordMask = 0xffffffff;  // The low word of 64 bits.

std::int64_t ElementsOfBlock(const TensorType& bits) { return bits.dtype == DType::kI64 ? 2 : 4; }

// Operations on i64 values of one shape.
class Words {
 public:
  explicit Words(Rewriter& rewriter) : r_(rewriter) {}

  ValueId Apply(OpKind kind, ValueId x, ValueId y) { return r_.Add(kind, {x, y}); }
  ValueId With(OpKind kind, ValueId x, std::int64_t y) { return Apply(kind, x, Like(x, y)); }
  ValueId Low(ValueId x) { return With(OpKind::kAnd, x, kWordMask); }
  ValueId High(ValueId x) { return With(OpKind::kShiftRightLogical, x, kWordBits); }
  ValueId Equals(ValueId x, std::int64_t y) { return Compare("EQ", x, Like(x, y)); }
  ValueId Select(ValueId predicate, ValueId on_true, ValueId on_false) {
    return r_.Add(OpKind::kSelect, {predicate, on_true, on_false});
  }
  // 1 where the sum of something and `part` has gone beyond 64 bits.
  ValueId Carry(ValueId sum, ValueId part) {
    // Orders numbers without a sign as those with one.
    const auto flipped = [&](ValueId x) { return With(OpKind::kXor, x, INT64_MIN); };
    return r_.Add(OpKind::kConvert, {Compare("LT", flipped(sum), flipped(part))}, {}, r_.type(sum));
  }

 private:
  // All of these numbers are doubles.
  ValueId Like(ValueId x, std::int64_t value) {
    return r_.Scalar(r_.type(x), static_cast<double>(value));
  }
  ValueId Compare(const char* direction, ValueId x, ValueId y) {
    return r_.Add(OpKind::kCompare, {x, y}, {{AttrName::kDirection, std::string(direction)}});
  }

  Rewriter& r_;
};

// Element `place` of the state, as i64[1].
ValueId ElementOf(Rewriter& rewriter, ValueId state, std::int64_t place) {
  using Dims = std::vector<SymDim>;
  return rewriter.Add(OpKind::kSlice, {state},
                      {{AttrName::kStart, Dims{place}},
                       {AttrName::kLimit, Dims{place + 1}},
                       {AttrName::kStride, std::vector<std::int64_t>{1}}});
}

bool HasWideCounter(const Rewriter& rewriter, ValueId state) {
  return rewriter.shape(state)[0] == SymDim(3);
}

// A size as i64[1].
ValueId Size(Rewriter& rewriter, const SymDim& size) {
  const TensorType one{DType::kI64, Shape{SymDim(1)}};
  if (size.IsConstant()) return rewriter.Scalar(one, static_cast<double>(size.constant()));
  const ValueId places = rewriter.Add(OpKind::kIota, {}, {{AttrName::kDim, std::int64_t{0}}},
                                      TensorType{DType::kI64, Shape{size + 1}});
  return rewriter.Add(OpKind::kSlice, {places},
                      {{AttrName::kStart, std::vector<SymDim>{size}},
                       {AttrName::kLimit, std::vector<SymDim>{size + 1}},
                       {AttrName::kStride, std::vector<std::int64_t>{1}}});
}

// The bits of a flat list of elements.
class Philox {
 public:
  Philox(Rewriter& rewriter, ValueId state, const TensorType& bits)
      : r_(rewriter),
        words_(rewriter),
        state_(state),
        elements_(Shape{bits.shape.NumElements()}),
        in_block_(ElementsOfBlock(bits)) {}

  ValueId Bits() {
    const ValueId element = r_.Add(OpKind::kIota, {}, {{AttrName::kDim, std::int64_t{0}}},
                                   TensorType{DType::kI64, elements_});
    const ValueId block = words_.With(OpKind::kShiftRightLogical, element, in_block_ == 2 ? 1 : 2);
    const Block bits = Rounds(CounterOf(block));
    const ValueId place = words_.With(OpKind::kAnd, element, in_block_ - 1);
    const ValueId is_first = words_.Equals(place, 0);
    if (in_block_ == 2) {
      const ValueId high = words_.Select(is_first, bits[1], bits[3]);
      return words_.Apply(OpKind::kOr, words_.Select(is_first, bits[0], bits[2]),
                          words_.With(OpKind::kShiftLeft, high, kWordBits));
    }
    ValueId word = words_.Select(words_.Equals(place, 2), bits[2], bits[3]);
    word = words_.Select(words_.Equals(place, 1), bits[1], word);
    word = words_.Select(is_first, bits[0], word);
    return r_.Add(OpKind::kConvert, {word}, {}, TensorType{DType::kI32, elements_});
  }

 private:
  using Block = std::array<ValueId, 4>;  // Each a word in the low half, with zeros above.

  ValueId Spread(ValueId scalar) { return r_.Broadcast(scalar, {}, elements_); }
  ValueId StateAt(std::int64_t place) { return r_.Reshape(ElementOf(r_, state_, place), Shape()); }

  Block CounterOf(ValueId block) {
    const ValueId start = Spread(StateAt(1));
    const ValueId low = words_.Apply(OpKind::kAdd, start, block);
    if (!HasWideCounter(r_, state_)) {
      const ValueId zero = r_.Scalar(r_.type(low), 0);
      return {words_.Low(low), words_.High(low), zero, zero};
    }
    const ValueId high = words_.Apply(OpKind::kAdd, Spread(StateAt(2)), words_.Carry(low, start));
    return {words_.Low(low), words_.High(low), words_.Low(high), words_.High(high)};
  }

  Block Rounds(Block block) {
    const ValueId key = StateAt(0);
    std::array<ValueId, 2> keys = {words_.Low(key), words_.High(key)};  // Of no dims: one for all.
    for (int round = 0; round < kPhiloxRounds; ++round) {
      block = Round(block, keys);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = words_.Low(words_.With(OpKind::kAdd, keys[i], kPhiloxKeySteps[i]));
      }
    }
    return block;
  }

  Block Round(const Block& block, const std::array<ValueId, 2>& keys) {
    const ValueId first = words_.With(OpKind::kMultiply, block[0], kPhiloxMultipliers[0]);
    const ValueId second = words_.With(OpKind::kMultiply, block[2], kPhiloxMultipliers[1]);
    const auto mix = [&](ValueId product, ValueId word, ValueId key) {
      return words_.Apply(OpKind::kXor, words_.Apply(OpKind::kXor, words_.High(product), word),
                          Spread(key));
    };
    return {mix(second, block[1], keys[0]), words_.Low(second), mix(first, block[3], keys[1]),
            words_.Low(first)};
  }

  Rewriter& r_;
  Words words_;
  const ValueId state_;
  const Shape elements_;
  const std::int64_t in_block_;
};

}  // namespace

ValueId StateAfter(Rewriter& rewriter, ValueId state, const TensorType& bits) {
  Words words(rewriter);
  const SymDim blocks = SymDim::CeilDiv(bits.shape.NumElements(), ElementsOfBlock(bits));
  const ValueId start = ElementOf(rewriter, state, 1);
  const ValueId low = words.Apply(OpKind::kAdd, start, Size(rewriter, blocks));
  std::vector<ValueId> after = {ElementOf(rewriter, state, 0), low};
  if (HasWideCounter(rewriter, state)) {
    after.push_back(
        words.Apply(OpKind::kAdd, ElementOf(rewriter, state, 2), words.Carry(low, start)));
  }
  return rewriter.Add(OpKind::kConcatenate, std::move(after), {{AttrName::kDim, std::int64_t{0}}});
}

ValueId RandomBits(Rewriter& rewriter, ValueId state, const TensorType& bits) {
  return rewriter.Reshape(Philox(rewriter, state, bits).Bits(), bits.shape);
}

}  // namespace stoker
