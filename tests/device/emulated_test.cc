// The program's own graphs, small, through the compiler and runtime/cuda without a GPU: a fake
// driver runs launches thread by thread on this processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
#include "protocol/artifact/cuda_kernel_abi.h"
#include "runtime/cuda/cubin.h"
#include "tests/device/branch_timings.h"
#include "tests/device/checks.h"
#include "tests/device/timings.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"
#include "tests/unit/runtime/cuda/fake_cublas_lt.h"
#include "tests/unit/runtime/cuda/fake_driver.h"

namespace stoker::device_test {
namespace {

std::size_t OperandsOf(const LoopFunc& func) { return func.operands.size(); }
std::size_t OperandsOf(const JoinedFunc& func) { return NumOperands(func); }
std::size_t OperandsOf(const AttentionFunc& func) { return NumOperands(func); }
std::size_t OperandsOf(const ScanFunc& func) { return NumOperands(func); }
std::size_t OperandsOf(const SortFunc& func) { return NumOperands(func); }
std::size_t OperandsOf(const ScatterFunc& func) { return NumOperands(func); }
template <typename Func>
std::size_t OperandsOf(const Func&) {
  STOKER_CHECK(false);  // It has no kernel.
}

// Kernels by what the fake driver calls them.
class EmulatedKernels {
 public:
  Result<std::string> Assemble(const ScheduledKernel& scheduled, const Target& target) {
    STOKER_RETURN_IF_ERROR(CheckCubin(scheduled, target));
    STOKER_TRY(std::unique_ptr<EmulatedKernel> kernel, EmulatedKernel::Make(scheduled, target));
    const auto& schedule = std::get<CudaSchedule>(scheduled.schedule);
    const std::size_t operands =
        std::visit([](const auto& f) { return OperandsOf(f); }, scheduled.func);
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = kernels_.size();
    kernels_[number] = std::move(kernel);
    cuda::FakeModule module;
    module.threads = static_cast<std::uint32_t>(schedule.threads);
    module.parameters = static_cast<std::uint32_t>(operands + schedule.dims.size());
    module.kernel = number;
    return cuda::FakeCubin(module);
  }

  int cubins() const { return cubins_; }

  void Run(std::uint64_t number, unsigned blocks, const std::uint64_t* parameters) {
    const EmulatedKernel* kernel = nullptr;
    {
      const std::lock_guard lock(mutex_);
      kernel = kernels_.at(number).get();
    }
    kernel->RunBlocks(blocks, parameters);
  }

 private:
  // That the assembler takes the kernel, too, and finds registers for it. Ok without an assembler.
  Status CheckCubin(const ScheduledKernel& scheduled, const Target& target) {
    const auto code = GenerateKernel(scheduled, target);
    if (!code.ok()) {
      return code.error().code == ErrorCode::kFailedPrecondition ? Ok() : Status(code.error());
    }
    ++cubins_;
    const CubinResources resources = ResourcesOf(code->elf);
    const auto& schedule = std::get<CudaSchedule>(scheduled.schedule);
    const auto entry = cuda::EntryOf(code->elf);
    if (!entry.ok() || static_cast<int>(entry->threads) != schedule.threads) {
      return Internal("The cubin does not say that a block has " +
                      std::to_string(schedule.threads) + " threads.");
    }
    if (resources.stack_bytes == 0 && resources.registers > 0 &&
        resources.registers * schedule.threads * schedule.blocks_per_sm <= 65536) {
      return Ok();
    }
    return Internal(std::to_string(resources.registers) + " registers and " +
                    std::to_string(resources.stack_bytes) + " bytes of stack for\n" +
                    ToString(scheduled));
  }

  std::atomic<int> cubins_{0};
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<EmulatedKernel>> kernels_;
};

EmulatedKernels& Kernels() {
  static EmulatedKernels kernels;
  return kernels;
}

class EmulatedTest : public testing::Test {
 protected:
  EmulatedTest() {
    cuda::Fake().reset();
    cuda::FakeLt().reset();
    cuda::Fake().set_run(
        [](std::uint64_t kernel, unsigned blocks, const std::uint64_t* parameters) {
          Kernels().Run(kernel, blocks, parameters);
        });
  }

  const AssembleFn assemble_ = [](const ScheduledKernel& kernel, const Target& target) {
    return Kernels().Assemble(kernel, target);
  };
};

TEST_F(EmulatedTest, Checks_SmallShapes_AgreeWithTheInterpreter) {
  {
    const auto device = cuda::Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    const CheckCounts counts = RunChecks(
        *device, assemble_, {.scale = 0, .threads = 2, .limit = std::chrono::minutes(10)});
    for (const std::string& failure : counts.failures) ADD_FAILURE() << failure;
    std::printf("  %d passed, %d failed, %d without a kernel yet; %d cubins\n", counts.passed,
                counts.failed, counts.without_kernel(), Kernels().cubins());
    for (const auto& [what, count] : counts.refused) std::printf("  %d: %s\n", count, what.c_str());
    EXPECT_GT(counts.passed, 400);
    EXPECT_EQ(counts.not_run, 0);
  }
  EXPECT_EQ(cuda::Fake().live(), 0);
  EXPECT_EQ(cuda::FakeLt().live(), 0);
}

// A step back through two layers: gradients of weights beside the chain, and results that lie where
// others have been.
constexpr char kStepBack[] = R"(
graph @back(%x: f32[8,16], %w1: f32[16,16], %w2: f32[16,16], %g: f32[8,16]) {
  %h = dot_general(%x, %w1) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,16]
  %r = tanh(%h) : f32[8,16]
  %dw2 = dot_general(%r, %g) {lhs_batch=[], lhs_contract=[0], rhs_batch=[], rhs_contract=[0]} : f32[16,16]
  %dr = dot_general(%g, %w2) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[1]} : f32[8,16]
  %m = multiply(%dr, %r) : f32[8,16]
  %dw1 = dot_general(%x, %m) {lhs_batch=[], lhs_contract=[0], rhs_batch=[], rhs_contract=[0]} : f32[16,16]
  %dx = dot_general(%m, %w1) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[1]} : f32[8,16]
  %back = tanh(%dx) : f32[8,16]
  %dw0 = dot_general(%x, %back) {lhs_batch=[], lhs_contract=[0], rhs_batch=[], rhs_contract=[0]} : f32[16,16]
  %last = dot_general(%back, %w2) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[1]} : f32[8,16]
  %db = reduce(%m) {dims=[0], kind="add"} : f32[16]
  return %dw2, %dw1, %dw0, %last, %db
}
)";

std::string BytesOf(const std::vector<InterpreterTensor>& tensors) {
  std::string bytes;
  for (const InterpreterTensor& tensor : tensors) bytes += tensor.ToBytes();
  return bytes;
}

TEST_F(EmulatedTest, CapturedGraph_InAnyOrderThatItAllows_GivesTheSame) {
  {
    const auto device = cuda::Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    const Graph graph = ParseGraph(kStepBack).value();
    const auto program = GpuProgram::Make(graph, *device, assemble_).value();
    const auto current = device->context()->MakeCurrent();
    CUstream_st* stream = nullptr;
    ASSERT_EQ(device->context()->api().create_stream(&stream, 0), 0);
    cuda::Queue queue(*device, stream);
    ASSERT_TRUE(program->Place(queue, 0).ok());
    ASSERT_TRUE(program->SetNoise(queue, 1).ok());
    ASSERT_TRUE(program->Run(queue).ok());
    const std::string wanted = BytesOf(program->Outputs(queue).value());
    for (unsigned order = 0; order < 8; ++order) {
      ASSERT_TRUE(program->Place(queue, 0).ok());
      ASSERT_TRUE(program->SetNoise(queue, 1).ok());
      cuda::Fake().begin_capture(stream);
      ASSERT_TRUE(program->Run(queue).ok());
      const std::string text = cuda::Fake().end_capture(stream);
      EXPECT_THAT(text, testing::ContainsRegex("give back after [0-9]+ [0-9]+ [0-9]+"));
      cuda::Fake().replay(order);
      EXPECT_EQ(BytesOf(program->Outputs(queue).value()), wanted) << text;
    }
    EXPECT_EQ(device->context()->api().destroy_stream(stream), 0);
  }
  EXPECT_EQ(cuda::Fake().live(), 0);
  EXPECT_EQ(cuda::FakeLt().live(), 0);
}

TEST_F(EmulatedTest, BranchTimings_OneRow_IsPrinted_AndGivesTheSame) {
  {
    const auto device = cuda::Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    EXPECT_EQ(PrintBranchTimings(*device, assemble_, 0, STOKER_FAKE_CUDA), 0);
  }
  EXPECT_EQ(cuda::Fake().live(), 0);
  EXPECT_EQ(cuda::FakeLt().live(), 0);
}

TEST_F(EmulatedTest, Timings_OneRow_IsPrinted) {
  {
    const auto device = cuda::Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    EXPECT_EQ(PrintTimings(*device, assemble_, 0), 0);
  }
  EXPECT_EQ(cuda::Fake().live(), 0);
  EXPECT_EQ(cuda::FakeLt().live(), 0);
}

}  // namespace
}  // namespace stoker::device_test
