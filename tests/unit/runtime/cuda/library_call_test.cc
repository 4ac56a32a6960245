// An artifact with a library call, from its bytes to its result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "runtime/executable.h"
#include "tests/unit/protocol/artifact/sample_artifact.h"
#include "tests/unit/runtime/cuda/fake_cublas_lt.h"
#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;

class LibraryCallTest : public FakeDriverTest {
 protected:
  LibraryCallTest() { FakeLt().reset(); }
  ~LibraryCallTest() override { EXPECT_EQ(FakeLt().live(), 0) << "Something is not given back."; }

  static Result<std::unique_ptr<Executable>> Load(Device& device) {
    const Artifact artifact = SampleLibraryArtifact();
    return Executable::Load(device, EncodeArtifact(artifact), artifact.request_key,
                            [](const Digest&) { return Result<std::string>(std::string()); });
  }
};

TEST_F(LibraryCallTest, Load_NoLibrary_FailsWithItsName) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {"/nowhere/libcublasLt.so.13"}).value();
  const auto loaded = Load(*device);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(loaded.error().message, HasSubstr("need cuBLASLt (libcublasLt.so.13)"));
}

// relu(2 * x w + r + b), w by columns: for s0 rows.
TEST_F(LibraryCallTest, Run_SizesOfTheCall_ComputesThem) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
  const auto executable = Load(*device).value();
  const auto queue = Queue::Create(*device).value();
  std::array<float, 256> w;
  std::array<float, 16> b;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i) - 8;
  const std::vector<Parameter> parameters = {{w.data(), 1}, {b.data(), 1}};
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(executable->BindParameters(parameters, *queue, &binding).ok());
  for (const std::int64_t rows : {3, 5, 0, 3}) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 16);
    std::vector<float> r(x.size());
    std::vector<float> y(x.size(), -1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i % 5) - 2;
      r[i] = static_cast<float>(i % 3);
    }
    const std::vector<std::int64_t> sizes = {rows, 16};
    const std::vector<std::int64_t> strides = {16, 1};
    std::vector<InputView> views(4);
    for (InputView& view : views) {
      view.dtype = DType::kF32;
      view.sizes = sizes;
      view.strides = strides;
    }
    const auto plan = executable->PlanFor(views).value();
    const std::array<const void*, 4> inputs = {x.data(), r.data(), nullptr, nullptr};
    const std::array<void*, 1> outputs = {y.data()};
    const Status status = executable->Run(*plan, *binding, {inputs, outputs}, *queue);
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_TRUE(queue->Wait().ok());
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      for (std::size_t column = 0; column < 16; ++column) {
        float sum = 0;
        for (std::size_t k = 0; k < 16; ++k) sum += x[row * 16 + k] * w[column * 16 + k];
        const float want = 2 * sum + r[row * 16 + column] + b[column];
        EXPECT_EQ(y[row * 16 + column], std::max(want, 0.0F));
      }
    }
  }
  EXPECT_EQ(std::string(FakeLt().matmuls()),
            "1x3x16x16 bias relu c; 1x5x16x16 bias relu c; 1x3x16x16 bias relu c");
}

// The same memory for all calls.
class OneBlock final : public CallMemory {
 public:
  Result<CuPointer> Take(std::size_t bytes, CuStream) const override {
    STOKER_CHECK(bytes <= sizeof block_);
    return static_cast<CuPointer>(reinterpret_cast<std::uintptr_t>(block_));
  }
  Status GiveBack(CuPointer, CuStream) const override { return Ok(); }

 private:
  alignas(256) mutable std::byte block_[1 << 16];
};

// What was given in the third run with the same addresses is given from then on, whatever lies
// there; other addresses, and a stream that is captured, are the library's.
TEST_F(LibraryCallTest, Run_TheSameAddresses_AsksTheLibraryNoMore) {
  const auto device = Device::Create(0, STOKER_FAKE_CUDA, {STOKER_FAKE_CUBLAS_LT}).value();
  device->SetCallMemory(std::make_shared<OneBlock>());
  const auto executable = Load(*device).value();
  const auto queue = Queue::Create(*device).value();
  const std::array<float, 256> w = {1};
  const std::array<float, 16> b = {3};
  const std::vector<Parameter> parameters = {{w.data(), 1}, {b.data(), 1}};
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(executable->BindParameters(parameters, *queue, &binding).ok());
  const std::vector<std::int64_t> sizes = {1, 16};
  const std::vector<std::int64_t> strides = {16, 1};
  const std::vector<InputView> views(4, {DType::kF32, sizes, strides});
  const auto plan = executable->PlanFor(views).value();
  std::array<float, 16> x{};
  const std::array<float, 16> r{};
  std::array<std::array<float, 16>, 2> y{};
  const auto run = [&](std::size_t place, float value) {
    x[0] = value;
    const std::array<const void*, 4> inputs = {x.data(), r.data(), nullptr, nullptr};
    const std::array<void*, 1> outputs = {y[place].data()};
    EXPECT_TRUE(executable->Run(*plan, *binding, {inputs, outputs}, *queue).ok());
    EXPECT_TRUE(queue->Wait().ok());
    EXPECT_EQ(y[place][0], 2 * value + 3);
  };
  const auto asked = [&] {
    const std::string all = FakeLt().matmuls();
    return all.empty() ? 0 : 1 + std::ranges::count(all, ';');
  };
  for (int i = 1; i <= 8; ++i) run(0, static_cast<float>(i));
  EXPECT_EQ(asked(), 3);  // The third was recorded.
  run(1, 20);
  EXPECT_EQ(asked(), 4);
  run(0, 21);
  EXPECT_EQ(asked(), 4);
}

}  // namespace
}  // namespace stoker::cuda
