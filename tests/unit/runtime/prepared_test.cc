#include "runtime/prepared.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker {
namespace {

using cpu::AddDoubledWeight;
using cpu::In;
using cpu::PlanBuilder;
using cpu::PreparedAt;

PreparePlan PlanOf(const PlanBuilder& builder) {
  return PreparePlanOf(builder.artifact, SizePrepare(builder.artifact).value());
}

TEST(PreparePlanOf, OtherNumberingOfTheSameWork_SameDigest) {
  const PlanBuilder first = AddDoubledWeight(100);
  // The same weight behind another input, another kernel in front of the same one.
  PlanBuilder second;
  const TensorType type{DType::kF32, Shape{SymDim(100)}};
  second.Input(type, InputRole::kParameter);
  second.Input(type, InputRole::kParameter);
  second.Kernel("count");
  const std::uint32_t twice = second.Kernel("double");
  second.artifact.plan.prepared_bytes = 400;
  second.artifact.plan.prepare = {
      PlanBuilder::Launch(twice, 100, {In(1, 400), PreparedAt(0, 400)})};

  EXPECT_EQ(PlanOf(first).digest, PlanOf(second).digest);
  EXPECT_EQ(PlanOf(first).parameters, std::vector<std::uint32_t>{0});
  EXPECT_EQ(PlanOf(second).parameters, std::vector<std::uint32_t>{1});
}

TEST(PreparePlanOf, OtherWork_OtherDigest) {
  const Digest base = PlanOf(AddDoubledWeight(100)).digest;
  PlanBuilder kernel = AddDoubledWeight(100);
  kernel.artifact.plan.prepare[0].kernel = 1;
  PlanBuilder tasks = AddDoubledWeight(100);
  tasks.artifact.plan.prepare[0].tasks = 99;
  PlanBuilder dims = AddDoubledWeight(100);
  dims.artifact.plan.prepare[0].dims = {SymDim(1)};
  PlanBuilder size = AddDoubledWeight(100);
  size.artifact.plan.prepared_bytes = 464;
  PlanBuilder offset = AddDoubledWeight(100);
  offset.artifact.plan.prepared_bytes = 464;
  offset.artifact.plan.prepare[0].buffers[1].offset = 64;
  EXPECT_NE(PlanOf(kernel).digest, base);
  EXPECT_NE(PlanOf(tasks).digest, base);
  EXPECT_NE(PlanOf(dims).digest, base);
  EXPECT_NE(PlanOf(size).digest, base);
  EXPECT_NE(PlanOf(offset).digest, PlanOf(size).digest);
}

TEST(PreparedKey, DependsOnWhatPrepareReadsOnly) {
  PreparePlan plan;
  plan.parameters = {1};
  int x = 0;
  int y = 0;
  const std::array base = {Parameter{&x, 1}, Parameter{&x, 1}};
  const std::array unread_changed = {Parameter{&y, 2}, Parameter{&x, 1}};
  const std::array other_version = {Parameter{&x, 1}, Parameter{&x, 2}};
  const std::array other_address = {Parameter{&x, 1}, Parameter{&y, 1}};
  EXPECT_EQ(PreparedKey(plan, base), PreparedKey(plan, unread_changed));
  EXPECT_NE(PreparedKey(plan, base), PreparedKey(plan, other_version));
  EXPECT_NE(PreparedKey(plan, base), PreparedKey(plan, other_address));
}

}  // namespace
}  // namespace stoker
