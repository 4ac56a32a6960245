// Outputs that come, and inputs that go, while a plan runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>

#include "runtime/executable.h"
#include "runtime/plan_uses.h"
#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kElements = 8;

BufferRef Ref(BufferKind kind, std::uint32_t index) {
  return {kind, index, {}, kElements * static_cast<std::int64_t>(sizeof(float))};
}

class DoesInTurns final : public MemoryTurns {
 public:
  using Step = std::pair<std::int64_t, std::function<Status()>>;
  explicit DoesInTurns(std::vector<Step> turns) {
    for (auto& [step, what] : turns) {
      steps_.push_back(step);
      what_.push_back(std::move(what));
    }
  }
  std::span<const std::int64_t> steps() const override { return steps_; }
  Status At(std::size_t turn) override { return what_[turn](); }

 private:
  std::vector<std::int64_t> steps_;
  std::vector<std::function<Status()>> what_;
};

class MemoryTurnsTest : public FakeDriverTest {
 protected:
  // output 0 = input 0 + 1; output 1 = output 0 + 1; output 2 = input 1 + 1; output 3 is input 1.
  MemoryTurnsTest() {
    FakeModule module;
    module.parameters = 2;
    module.kernel = static_cast<std::uint64_t>(FakeKernel::kAddOne);
    cubin_ = FakeCubin(module);
    artifact_.request_key = Sha256Of("turns");
    artifact_.graph_name = "chain";
    artifact_.target = Target::Parse("cuda/sm_90a").value();
    artifact_.compiler_epoch = "stoker-1;llvm-22.1.8";
    artifact_.kernels = {{Sha256Of("key"), Sha256Of(cubin_), cubin_.size()}};
    const TensorType type{DType::kF32, Shape{SymDim(kElements)}};
    LaunchPlan& plan = artifact_.plan;
    plan.inputs = {type, type};
    plan.input_roles = {InputRole::kActivation, InputRole::kActivation};
    plan.outputs = {{type}, {type}, {type}, {type, 1}};
    const auto add = [](BufferRef from, BufferRef to) {
      stoker::Launch launch;
      launch.tasks = kElements;
      launch.buffers = {std::move(from), std::move(to)};
      return launch;
    };
    plan.steps = {add(Ref(BufferKind::kInput, 0), Ref(BufferKind::kOutput, 0)),
                  add(Ref(BufferKind::kOutput, 0), Ref(BufferKind::kOutput, 1)),
                  add(Ref(BufferKind::kInput, 1), Ref(BufferKind::kOutput, 2))};
  }

  Status Run(MemoryTurns* turns) {
    const auto device = MakeDevice().value();
    const auto executable =
        Executable::Load(*device, EncodeArtifact(artifact_), artifact_.request_key,
                         [&](const Digest&) { return Result<std::string>(cubin_); })
            .value();
    const auto queue = Queue::Create(*device).value();
    std::shared_ptr<const Binding> binding;
    STOKER_RETURN_IF_ERROR(executable->BindParameters({}, *queue, &binding));
    const auto plan = executable->PlanFor({}).value();
    const std::array<const void*, 2> inputs = {x_.data(), x_.data()};
    const Status status = executable->Run(*plan, *binding, {inputs, outputs_, turns}, *queue);
    STOKER_RETURN_IF_ERROR(queue->Wait());
    return status;
  }

  Artifact artifact_;
  std::string cubin_;
  std::array<float, kElements> x_{};
  std::array<std::array<float, kElements>, 3> results_{};
  std::array<void*, 4> outputs_{};
};

TEST_F(MemoryTurnsTest, UsesOf_SaysWhenAPlanComesToWhatACallBrings) {
  const PlanUses uses = UsesOf(artifact_.plan);
  EXPECT_THAT(uses.last_of_inputs, ElementsAre(0, 3));
  EXPECT_THAT(uses.first_of_outputs, ElementsAre(0, 1, 2, -1));
}

TEST_F(MemoryTurnsTest, Run_OutputsThatCome_AreWrittenWhereTheyAreThen) {
  outputs_[0] = results_[0].data();
  DoesInTurns turns({{1,
                      [&] {
                        outputs_[1] = results_[1].data();
                        return Ok();
                      }},
                     {2, [&] {
                        outputs_[2] = results_[2].data();
                        return Ok();
                      }}});
  const Status status = Run(&turns);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(results_[0][3], 1);
  EXPECT_EQ(results_[1][3], 2);
  EXPECT_EQ(results_[2][3], 1);
}

TEST_F(MemoryTurnsTest, Run_OutputWithoutMemory_IsNotWritten) {
  outputs_[0] = results_[0].data();
  DoesInTurns turns({{1, [] { return Ok(); }}});
  const Status status = Run(&turns);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(status.error().message, "Output 1 has no memory when step 1 comes to it.");
  EXPECT_EQ(results_[0][3], 1);  // What came before was given to the stream.
  DoesInTurns none({});
  EXPECT_EQ(Run(&none).error().message, "Output 1 has no memory when step 1 comes to it.");
}

TEST_F(MemoryTurnsTest, Run_TurnThatFails_EndsTheRun) {
  for (auto& output : outputs_) output = results_[0].data();
  DoesInTurns turns({{1, [] { return Internal("stop"); }}});
  EXPECT_EQ(Run(&turns).error().message, "stop");
}

}  // namespace
}  // namespace stoker::cuda
