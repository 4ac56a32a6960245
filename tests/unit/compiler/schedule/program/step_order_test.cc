#include "compiler/schedule/program/step_order.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/schedule/program/test_programs.h"

namespace stoker {
namespace {

// "0 1": the steps before `later` that are done when it begins.
std::string DoneBefore(const StepOrder& order, std::size_t later) {
  std::string text;
  for (std::size_t i = 0; i < later; ++i) {
    if (order.IsDone(i, later)) text += (text.empty() ? "" : " ") + std::to_string(i);
  }
  return text;
}

TEST(StepOrderTest, OneAfterTheOther_AllAreDone) {
  Program program = ProgramOf({64, 64});
  AddLoop(program, {}, {0});
  AddLoop(program, {}, {1});
  EXPECT_EQ(DoneBefore(StepOrder(program, 0), 1), "0");
  EXPECT_EQ(DoneBefore(StepOrder(program, 1), 1), "");
}

TEST(StepOrderTest, WhatAStepNeeds_IsDone_ThroughOthersToo) {
  Program program = ProgramOf({64, 64, 64, 64});
  AddLoop(program, {}, {0});
  AddLoop(program, {0}, {1});
  AddLoop(program, {0}, {2});
  AddLoop(program, {2}, {3});
  const StepOrder order(program, 16);
  EXPECT_EQ(DoneBefore(order, 2), "0");
  EXPECT_EQ(DoneBefore(order, 3), "0 2");
}

TEST(StepOrderTest, WhoWrites_ComesAfterReadersAndWriters) {
  Program program = ProgramOf({64, 64, 64});
  AddLoop(program, {}, {0});
  AddLoop(program, {0}, {1});
  AddLoop(program, {}, {2});
  AddLoop(program, {}, {0});
  EXPECT_EQ(DoneBefore(StepOrder(program, 16), 3), "0 1");
}

TEST(StepOrderTest, FarApart_IsDone) {
  Program program = ProgramOf({64, 64, 64, 64});
  for (StorageId id = 0; id < 4; ++id) AddLoop(program, {}, {id});
  EXPECT_EQ(DoneBefore(StepOrder(program, 2), 3), "0");
}

TEST(StepOrderTest, HostCall_IsAfterAll_AndBeforeAll) {
  Program program = ProgramOf({64, 64, 64, 64, 64});
  AddLoop(program, {}, {0});
  AddLoop(program, {}, {1});
  AddHostCall(program, 0, 2);
  AddLoop(program, {}, {3});
  AddLoop(program, {}, {4});
  const StepOrder order(program, 16);
  EXPECT_EQ(DoneBefore(order, 2), "0 1");
  EXPECT_EQ(DoneBefore(order, 4), "0 1 2");
}

TEST(StepOrderTest, MayWrite_IsWhatStepsSay) {
  Program program = ProgramOf({64, 64, 64, 64});
  AddLoop(program, {0}, {1});
  AddHostCall(program, 0, 1);
  AddProduct(program, 0, 1, 2, 3);
  Step& scan = program.steps.emplace_back();
  scan.work = KernelFunc(ScanFunc());
  scan.buffers = {0, 1};
  const auto writes = [&](std::size_t step) {
    std::string text;
    for (std::size_t k = 0; k < program.steps[step].buffers.size(); ++k) {
      text += MayWrite(program.steps[step], k) ? 'w' : 'r';
    }
    return text;
  };
  EXPECT_EQ(writes(0), "rw");
  EXPECT_EQ(writes(1), "rw");
  EXPECT_EQ(writes(2), "rrww");
  EXPECT_EQ(writes(3), "ww") << "Nobody knows better.";
}

TEST(StepOrderTest, MayWrite_OfJoinedLoops_IsThatOfEach) {
  LoopFunc loop;
  loop.operands = {{DType::kF32, false}, {DType::kF32, true}};
  Step step;
  step.buffers = {0, 1, 2, 3};
  step.work = KernelFunc(JoinedFunc{{loop, loop}});
  EXPECT_FALSE(MayWrite(step, 2));
  EXPECT_TRUE(MayWrite(step, 3));
}

}  // namespace
}  // namespace stoker
