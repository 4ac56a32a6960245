#include "compiler/schedule/program/memory_plan.h"

#include <gtest/gtest.h>

#include "compiler/schedule/program/step_order.h"
#include "tests/unit/compiler/schedule/program/test_programs.h"

namespace stoker {
namespace {

std::string OffsetsOf(const MemoryPlan& plan) {
  std::string text;
  for (const SymDim& offset : plan.offsets) text += offset.ToString() + " ";
  return text + "of " + plan.arena_bytes.ToString();
}

// 0 -> 1 -> 2 beside 0 -> 3 -> 4: storage 1 is free when 3 is written, in the order of the steps.
Program TwoSides(std::int64_t bytes, std::int64_t more) {
  Program program = ProgramOf({more, bytes, more, bytes, more});
  AddLoop(program, {}, {0});
  AddLoop(program, {0}, {1});
  AddLoop(program, {1}, {2});
  AddLoop(program, {0}, {3});
  AddLoop(program, {3}, {4});
  AddLoop(program, {2, 4}, {0});
  return program;
}

TEST(MemoryPlanTest, OneAfterTheOther_SharesAllItCan) {
  EXPECT_EQ(OffsetsOf(PlanMemory(TwoSides(64, 6400), 0)), "0 12928 6464 19392 12928 of 19520");
}

TEST(MemoryPlanTest, SideBySide_SharesWhatIsDone) {
  EXPECT_EQ(OffsetsOf(PlanMemory(TwoSides(64, 6400), 16)), "0 19392 6464 19520 12928 of 19648");
}

TEST(MemoryPlanTest, SideBySide_ThatTakesTooMuch_SharesAllItCan) {
  EXPECT_EQ(OffsetsOf(PlanMemory(TwoSides(6400, 6400), 16)),
            OffsetsOf(PlanMemory(TwoSides(6400, 6400), 0)));
}

// They have others where products run side by side.
TEST(MemoryPlanTest, Workspaces_ShareOnePlace) {
  Program program = ProgramOf({64, 64, 64, 6400, 6400});
  AddLoop(program, {}, {0});
  AddProduct(program, 0, 0, 1, 3);
  AddProduct(program, 0, 0, 2, 4);
  AddLoop(program, {1, 2}, {0});
  const MemoryPlan plan = PlanMemory(program, 16);
  EXPECT_EQ(plan.offsets[3], plan.offsets[4]);
  EXPECT_EQ(OffsetsOf(plan), OffsetsOf(PlanMemory(program, 0)));
}

TEST(MemoryPlanTest, SideBySide_SymbolicSizes_StayAsTheyAre) {
  Program program = TwoSides(64, 6400);
  program.storages[1].bytes = program.storages[3].bytes = SymDim::Symbol(0) * 64;
  EXPECT_EQ(OffsetsOf(PlanMemory(program, 16)), OffsetsOf(PlanMemory(program, 0)));
}

}  // namespace
}  // namespace stoker
