// An artifact with a library call, from its bytes to its result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stoker::cuda
