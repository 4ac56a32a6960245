#include "protocol/guard/shape_signature.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(ShapeSignature_ToString, ShowsEveryFact) {
  ShapeSignature signature;
  EXPECT_EQ(signature.ToString(), "");
  signature.symbols = {{0, 2, 512, 8, 0}, {1, 0, INT64_MAX, 1, 128}};
  EXPECT_EQ(signature.ToString(), "s0 in [2,512] %8, s1 in [0,inf] hint 128");
  signature.inputs = {{64}, {64}, {1}};
  EXPECT_EQ(signature.ToString(), "s0 in [2,512] %8, s1 in [0,inf] hint 128; inputs: 64 64 1");
  signature.symbols.clear();
  EXPECT_EQ(signature.ToString(), "inputs: 64 64 1");
}

}  // namespace
}  // namespace stoker
