#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "runtime/cuda/branches/branches.h"
#include "tests/unit/runtime/cuda/fake_cublas_lt.h"
#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSlot = 64;  // Bytes of a tensor: 16 floats.
constexpr std::int64_t kBlocks = kSlot / static_cast<std::int64_t>(sizeof(float));

constexpr std::int64_t kSlots = 12;  // Of the arena, and of the output.

SizedBuffer Slot(BufferKind kind, std::int64_t slot = 0, std::uint32_t index = 0) {
  return {kind, index, slot * kSlot, kSlot};
}
SizedBuffer Arena(std::int64_t slot) { return Slot(BufferKind::kArena, slot); }
SizedBuffer Output(std::int64_t slot) { return Slot(BufferKind::kOutput, slot); }

// A 4x4 product.
SizedLibraryCall Product(const SizedBuffer& a, const SizedBuffer& b, const SizedBuffer& d) {
  SizedLibraryCall call;
  SizedMatmul& matmul = call.matmul;
  matmul.batch = 1;
  matmul.m = matmul.n = matmul.k = 4;
  matmul.a = {a, 0, 4, 0};
  matmul.b = {b, 0, 4, 0};
  matmul.d = {d, 0, 4, 0};
  matmul.workspace = {BufferKind::kArena, 0, kSlots * kSlot, 1024};
  call.bytes = 30'000'000;
  return call;
}

class BranchedRunTest : public FakeDriverTest {
 protected:
  BranchedRunTest() {
    FakeLt().reset();
    device_ = Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
    kernels_ = {Load(*device_, FakeKernel::kAddOne), Load(*device_, FakeKernel::kAddTo)};
    in_ = device_->Allocate(kSlots * kSlot).value();
    out_ = device_->Allocate(kSlots * kSlot).value();
    const auto current = device_->context()->MakeCurrent();
    EXPECT_EQ(device_->context()->api().create_stream(&stream_, 0), 0);
    ResetMemory();
  }
  ~BranchedRunTest() override {
    const auto current = device_->context()->MakeCurrent();
    EXPECT_EQ(device_->context()->api().destroy_stream(stream_), 0);
  }

  void ResetMemory() {
    for (std::int64_t i = 0; i < kSlots * kBlocks; ++i) {
      reinterpret_cast<float*>(in_.data())[i] = static_cast<float>(i % 7);
      reinterpret_cast<float*>(out_.data())[i] = static_cast<float>(i % 5);
    }
  }

  // from + 1 into `to`; so much work that it is worth a branch.
  static SizedLaunch AddOne(const SizedBuffer& from, const SizedBuffer& to) {
    SizedLaunch launch = Launch(0, kBlocks, {from, to});
    launch.bytes = 30'000'000;
    return launch;
  }
  // `to` + from into `to`.
  static SizedLaunch AddTo(const SizedBuffer& from, const SizedBuffer& to) {
    SizedLaunch launch = AddOne(from, to);
    launch.kernel = 1;
    return launch;
  }
  std::unique_ptr<const stoker::LaunchList> Ready(const std::vector<SizedWork>& launches,
                                                  const std::vector<std::size_t>& pauses = {},
                                                  std::int64_t zero_bytes = 0) {
    std::vector<PlanMark> marks;
    for (const std::size_t before : pauses) {
      marks.push_back({before, PlanMark::Kind::kHostCall, marks.size(), {}});
    }
    const ArenaUse arena{BufferKind::kArena, kSlots * kSlot + 1024, zero_bytes, 1};
    return device_->Ready(launches, marks, arena, layout_, kernels_).value();
  }

  Status Run(const stoker::LaunchList& list, Pauses* pauses = nullptr) {
    std::vector<std::byte*> addresses(layout_.size());
    addresses[layout_.IndexOf(BufferKind::kInput)] = input_ == nullptr ? in_.data() : input_;
    addresses[layout_.IndexOf(BufferKind::kOutput)] = out_.data();
    Queue queue(*device_, stream_);
    return queue.Run(list, addresses, pauses, nullptr);
  }
  std::string Captured(const stoker::LaunchList& list, Pauses* pauses = nullptr) {
    Fake().begin_capture(stream_);
    const Status status = Run(list, pauses);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return Fake().end_capture(stream_);
  }
  std::string Outputs() const {
    return {reinterpret_cast<const char*>(out_.data()), static_cast<std::size_t>(kSlots * kSlot)};
  }
  // After a run that nobody captures.
  std::string Wanted(const stoker::LaunchList& list, Pauses* pauses = nullptr) {
    ResetMemory();
    EXPECT_TRUE(Run(list, pauses).ok());
    Queue queue(*device_, stream_);
    EXPECT_TRUE(queue.Wait().ok());
    return Outputs();
  }

  const AddressLayout layout_{1, 1, 0};
  std::unique_ptr<Device> device_;
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;
  DeviceMemory in_;
  DeviceMemory out_;
  std::byte* input_ = nullptr;  // Null: that of in_.
  CuStream stream_ = nullptr;
};

// input -> 0 -> 1, 2, 3 -> output.
std::vector<SizedWork> Diamond(const auto& one, const auto& to) {
  return {one(Slot(BufferKind::kInput), Arena(0)),
          one(Arena(0), Arena(1)),
          one(Arena(0), Arena(2)),
          one(Arena(0), Arena(3)),
          one(Arena(1), Output(0)),
          to(Arena(2), Output(0)),
          to(Arena(3), Output(0))};
}

TEST_F(BranchedRunTest, Captured_Diamond_HasBranches) {
  const auto list = Ready(Diamond(AddOne, AddTo));
  EXPECT_EQ(Captured(*list),
            "take 2048; launch 16x128 after 0; launch 16x128 after 1; launch 16x128 after 1; "
            "launch 16x128 after 1; launch 16x128 after 2; launch 16x128 after 3 5; "
            "launch 16x128 after 4 6; give back after 7");
  Fake().replay(0);
  const std::string wanted = Wanted(*list);
  for (unsigned seed = 0; seed < 8; ++seed) {
    ResetMemory();
    Captured(*list);
    Fake().replay(seed);
    EXPECT_EQ(Outputs(), wanted) << seed;
  }
}

TEST_F(BranchedRunTest, Captured_Chain_IsGivenAsItIs) {
  const auto list = Ready({AddOne(Slot(BufferKind::kInput), Arena(0)), AddOne(Arena(0), Arena(1)),
                           AddOne(Arena(1), Output(0))});
  Fake().fail("cuStreamUpdateCaptureDependencies", 1);
  EXPECT_EQ(Captured(*list),
            "take 1792; launch 16x128 after 0; launch 16x128 after 1; launch 16x128 after 2; "
            "give back after 3");
  Fake().replay(0);
}

TEST_F(BranchedRunTest, NotCaptured_IsGivenInOrder) {
  Fake().fail("cuStreamUpdateCaptureDependencies", 1);
  const auto list = Ready(Diamond(AddOne, AddTo));
  ASSERT_TRUE(Run(*list).ok());
  Queue queue(*device_, stream_);
  ASSERT_TRUE(queue.Wait().ok());
}

TEST_F(BranchedRunTest, DriverWithoutCaptureInfo_IsGivenInOrder) {
  Fake().fail("cuStreamGetCaptureInfo_v2", 801);
  EXPECT_THAT(Captured(*Ready(Diamond(AddOne, AddTo))), HasSubstr("after 6; give back after 7"));
  Fake().replay(0);
}

TEST_F(BranchedRunTest, Zeros_ComeBeforeAll) {
  EXPECT_THAT(Captured(*Ready(Diamond(AddOne, AddTo), {}, 64)),
              HasSubstr("take 2048; fill 64 after 0; launch 16x128 after 1; launch"));
  Fake().replay(0);
}

// The kernel reads the second output where the first two are written: what nobody knows of when
// the plan is made.
TEST_F(BranchedRunTest, InputThatIsAnOutput_KeepsItsOrder) {
  const std::vector<SizedWork> apart = {AddOne(Slot(BufferKind::kInput), Output(0)),
                                        AddOne(Slot(BufferKind::kInput), Output(1))};
  const auto list = Ready(apart);
  const std::string branched = Captured(*list);
  Fake().replay(0);
  EXPECT_THAT(branched, HasSubstr("give back after 1 2"));
  input_ = out_.data() + kSlot;
  EXPECT_THAT(Captured(*list), HasSubstr("launch 16x128 after 1; give back after 2"));
  Fake().replay(0);
}

TEST_F(BranchedRunTest, Products_HaveWorkspacesOfTheirOwn) {
  const auto list =
      Ready({Product(Slot(BufferKind::kInput), Slot(BufferKind::kInput, 1), Arena(0)),
             Product(Slot(BufferKind::kInput), Slot(BufferKind::kInput, 2), Arena(1)),
             Product(Slot(BufferKind::kInput), Slot(BufferKind::kInput, 3), Arena(2)),
             AddTo(Arena(0), Output(0)), AddTo(Arena(1), Output(0)), AddTo(Arena(2), Output(0))});
  // The arena of 1792 bytes, three workspaces, and what aligns them.
  const std::string graph = Captured(*list);
  Fake().replay(0);
  EXPECT_EQ(FakeLt().workspaces(), 3);
  EXPECT_THAT(graph, HasSubstr("take " + std::to_string(1792 + 3 * 1024 + 256) +
                               "; library after 0; library after 0; library after 0;"));
  const std::string wanted = Wanted(*list);
  for (unsigned seed = 0; seed < 8; ++seed) {
    ResetMemory();
    Captured(*list);
    Fake().replay(seed);
    EXPECT_EQ(Outputs(), wanted) << seed;
  }
}

// Adds the first of the arena's slots to the output, as the host's own kernels would.
class AddingPauses final : public Pauses {
 public:
  AddingPauses(const Device& device, CuStream stream, std::byte* out)
      : device_(device), stream_(stream), out_(out) {}

  Status At(std::size_t pause, std::span<std::byte* const> addresses) override {
    if (pause == lossy_at) Fake().fail("cuStreamGetCaptureInfo_v2", 910);
    if (pause == fails_at) return Internal("stop");
    Queue queue(device_, stream_);
    return queue.Copy(out_, addresses[0], kSlot);
  }

  std::size_t lossy_at = 99;  // From then on the driver does not tell nodes.
  std::size_t fails_at = 99;

 private:
  const Device& device_;
  const CuStream stream_;
  std::byte* const out_;
};

TEST_F(BranchedRunTest, Pause_IsAfterAllBefore_AndBeforeTheRest) {
  AddingPauses pauses(*device_, stream_, out_.data());
  const auto list =
      Ready({AddOne(Slot(BufferKind::kInput), Arena(0)), AddOne(Slot(BufferKind::kInput), Arena(1)),
             AddTo(Arena(0), Output(1)), AddTo(Arena(1), Output(2))},
            {2});
  EXPECT_EQ(Captured(*list, &pauses),
            "take 2048; launch 16x128 after 0; launch 16x128 after 0; copy 64 after 1 2; "
            "launch 16x128 after 3; launch 16x128 after 3; give back after 4 5");
  Fake().replay(0);
}

TEST_F(BranchedRunTest, DriverThatLosesTrack_TheRestIsInOrder) {
  AddingPauses pauses(*device_, stream_, out_.data());
  pauses.lossy_at = 0;
  const auto list =
      Ready({AddOne(Slot(BufferKind::kInput), Arena(0)), AddOne(Slot(BufferKind::kInput), Arena(1)),
             AddTo(Arena(0), Output(1)), AddTo(Arena(1), Output(2))},
            {2});
  EXPECT_EQ(Captured(*list, &pauses),
            "take 2048; launch 16x128 after 0; launch 16x128 after 0; copy 64 after 1 2; "
            "launch 16x128 after 1 2 3; launch 16x128 after 4; give back after 5");
  Fake().replay(0);
}

TEST_F(BranchedRunTest, Fails_WhatHasBeenGivenComesBeforeTheArenaGoes) {
  AddingPauses pauses(*device_, stream_, out_.data());
  pauses.fails_at = 0;
  const auto list =
      Ready({AddOne(Slot(BufferKind::kInput), Arena(0)), AddOne(Slot(BufferKind::kInput), Arena(1)),
             AddOne(Slot(BufferKind::kInput), Arena(2))},
            {3});
  Fake().begin_capture(stream_);
  const Status status = Run(*list, &pauses);
  EXPECT_EQ(Fake().end_capture(stream_),
            std::string("take 2048; launch 16x128 after 0; launch 16x128 after 0; launch 16x128 "
                        "after 0; give back after 1 2 3"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "stop");
  Fake().replay(0);
}

// ---- Random plans -----------------------------------------------------------------------------

class RandomPlan {
 public:
  explicit RandomPlan(unsigned seed) : random_(seed), slots_(3 + Below(9)) {
    // All of the arena is written before anybody reads it.
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      launches.emplace_back(Kernel(0, Slot(BufferKind::kInput, slot), Arena(slot)));
    }
    for (int i = 0; i < 40; ++i) {
      if (Below(14) == 0) pauses.push_back(launches.size());
      Add(Read(), Read(), Written());
    }
  }

  std::vector<SizedWork> launches;
  std::vector<std::size_t> pauses;

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }
  SizedBuffer Read() {
    const auto slot = static_cast<std::int64_t>(Below(slots_));
    const std::size_t kind = Below(5);
    return kind == 0 ? Slot(BufferKind::kInput, slot) : kind == 1 ? Output(slot) : Arena(slot);
  }
  SizedBuffer Written() {
    const auto slot = static_cast<std::int64_t>(Below(slots_));
    return Below(3) == 0 ? Output(slot) : Arena(slot);
  }
  // Of more work or less.
  SizedLaunch Kernel(std::uint32_t kernel, const SizedBuffer& from, const SizedBuffer& to) {
    SizedLaunch launch = Launch(kernel, kBlocks, {from, to});
    launch.bytes = static_cast<std::int64_t>(Below(4)) * 10'000'000;
    return launch;
  }
  void Add(const SizedBuffer& a, const SizedBuffer& b, const SizedBuffer& to) {
    const std::size_t what = Below(4);
    if (what == 0 && to != a && to != b) {  // A product reads nothing of what it overwrites.
      launches.emplace_back(Product(a, b, to));
    } else {
      launches.emplace_back(Kernel(what == 3 ? 1 : 0, a, to));
    }
  }

  std::mt19937 random_;
  std::size_t slots_;
};

TEST_F(BranchedRunTest, RandomPlans_InAnyOrderThatTheGraphAllows_GiveTheSame) {
  for (unsigned seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    const RandomPlan plan(seed);
    AddingPauses pauses(*device_, stream_, out_.data());
    const auto list = Ready(plan.launches, plan.pauses);
    input_ = seed % 3 == 0 ? out_.data() : nullptr;  // Whose memory is the output's.
    const std::string wanted = Wanted(*list, &pauses);
    for (unsigned order = 0; order < 4; ++order) {
      ResetMemory();
      const std::string graph = Captured(*list, &pauses);
      Fake().replay(order);
      ASSERT_EQ(Outputs(), wanted) << "plan " << seed << ", order " << order << "\n" << graph;
    }
  }
}

}  // namespace
}  // namespace stoker::cuda
