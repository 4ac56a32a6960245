#include <algorithm>
#include <cmath>

#include "protocol/graph/build/infer.h"
#include "protocol/graph/combine.h"
#include "protocol/graph/interpret/interpret.h"

namespace stoker {
namespace {

template <typename T>
T IdentityOf(Combine combine, DType dtype) {
  if constexpr (std::is_same_v<T, double>) {
    return FloatIdentity(combine);
  } else {
    return IntIdentity(combine, dtype);
  }
}

template <typename T>
void InterpretReduce(Evaluation& e, Combine combine) {
  const Sizes& dims = e.attributes().Ints(AttrName::kDims);
  const Sizes& shape = e.operand(0).shape;
  Sizes strides(shape.size(), 0);
  const Sizes kept = StridesOf(e.results[0].shape);
  auto next_kept = kept.begin();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!Contains(dims, static_cast<std::int64_t>(i))) strides[i] = *next_kept++;
  }
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  out.assign(out.size(), IdentityOf<T>(combine, e.operand(0).dtype));
  std::size_t next = 0;
  ForEachIndex(shape, [&](const Sizes& index) {
    T& sum = out[static_cast<std::size_t>(Offset(index, strides))];
    sum = Apply(combine, sum, x[next++]);
  });
}

// Whether `candidate` replaces `best` as the first extreme; a NaN is the extreme.
template <typename T>
bool Replaces(T candidate, T best, bool maximum) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(best)) return false;
    if (std::isnan(candidate)) return true;
  }
  return maximum ? candidate > best : candidate < best;
}

template <typename T>
Status InterpretArgReduce(Evaluation& e) {
  const bool maximum = CombineOf(e.attributes()) == Combine::kMaximum;
  const Split split = SplitAt(e.operand(0).shape, e.attributes().Int(AttrName::kDim));
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<std::int64_t>& out = ElementsOf<std::int64_t>(e.results[0]);
  if (split.size == 0 && !out.empty()) {
    return InvalidArgument("The reduced dimension is empty.");
  }
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t i = 0; i < split.inner; ++i) {
      const auto at = [&](std::int64_t k) {
        return x[static_cast<std::size_t>((o * split.size + k) * split.inner + i)];
      };
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < split.size; ++k) {
        if (Replaces(at(k), at(best), maximum)) best = k;
      }
      out[static_cast<std::size_t>(o * split.inner + i)] = best;
    }
  }
  return Ok();
}

template <typename T>
void InterpretReduceWindow(Evaluation& e, Combine combine) {
  const Sizes& window = e.attributes().Ints(AttrName::kWindow);
  const Sizes& stride = e.attributes().Ints(AttrName::kStrides);
  const Sizes& pad_low = e.attributes().Ints(AttrName::kPadLow);
  const Sizes& dilation = e.attributes().Ints(AttrName::kDilation);
  const Sizes& shape = e.operand(0).shape;
  const Sizes strides = StridesOf(shape);
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  std::size_t next = 0;
  ForEachIndex(e.results[0].shape, [&](const Sizes& at) {
    T sum = IdentityOf<T>(combine, e.operand(0).dtype);
    ForEachIndex(window, [&](const Sizes& in_window) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::int64_t k = at[i] * stride[i] + in_window[i] * dilation[i] - pad_low[i];
        if (k < 0 || k >= shape[i]) return;
        offset += k * strides[i];
      }
      sum = Apply(combine, sum, x[static_cast<std::size_t>(offset)]);
    });
    out[next++] = sum;
  });
}

template <typename T>
void InterpretCumulative(Evaluation& e, Combine combine) {
  const bool reverse = e.attributes().Bool(AttrName::kReverse);
  const bool exclusive = e.attributes().Bool(AttrName::kExclusive);
  const Split split = SplitAt(e.operand(0).shape, e.attributes().Int(AttrName::kDim));
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::int64_t i = 0; i < split.inner; ++i) {
      T sum = IdentityOf<T>(combine, e.operand(0).dtype);
      for (std::int64_t k = 0; k < split.size; ++k) {
        const std::int64_t position = reverse ? split.size - 1 - k : k;
        const auto at = static_cast<std::size_t>((o * split.size + position) * split.inner + i);
        const T before = sum;
        sum = Apply(combine, sum, x[at]);
        out[at] = exclusive ? before : sum;
      }
    }
  }
}

}  // namespace

Status InterpretReduction(Evaluation& e) {
  return ForElementType(e.operand(0).dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    const Combine combine = CombineOf(e.attributes());
    if (e.node.kind == OpKind::kArgReduce) return InterpretArgReduce<T>(e);
    if (e.node.kind == OpKind::kReduce) {
      InterpretReduce<T>(e, combine);
    } else if (e.node.kind == OpKind::kReduceWindow) {
      InterpretReduceWindow<T>(e, combine);
    } else {
      InterpretCumulative<T>(e, combine);
    }
    return Ok();
  });
}

}  // namespace stoker
