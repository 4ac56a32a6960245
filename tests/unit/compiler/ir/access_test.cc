#include "compiler/ir/access.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/body_builder.h"

namespace stoker {
namespace {

TEST(IndexMapTest, ToString_AffineTerms_LikeTheFormula) {
  EXPECT_EQ(Affine({}).ToString(), "0");
  EXPECT_EQ(Affine({}, 7).ToString(), "7");
  EXPECT_EQ(Affine({{0, 768}, {1, 1}}).ToString(), "768*i0 + i1");
  EXPECT_EQ(Affine({{0, 768}, {1, 1}}, 12).ToString(), "768*i0 + i1 + 12");
  EXPECT_EQ(Affine({{1, -1}}, 9).ToString(), "-1*i1 + 9");
}

TEST(IndexMapTest, ToString_SymbolsDivisorsModuli_AreParenthesized) {
  IndexMap index = Affine({{0, SymDim::Symbol(0) * SymDim(4)}, {1, 2}});
  index.terms[1].divisor = 14;
  index.terms[1].modulus = 3;
  EXPECT_EQ(index.ToString(), "(4*s0)*i0 + 2*((i1 / 14) % 3)");
}

TEST(IndexMapTest, CoefficientOf_CountsAffineTermsOnly) {
  IndexMap index = Affine({{0, 5}, {1, 2}, {1, 3}});
  EXPECT_EQ(index.CoefficientOf(0), SymDim(5));
  EXPECT_EQ(index.CoefficientOf(1), SymDim(5));
  EXPECT_EQ(index.CoefficientOf(2), SymDim(0));
  EXPECT_TRUE(index.IsAffine());
  index.terms[2].divisor = 2;
  EXPECT_EQ(index.CoefficientOf(1), SymDim(2));
  EXPECT_FALSE(index.IsAffine());
}

}  // namespace
}  // namespace stoker
