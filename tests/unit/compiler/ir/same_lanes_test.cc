#include "compiler/ir/same_lanes.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

BodyInstr Index(int dim) {
  BodyInstr instr;
  instr.op = BodyOp::kIndex;
  instr.dtype = DType::kI64;
  instr.dim = dim;
  return instr;
}

BodyInstr Number(std::int64_t number) {
  BodyInstr instr;
  instr.dtype = DType::kI64;
  instr.int_constant = number;
  return instr;
}

BodyInstr Of(OpKind kind, std::uint32_t x, std::uint32_t y) {
  BodyInstr instr;
  instr.op = BodyOp::kPointwise;
  instr.dtype = DType::kI64;
  instr.pointwise = kind;
  instr.args = {x, y};
  return instr;
}

BodyInstr Comparison(CompareDirection direction, std::uint32_t x, std::uint32_t y) {
  BodyInstr instr = Of(OpKind::kCompare, x, y);
  instr.dtype = DType::kBool;
  instr.direction = direction;
  return instr;
}

// Whether what is asked of index 0..31 has one answer in each vector, told from the answers.
bool IsSame(CompareDirection direction, std::int64_t bound, int width, bool is_reversed) {
  for (std::int64_t at = 0; at < 32; ++at) {
    const auto holds = [&](std::int64_t index) {
      const std::int64_t x = is_reversed ? bound : index;
      const std::int64_t y = is_reversed ? index : bound;
      switch (direction) {
        case CompareDirection::kEq:
          return x == y;
        case CompareDirection::kNe:
          return x != y;
        case CompareDirection::kLt:
          return x < y;
        case CompareDirection::kLe:
          return x <= y;
        case CompareDirection::kGt:
          return x > y;
        case CompareDirection::kGe:
          return x >= y;
      }
      return false;
    };
    if (holds(at) != holds(at / width * width)) return false;
  }
  return true;
}

TEST(SameInVectors, Comparisons_AreSame_OnlyWhereTheyAre) {
  for (const CompareDirection direction :
       {CompareDirection::kEq, CompareDirection::kNe, CompareDirection::kLt, CompareDirection::kLe,
        CompareDirection::kGt, CompareDirection::kGe}) {
    for (int width = 2; width <= 8; width *= 2) {
      for (std::int64_t bound = 1; bound < 31; ++bound) {
        for (const bool is_reversed : {false, true}) {
          const std::uint32_t x = is_reversed ? 1 : 0;
          const Body body{{Index(0), Number(bound), Comparison(direction, x, 1 - x)}};
          const bool found = SameInVectors(body, 0, width)[2];
          const bool is_ordered =
              direction != CompareDirection::kEq && direction != CompareDirection::kNe;
          EXPECT_EQ(found, is_ordered && IsSame(direction, bound, width, is_reversed))
              << static_cast<int>(direction) << " " << bound << " of " << width << is_reversed;
          EXPECT_TRUE(SameInVectors(body, 1, width)[2]);  // Along another dim.
        }
      }
    }
  }
}

TEST(SameInVectors, Distances_MoveBounds) {
  const Body body{{Index(0), Number(-64), Of(OpKind::kAdd, 0, 1), Number(0),
                   Comparison(CompareDirection::kGe, 2, 3), Number(60), Of(OpKind::kSubtract, 0, 5),
                   Comparison(CompareDirection::kLt, 6, 3), Of(OpKind::kSubtract, 5, 0),
                   Comparison(CompareDirection::kLt, 8, 3)}};
  const std::vector<bool> same = SameInVectors(body, 0, 8);
  EXPECT_TRUE(same[4]);
  EXPECT_FALSE(same[7]);  // Index 60 is in the middle of a vector.
  EXPECT_FALSE(same[9]);  // The index counts down.
}

TEST(SameInVectors, OfConditions_AreSame_WhereBothAre) {
  const Body body{{Index(0), Number(16), Number(32), Comparison(CompareDirection::kGe, 0, 1),
                   Comparison(CompareDirection::kLt, 0, 2), Of(OpKind::kAnd, 3, 4), Number(33),
                   Comparison(CompareDirection::kLt, 0, 6), Of(OpKind::kAnd, 3, 7)}};
  const std::vector<bool> same = SameInVectors(body, 0, 8);
  EXPECT_TRUE(same[5]);
  EXPECT_FALSE(same[8]);
}

}  // namespace
}  // namespace stoker
