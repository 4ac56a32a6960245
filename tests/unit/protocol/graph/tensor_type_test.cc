#include "protocol/graph/tensor_type.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Shape, NumElements_Symbolic_IsProduct) {
  const SymDim s0 = SymDim::Symbol(0);
  EXPECT_EQ(Shape({2, s0, 3}).NumElements(), 6 * s0);
  EXPECT_EQ(Shape().NumElements(), SymDim(1));
  EXPECT_FALSE(Shape({2, s0}).IsStatic());
  EXPECT_EQ(Shape({2, 3}).StaticDims(), (std::vector<std::int64_t>{2, 3}));
}

TEST(TensorType, Text_RoundTrips) {
  for (const char* text : {"f32[]", "bf16[2,s0,768]", "i64[floordiv(s0+1,2),max(s0,s1)]", "bool[0]",
                           "f32[1234567890123456789]", "f64[1,1,1,1,1,1,1,1]"}) {
    const Result<TensorType> type = TensorType::Parse(text);
    ASSERT_TRUE(type.ok()) << text << ": " << type.error().message;
    EXPECT_EQ(type->ToString(), text);
  }
}

TEST(TensorType, Parse_BadText_IsRefused) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "Type '' is not of the form dtype[dim,...]."},
      {"f32", "Type 'f32' is not of the form dtype[dim,...]."},
      {"f32[2", "Type 'f32[2' is not of the form dtype[dim,...]."},
      {"f31[2]", "Type 'f31[2]' has no known dtype."},
      {"f32[2,]", "Dimension '' needs a number or a symbol at position 0."},
      {"f32[,]", "Dimension '' needs a number or a symbol at position 0."},
      {"f32[max(s0,1]", "Dimension 'max(s0,1' needs ')' at position 8."},
      {"f32[1,1,1,1,1,1,1,1,1]", "A type has more than 8 dimensions."},
  };
  for (const auto& row : rows) {
    const Result<TensorType> type = TensorType::Parse(row.text);
    ASSERT_FALSE(type.ok()) << row.text;
    EXPECT_EQ(type.error().message, row.message);
  }
}

}  // namespace
}  // namespace stoker
