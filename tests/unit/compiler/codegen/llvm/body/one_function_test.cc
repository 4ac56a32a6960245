#include "compiler/codegen/llvm/body/one_function.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/body_builder.h"

namespace stoker::codegen {
namespace {

// x, and factors of x / 2 * (1 + erf(x / sqrt(2))).
struct Factors {
  Body body;
  BodyBuilder make{body};
  std::uint32_t x = make.Input(0, DType::kF32);
  std::uint32_t half = make.Constant(DType::kF32, 0.5);
  std::uint32_t normal = NormalOf(0.7071067811865476);

  std::uint32_t NormalOf(double scale) {
    const std::uint32_t scaled = Product(x, make.Constant(DType::kF32, scale));
    return make.Op(OpKind::kAdd, {make.Constant(DType::kF32, 1), make.Op(OpKind::kErf, {scaled})});
  }
  std::uint32_t Product(std::uint32_t a, std::uint32_t b) {
    return make.Op(OpKind::kMultiply, {a, b});
  }
  std::optional<std::uint32_t> Found(std::uint32_t instr) const {
    return GeluOf(body, body.instrs[instr]);
  }
};

TEST(OneFunction, Gelu_IsFoundInAnyOrder) {
  Factors f;
  const std::uint32_t orders[] = {
      f.Product(f.Product(f.x, f.half), f.normal), f.Product(f.normal, f.Product(f.half, f.x)),
      f.Product(f.x, f.Product(f.half, f.normal)), f.Product(f.Product(f.normal, f.half), f.x),
      f.Product(f.Product(f.x, f.normal), f.half), f.Product(f.half, f.Product(f.normal, f.x))};
  for (const std::uint32_t order : orders) EXPECT_EQ(f.Found(order), f.x);
}

TEST(OneFunction, WhatIsNoGelu_IsNotFound) {
  Factors f;
  const std::uint32_t other = f.make.Input(1, DType::kF32);
  EXPECT_FALSE(f.Found(f.Product(f.Product(other, f.half), f.normal)));
  EXPECT_FALSE(f.Found(f.Product(f.x, f.normal)));
  EXPECT_FALSE(f.Found(f.Product(f.Product(f.x, f.half), f.NormalOf(0.70710684))));
  EXPECT_FALSE(f.Found(f.make.Op(OpKind::kAdd, {f.Product(f.x, f.half), f.normal})));
  EXPECT_EQ(OnePlusErfOf(f.body, f.body.instrs[f.normal]).has_value(), true);
  EXPECT_FALSE(OnePlusErfOf(f.body, f.body.instrs[f.half]));
}

TEST(OneFunction, MultiplyAdd_HasOneProductWithoutConstants) {
  Factors f;
  const std::uint32_t y = f.make.Input(1, DType::kF32);
  const std::uint32_t product = f.Product(f.x, y);
  const auto found = [&](OpKind kind, std::uint32_t a, std::uint32_t b) {
    return MultiplyAddOf(f.body, f.body.instrs[f.make.Op(kind, {a, b})]);
  };
  const auto sum = found(OpKind::kAdd, y, product);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->z, y);
  EXPECT_FALSE(sum->negates_product || sum->negates_z);
  const auto from = found(OpKind::kSubtract, y, product);
  EXPECT_TRUE(from && from->negates_product && !from->negates_z);
  const auto less = found(OpKind::kSubtract, product, y);
  EXPECT_TRUE(less && less->negates_z && !less->negates_product);
  EXPECT_FALSE(found(OpKind::kAdd, product, product));
  EXPECT_FALSE(found(OpKind::kAdd, f.x, y));
  EXPECT_FALSE(found(OpKind::kAdd, f.Product(f.x, f.half), y));
}

}  // namespace
}  // namespace stoker::codegen
