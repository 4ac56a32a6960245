#include "runtime/cuda/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;

template <typename Outcome>  // A Result or a Status.
std::string MessageOf(const Outcome& outcome) {
  return outcome.ok() ? "" : outcome.error().message;
}

// input -> arena -> output, each plus one.
class QueueTest : public FakeDriverTest {
 protected:
  static constexpr std::int64_t kBlocks = 4;
  static constexpr std::int64_t kBytes = kBlocks * static_cast<std::int64_t>(sizeof(float));

  QueueTest()
      : device_(MakeDevice().value()),
        kernels_{Load(*device_, FakeKernel::kAddOne), Load(*device_, FakeKernel::kFill)},
        in_(device_->Allocate(kBytes).value()),
        out_(device_->Allocate(kBytes).value()) {}

  std::unique_ptr<const stoker::LaunchList> Chain(std::int64_t arena_bytes = 2 * kBytes,
                                                  std::int64_t zero_bytes = 0,
                                                  std::uint64_t user = 1) {
    const std::vector<SizedWork> launches = {
        Launch(0, kBlocks, {Buffer(BufferKind::kInput), Buffer(BufferKind::kArena, kBytes)}),
        Launch(0, kBlocks, {Buffer(BufferKind::kArena, kBytes), Buffer(BufferKind::kOutput)})};
    return device_
        ->Ready(launches, {}, {BufferKind::kArena, arena_bytes, zero_bytes, user}, layout_,
                kernels_)
        .value();
  }

  Status RunOn(Queue& queue, const stoker::LaunchList& list,
               std::vector<double>* seconds = nullptr) {
    std::vector<std::byte*> addresses(layout_.size());
    addresses[layout_.IndexOf(BufferKind::kInput)] = in_.data();
    addresses[layout_.IndexOf(BufferKind::kOutput)] = out_.data();
    return queue.Run(list, addresses, nullptr, seconds);
  }

  float Out(std::size_t i) const { return reinterpret_cast<const float*>(out_.data())[i]; }

  const AddressLayout layout_{1, 1, 0};
  const std::unique_ptr<Device> device_;
  const std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  const DeviceMemory in_;
  const DeviceMemory out_;
};

TEST_F(QueueTest, Run_IsDoneOnceWaitReturns_InOrder) {
  const auto queue = Queue::Create(*device_).value();
  const std::array<float, kBlocks> x = {1, 2, 3, 4};
  ASSERT_TRUE(queue->CopyIn(in_.data(), x.data(), kBytes).ok());
  ASSERT_TRUE(RunOn(*queue, *Chain()).ok());
  std::array<float, kBlocks> y{};
  ASSERT_TRUE(queue->CopyOut(y.data(), out_.data(), kBytes).ok());
  EXPECT_EQ(std::string(Fake().log()), "");
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(std::string(Fake().log()), "copy in 16; launch 4x128; launch 4x128; copy out 16");
  EXPECT_EQ(y, (std::array<float, kBlocks>{3, 4, 5, 6}));
}

TEST_F(QueueTest, Run_KernelThatStands_HasItsMemoryAndABlockForEachSm) {
  FakeModule module;
  module.parameters = 2;
  module.shared_bytes = 100'000;
  module.kernel = static_cast<std::uint64_t>(FakeKernel::kAddOne);
  const std::string cubin = FakeCubin(module);
  const std::vector<std::shared_ptr<const LoadedKernel>> kernels = {
      device_->LoadKernel(Sha256Of(cubin), cubin).value()};
  const std::vector<SizedWork> launches = {
      Launch(0, 9, {Buffer(BufferKind::kInput), Buffer(BufferKind::kOutput)})};
  const auto list =
      device_->Ready(launches, {}, {BufferKind::kArena, 0, 0, 1}, layout_, kernels).value();
  const auto queue = Queue::Create(*device_).value();
  ASSERT_TRUE(RunOn(*queue, *list).ok());
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(std::string(Fake().log()), "launch 4x128");
}

TEST_F(QueueTest, Give_Recording_IsDoneInOrderAndNotBefore) {
  const auto queue = Queue::Create(*device_).value();
  const std::array<float, kBlocks> x = {1, 2, 3, 4};
  ASSERT_TRUE(queue->CopyIn(in_.data(), x.data(), kBytes).ok());
  std::array<std::uint64_t, 2> addresses = {reinterpret_cast<std::uintptr_t>(in_.data()),
                                            reinterpret_cast<std::uintptr_t>(out_.data())};
  std::array<void*, 2> values = {&addresses[0], &addresses[1]};
  const auto recording = device_->Record([&](void* stream) {
    const Context& context = *device_->context();
    return context.Check(
        context.api().launch(static_cast<const Kernel&>(*kernels_[0]).function(), kBlocks, 1, 1,
                             128, 1, 1, 0, static_cast<CuStream>(stream), values.data(), nullptr),
        "launch");
  });
  ASSERT_NE(recording, nullptr);
  ASSERT_TRUE(queue->Give(*recording).ok());
  std::array<float, kBlocks> y{};
  ASSERT_TRUE(queue->CopyOut(y.data(), out_.data(), kBytes).ok());
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(std::string(Fake().log()), "copy in 16; launch 4x128; copy out 16");
  EXPECT_EQ(y, (std::array<float, kBlocks>{2, 3, 4, 5}));
  EXPECT_EQ(device_->Record([](void*) { return Status(Internal("It gave nothing.")); }), nullptr);
}

TEST_F(QueueTest, Run_DimsFollowTheBuffers) {
  const auto queue = Queue::Create(*device_).value();
  const std::vector<SizedWork> launches = {Launch(1, 2, {Buffer(BufferKind::kOutput, 8)}, {7})};
  const auto list =
      device_->Ready(launches, {}, {BufferKind::kArena, 0, 0, 1}, layout_, kernels_).value();
  ASSERT_TRUE(RunOn(*queue, *list).ok());
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(Out(2), 7);
  EXPECT_EQ(Out(3), 7);
}

TEST_F(QueueTest, Run_NoBlocks_IsNotLaunched) {
  const auto queue = Queue::Create(*device_).value();
  const std::vector<SizedWork> launches = {Launch(1, 0, {Buffer(BufferKind::kOutput)}, {7})};
  const auto list =
      device_->Ready(launches, {}, {BufferKind::kArena, 0, 0, 1}, layout_, kernels_).value();
  ASSERT_TRUE(RunOn(*queue, *list).ok());
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(std::string(Fake().log()), "");
}

TEST_F(QueueTest, Run_OnTheCallersStream_LeavesItAlone) {
  CUstream_st* stream = nullptr;
  {
    const auto current = device_->context()->MakeCurrent();
    ASSERT_TRUE(current.ok());
    ASSERT_EQ(device_->context()->api().create_stream(&stream, 0), 0);
  }
  {
    Queue queue(*device_, stream);
    ASSERT_TRUE(RunOn(queue, *Chain()).ok());
  }
  EXPECT_EQ(std::string(Fake().log()), "") << "The queue waited for its stream.";
  const auto current = device_->context()->MakeCurrent();
  ASSERT_TRUE(current.ok());
  EXPECT_EQ(device_->context()->api().wait_stream(stream), 0);
  EXPECT_EQ(std::string(Fake().log()), "launch 4x128; launch 4x128");
  EXPECT_EQ(device_->context()->api().destroy_stream(stream), 0);
}

TEST_F(QueueTest, Arena_IsGivenBackInTheOrderOfTheStream) {
  const auto queue = Queue::Create(*device_).value();
  const int before = Fake().live();
  ASSERT_TRUE(RunOn(*queue, *Chain(64)).ok());
  ASSERT_TRUE(RunOn(*queue, *Chain(128)).ok());
  EXPECT_EQ(Fake().live(), before + 2) << "Its launches have not run.";
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(Fake().live(), before);
}

TEST_F(QueueTest, Arena_Zeros_AreFilledForEachRun) {
  const auto queue = Queue::Create(*device_).value();
  const auto list = Chain(64, 16);
  ASSERT_TRUE(RunOn(*queue, *list).ok());
  ASSERT_TRUE(RunOn(*queue, *list).ok());
  ASSERT_TRUE(queue->Wait().ok());
  const std::string run = "fill 16; launch 4x128; launch 4x128";
  EXPECT_EQ(std::string(Fake().log()), run + "; " + run);
}

TEST_F(QueueTest, Arena_OfAFailedRun_IsGivenBack) {
  const auto queue = Queue::Create(*device_).value();
  const int before = Fake().live();
  Fake().fail("cuLaunchKernel", 1);
  EXPECT_FALSE(RunOn(*queue, *Chain()).ok());
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(Fake().live(), before);
}

// A host framework's allocator.
class CountedMemory final : public CallMemory {
 public:
  explicit CountedMemory(const Device& device) : driver_(device.call_memory()) {}
  Result<CuPointer> Take(std::size_t bytes, CuStream stream) const override {
    log += "take " + std::to_string(bytes) + (stream == nullptr ? " default; " : "; ");
    return driver_->Take(bytes, stream);
  }
  Status GiveBack(CuPointer memory, CuStream stream) const override {
    log += "give back; ";
    return driver_->GiveBack(memory, stream);
  }
  mutable std::string log;

 private:
  const std::shared_ptr<const CallMemory> driver_;
};

TEST_F(QueueTest, Arena_OfTheHostsAllocator_OnTheCallersStream) {
  const auto memory = std::make_shared<const CountedMemory>(*device_);
  device_->SetCallMemory(memory);
  Queue queue(*device_, nullptr);
  ASSERT_TRUE(RunOn(queue, *Chain(64)).ok());
  EXPECT_EQ(memory->log, "take 64 default; give back; ");
  device_->SetCallMemory(nullptr);
  ASSERT_TRUE(RunOn(queue, *Chain(64)).ok());
  EXPECT_EQ(memory->log, "take 64 default; give back; ");
  ASSERT_TRUE(queue.Wait().ok());
}

TEST_F(QueueTest, Arena_NoMemoryPools_Works) {
  Fake().set_memory_pools(0);
  const auto device = MakeDevice().value();
  const auto queue = Queue::Create(*device).value();
  ASSERT_TRUE(RunOn(*queue, *Chain()).ok());
  ASSERT_TRUE(queue->Wait().ok());
}

TEST_F(QueueTest, Arena_NoMemory_NamesTheBytes) {
  const auto queue = Queue::Create(*device_).value();
  Fake().set_memory(64);
  const Status status = RunOn(*queue, *Chain(1000));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(status.error().message,
            "Arena of 1000 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory).");
}

TEST_F(QueueTest, Run_LaunchFails_NamesBlocksAndError) {
  const auto queue = Queue::Create(*device_).value();
  Fake().fail("cuLaunchKernel", 1);
  const Status status = RunOn(*queue, *Chain());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "Launch of 4 blocks of 128 threads: CUDA_ERROR_INVALID_VALUE.");
}

TEST_F(QueueTest, Wait_KernelFailed_SaysSo) {
  const auto queue = Queue::Create(*device_).value();
  ASSERT_TRUE(RunOn(*queue, *Chain()).ok());
  Fake().fail("cuStreamSynchronize", 700);
  const Status status = queue->Wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS.");
}

// Fills 4 bytes at each pause, notes what had been done, and fails at one.
class NotedPauses final : public Pauses {
 public:
  NotedPauses(Queue& queue, std::size_t fails_at) : queue_(queue), fails_at_(fails_at) {}
  Status At(std::size_t pause, std::span<std::byte* const> addresses) override {
    done.push_back(Fake().log());
    EXPECT_NE(addresses[0], nullptr);
    EXPECT_TRUE(queue_.Fill(addresses[0], 1, 4).ok());
    if (pause == fails_at_) return Internal("stop");
    return Ok();
  }

  std::vector<std::string> done;

 private:
  Queue& queue_;
  std::size_t fails_at_;
};

TEST_F(QueueTest, Run_Pauses_WaitForNothing) {
  const auto queue = Queue::Create(*device_).value();
  const std::vector<SizedWork> launches = {Launch(1, 2, {Buffer(BufferKind::kOutput)}, {7}),
                                           Launch(1, 3, {Buffer(BufferKind::kOutput)}, {8})};
  std::vector<PlanMark> marks;
  for (const std::size_t before : std::array<std::size_t, 4>{0, 1, 1, 2}) {
    marks.push_back({before, PlanMark::Kind::kHostCall, marks.size(), {}});
  }
  const auto list =
      device_->Ready(launches, marks, {BufferKind::kArena, 16, 0, 1}, layout_, kernels_).value();
  std::vector<std::byte*> addresses(layout_.size(), out_.data());
  NotedPauses all(*queue, 9);
  ASSERT_TRUE(queue->Run(*list, addresses, &all, nullptr).ok());
  EXPECT_THAT(all.done, testing::ElementsAre("", "", "", ""));
  // What a pause gives to the same stream is in order with the launches.
  ASSERT_TRUE(queue->Wait().ok());
  EXPECT_EQ(std::string(Fake().log()),
            "fill 4; launch 2x128; fill 4; fill 4; launch 3x128; fill 4");
  NotedPauses one(*queue, 1);
  const Status status = queue->Run(*list, addresses, &one, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "stop");
  EXPECT_EQ(one.done.size(), 2U);
}

TEST_F(QueueTest, Run_Seconds_OneALaunch) {
  const auto queue = Queue::Create(*device_).value();
  std::vector<double> seconds;
  ASSERT_TRUE(RunOn(*queue, *Chain(), &seconds).ok());
  EXPECT_EQ(seconds.size(), 2U);
  for (const double took : seconds) EXPECT_GE(took, 0);
}

TEST_F(QueueTest, Threads_EachWithAQueue_DoNotDisturbEachOther) {
  const auto list = Chain();
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto queue = Queue::Create(*device_).value();
      const DeviceMemory in = device_->Allocate(kBytes).value();
      const DeviceMemory out = device_->Allocate(kBytes).value();
      right[t] = true;
      for (int i = 0; i < 50; ++i) {
        const auto x = static_cast<float>(i) + static_cast<float>(t) * 1000;
        const std::array<float, kBlocks> values = {x, x, x, x};
        std::array<float, kBlocks> results{};
        std::vector<std::byte*> addresses(layout_.size());
        addresses[layout_.IndexOf(BufferKind::kInput)] = in.data();
        addresses[layout_.IndexOf(BufferKind::kOutput)] = out.data();
        const bool ok = queue->CopyIn(in.data(), values.data(), kBytes).ok() &&
                        queue->Run(*list, addresses, nullptr, nullptr).ok() &&
                        queue->CopyOut(results.data(), out.data(), kBytes).ok() &&
                        queue->Wait().ok();
        right[t] = right[t] && ok && results[3] == x + 2;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(true));
}

// What goes on would do so in another context.
TEST_F(QueueTest, Context_IsRefused_EveryCallSaysWhatTheDriverSays) {
  const auto queue = Queue::Create(*device_).value();
  const auto list = Chain();
  const auto from = queue->MarkHere().value();
  std::array<float, kBlocks> y{};
  Fake().fail("cuCtxPushCurrent_v2", 700);
  const auto messages = {
      MessageOf(Queue::Create(*device_)),
      MessageOf(device_->Allocate(kBytes)),
      MessageOf(RunOn(*queue, *list)),
      MessageOf(queue->CopyIn(in_.data(), y.data(), kBytes)),
      MessageOf(queue->CopyOut(y.data(), out_.data(), kBytes)),
      MessageOf(queue->Copy(out_.data(), in_.data(), kBytes)),
      MessageOf(queue->Fill(out_.data(), 0, kBytes)),
      MessageOf(queue->MarkHere()),
      MessageOf(queue->SecondsBetween(*from, *from)),
      MessageOf(queue->Wait()),
  };
  Fake().fail("cuCtxPushCurrent_v2", 0);
  for (const std::string& message : messages) {
    EXPECT_EQ(message, "cuCtxPushCurrent: CUDA_ERROR_ILLEGAL_ADDRESS.");
  }
  EXPECT_EQ(std::string(Fake().log()), "");
}

TEST_F(QueueTest, CallersContext_IsRestored) {
  const auto other = MakeDevice(1).value();
  const auto current = other->context()->MakeCurrent();
  ASSERT_TRUE(current.ok());
  CUctx_st* before = nullptr;
  CUctx_st* after = nullptr;
  ASSERT_EQ(other->context()->api().current_context(&before), 0);
  const auto queue = Queue::Create(*device_).value();
  ASSERT_TRUE(RunOn(*queue, *Chain()).ok());
  ASSERT_TRUE(queue->Wait().ok());
  ASSERT_EQ(other->context()->api().current_context(&after), 0);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace stoker::cuda
