// Plans with loops: what a decoder takes, what it refuses, and what a sized plan says of them.
#include "protocol/artifact/loops.h"

#include <gtest/gtest.h>

#include "protocol/artifact/sized_plan.h"
#include "tests/unit/protocol/artifact/sample_artifact.h"

namespace stoker {
namespace {

using Kind = PlanMark::Kind;

// The sample's three steps (a launch, a host call, a launch); the first makes the condition.
Artifact LoopArtifact() {
  Artifact artifact = SampleArtifact();
  LaunchPlan& plan = artifact.plan;
  const SymDim offset = SymDim(128) * SymDim::Symbol(0);
  plan.arena_bytes = offset + 64;
  const BufferRef condition{BufferKind::kArena, 0, offset, 1};
  SampleMatMul(artifact).buffers.push_back(condition);
  plan.loops = {{0, 1, 3, condition}};
  return artifact;
}

TEST(Loops, EncodedAndDecoded_AreTheSame) {
  const std::string bytes = EncodeArtifact(LoopArtifact());
  const auto decoded = DecodeArtifact(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  ASSERT_EQ(decoded->plan.loops.size(), 1U);
  const PlanLoop& loop = decoded->plan.loops[0];
  EXPECT_EQ(loop.begin, 0U);
  EXPECT_EQ(loop.test, 1U);
  EXPECT_EQ(loop.end, 3U);
  EXPECT_EQ(loop.condition, LoopArtifact().plan.loops[0].condition);
  EXPECT_EQ(EncodeArtifact(*decoded), bytes);
}

TEST(Loops, Decoder_RefusesByName) {
  struct Row {
    const char* name;
    void (*apply)(Artifact& a);
    std::string message;
  };
  const Row rows[] = {
      {"EndsBehindTheSteps", [](Artifact& a) { a.plan.loops[0].end = 4; },
       "plan.loops[0]: Field 'loop.end' is 4; there are 3 steps."},
      {"Empty",
       [](Artifact& a) {
         a.plan.loops[0] = {1, 1, 1, a.plan.loops[0].condition};
       },
       "plan.loops[0]: Field 'loop.begin' is 1, not before the end, 1."},
      {"TestsOutside",
       [](Artifact& a) {
         a.plan.loops[0] = {0, 3, 2, a.plan.loops[0].condition};
       },
       "plan.loops[0]: Field 'loop.test' is 3, not from 0 to 2."},
      {"TestsBefore",
       [](Artifact& a) {
         a.plan.loops[0] = {1, 0, 2, a.plan.loops[0].condition};
       },
       "plan.loops[0]: Field 'loop.test' is 0, not from 1 to 2."},
      {"Overlaps",
       [](Artifact& a) {
         a.plan.loops = {{0, 1, 2, a.plan.loops[0].condition},
                         {1, 1, 3, a.plan.loops[0].condition}};
       },
       "plan.loops[1]: Field 'loop.end' lies beyond a part of the loop around it."},
      {"LiesOverTheTest",
       [](Artifact& a) {
         a.plan.loops.push_back({0, 1, 2, a.plan.loops[0].condition});
       },
       "plan.loops[1]: Field 'loop.end' lies beyond a part of the loop around it."},
      {"OutOfOrder",
       [](Artifact& a) {
         a.plan.loops.insert(a.plan.loops.begin(), {1, 1, 2, a.plan.loops[0].condition});
       },
       "plan.loops[1]: Field 'loop.begin' is out of order."},
      {"TooDeep",
       [](Artifact& a) {
         a.plan.loops.assign(kMaxLoopDepth + 1, {1, 1, 3, a.plan.loops[0].condition});
       },
       "plan.loops[8]: Field 'loop.begin' is in more than 8 loops."},
      {"ConditionOfSeveralBytes", [](Artifact& a) { a.plan.loops[0].condition.size = 4; },
       "plan.loops[0]: Field 'loop.condition' has 4 bytes, not 1."},
      {"ConditionThatNobodyMakes", [](Artifact& a) { a.plan.loops[0].condition.offset = 0; },
       "plan.loops[0]: Field 'loop.condition' is in memory that no step before the test names."},
      {"ConditionThatIsMadeLater", [](Artifact& a) { a.plan.loops[0].test = 0; },
       "plan.loops[0]: Field 'loop.condition' is in memory that no step before the test names."},
      {"ConditionOfAnotherInput",
       [](Artifact& a) {
         a.plan.loops[0].condition = {BufferKind::kInput, 9, {}, 1};
       },
       "plan.loops[0]: Field 'buffer.index' is 9; there are 2."},
      {"ConditionInAnotherArena",
       [](Artifact& a) { a.plan.loops[0].condition.kind = BufferKind::kPrepareArena; },
       "plan.loops[0]: Field 'buffer.kind' names the arena of prepare in plan.steps."},
      {"ConditionOfAnUnknownSize",
       [](Artifact& a) { a.plan.loops[0].condition.offset = SymDim::Symbol(7); },
       "plan.loops[0]: Field 'buffer.offset' is s7; no guard binds s7 before."},
      {"OnAGpu",
       [](Artifact& a) {
         a.target = Target::Parse("cuda/sm_90a").value();
         for (PlanStep& step : a.plan.steps) {
           if (auto* launch = std::get_if<Launch>(&step)) {
             launch->min_tasks_per_chunk = 1;
             launch->min_tasks_per_call = 1;
             launch->scratch_bytes = 0;
           }
         }
       },
       "Field 'plan.loops' is for a CPU; the target is cuda/sm_90a."},
      // In the first trip the host is called before the output is written, in the second after.
      {"CallsTheHostWhenAnInputIsOverwritten",
       [](Artifact& a) { a.plan.outputs[0].updates_input = 0; },
       "plan.steps[0]: Field 'plan.outputs.updates_input' names an input that is read when it is "
       "overwritten."},
  };
  for (const Row& row : rows) {
    Artifact artifact = LoopArtifact();
    row.apply(artifact);
    const auto decoded = DecodeArtifact(EncodeArtifact(artifact));
    ASSERT_FALSE(decoded.ok()) << row.name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument) << row.name;
    EXPECT_EQ(decoded.error().message, row.message) << row.name;
  }
}

// As many as fit into what a daemon serves: nothing looks at each loop for each step.
TEST(Loops, Decoder_TakesManyOfManySteps) {
  constexpr std::uint32_t kCount = 100'000;
  Artifact artifact = LoopArtifact();
  LaunchPlan& plan = artifact.plan;
  const PlanLoop loop = plan.loops[0];
  const Launch launch = SampleMatMul(artifact);
  plan.steps.assign(kCount, launch);
  plan.loops.clear();
  for (std::uint32_t i = 0; i + 1 < kCount; ++i) {
    plan.loops.push_back({i, i + 1, i + 1, loop.condition});
  }
  EXPECT_TRUE(DecodeArtifact(EncodeArtifact(artifact)).ok());
}

TEST(Loops, WithoutTheLoop_TheUpdateIsTaken) {
  Artifact artifact = LoopArtifact();
  artifact.plan.outputs[0].updates_input = 0;
  artifact.plan.loops.clear();
  EXPECT_TRUE(DecodeArtifact(EncodeArtifact(artifact)).ok());
}

TEST(Loops, SizedPlan_MarksWhereItGoesOn) {
  const SizedPlan sized = SizePlan(LoopArtifact(), {{0, 10}}).value();
  const SizedBuffer condition{BufferKind::kArena, 0, 1280, 1};
  EXPECT_EQ(sized.marks, (std::vector<PlanMark>{{0, Kind::kBegin, 0, {}},
                                                {1, Kind::kTest, 3, condition},
                                                {1, Kind::kHostCall, 0, {}},
                                                {2, Kind::kRepeat, 0, {}}}));
}

TEST(Loops, SizedPlan_OfLoopsInBothPartsOfAnother) {
  Artifact artifact = LoopArtifact();
  const BufferRef condition = artifact.plan.loops[0].condition;
  artifact.plan.loops = {{0, 1, 3, condition}, {0, 1, 1, condition}, {1, 1, 3, condition}};
  ASSERT_TRUE(DecodeArtifact(EncodeArtifact(artifact)).ok());
  const SizedPlan sized = SizePlan(artifact, {{0, 10}}).value();
  std::vector<std::pair<Kind, std::size_t>> marks;
  for (const PlanMark& mark : sized.marks) marks.emplace_back(mark.kind, mark.number);
  EXPECT_EQ(marks, (std::vector<std::pair<Kind, std::size_t>>{{Kind::kBegin, 0},
                                                              {Kind::kBegin, 0},
                                                              {Kind::kTest, 3},
                                                              {Kind::kRepeat, 1},
                                                              {Kind::kTest, 9},
                                                              {Kind::kBegin, 0},
                                                              {Kind::kTest, 8},
                                                              {Kind::kHostCall, 0},
                                                              {Kind::kRepeat, 5},
                                                              {Kind::kRepeat, 0}}));
}

}  // namespace
}  // namespace stoker
