// The text forms of tensor types and symbolic dims: what parses prints as itself.
#include "protocol/base/check.h"
#include "protocol/graph/dim/sym_dim.h"
#include "protocol/graph/tensor_type.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

template <typename T>
void ExpectTextIsFixedPoint(std::string_view bytes) {
  const Result<T> value = T::Parse(bytes);
  if (!value.ok()) return;
  const std::string text = value->ToString();
  const Result<T> again = T::Parse(text);
  STOKER_CHECK(again.ok());
  STOKER_CHECK(again->ToString() == text);
}

}  // namespace

std::vector<std::string> Seeds() {
  return {"128",           "s0",          "4*s0+1", "floordiv(s0+1,2)+1",   "mod(s0+3*s1,8)*s2",
          "f32[2,s0,768]", "bf16[s0*s1]", "bool[]", "i64[1,floordiv(s3,4)]"};
}

void TryInput(std::string_view bytes) {
  ExpectTextIsFixedPoint<SymDim>(bytes);
  ExpectTextIsFixedPoint<TensorType>(bytes);
}

}  // namespace stoker::fuzz
