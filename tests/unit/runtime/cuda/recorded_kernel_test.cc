#include "runtime/cuda/recorded_kernel.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

// One float, to which kernels add one.
class RecordedKernelTest : public FakeDriverTest {
 protected:
  RecordedKernelTest()
      : device_(MakeDevice().value()),
        kernel_(Load(*device_, FakeKernel::kAddOne)),
        memory_(device_->Allocate(8).value()),
        current_(device_->context()->MakeCurrent().value()) {
    parameters_ = {reinterpret_cast<std::uintptr_t>(memory_.data()),
                   reinterpret_cast<std::uintptr_t>(memory_.data())};
    *Value() = 0;
  }

  float* Value() { return reinterpret_cast<float*>(memory_.data()); }
  Status LaunchOn(CuStream stream) {
    std::array<void*, 2> values = {&parameters_[0], &parameters_[1]};
    const auto& api = device_->context()->api();
    return device_->context()->Check(api.launch(static_cast<const Kernel&>(*kernel_).function(), 1,
                                                1, 1, 128, 1, 1, 0, stream, values.data(), nullptr),
                                     "launch");
  }
  std::shared_ptr<const RecordedKernel> Recorded(const RecordedKernel::GiveFn& give) {
    return device_->recorder().Record(give);
  }
  std::shared_ptr<const RecordedKernel> RecordedLaunch() {
    return Recorded([&](CuStream stream) { return LaunchOn(stream); });
  }

  const std::unique_ptr<Device> device_;
  const std::shared_ptr<const LoadedKernel> kernel_;
  const DeviceMemory memory_;
  const Context::Current current_;
  std::array<std::uint64_t, 2> parameters_{};
};

TEST_F(RecordedKernelTest, GiveTo_OneKernel_IsGivenAgainWithItsParameters) {
  const auto recorded = RecordedLaunch();
  ASSERT_NE(recorded, nullptr);
  EXPECT_EQ(*Value(), 0);  // Nothing is done as it is recorded.
  parameters_ = {0, 0};    // It has them.
  CUstream_st* stream = nullptr;
  ASSERT_EQ(device_->context()->api().create_stream(&stream, 0), 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(recorded->GiveTo(stream).ok());
  ASSERT_EQ(device_->context()->api().wait_stream(stream), 0);
  EXPECT_EQ(*Value(), 3);
  Fake().fail("cuLaunchKernelEx", 719);
  EXPECT_FALSE(recorded->GiveTo(stream).ok());
  EXPECT_EQ(device_->context()->api().destroy_stream(stream), 0);
}

TEST_F(RecordedKernelTest, Record_AnythingButOneKernel_IsNull) {
  EXPECT_EQ(Recorded([](CuStream) { return Ok(); }), nullptr);
  EXPECT_EQ(Recorded([&](CuStream stream) {
              const Status first = LaunchOn(stream);
              return first.ok() ? LaunchOn(stream) : first;
            }),
            nullptr);
  EXPECT_EQ(Recorded([&](CuStream stream) {
              return device_->context()->Check(
                  device_->context()->api().fill(parameters_[0], 0, 4, stream), "fill");
            }),
            nullptr);
  EXPECT_EQ(Recorded([&](CuStream stream) {
              EXPECT_TRUE(LaunchOn(stream).ok());
              return Status(Internal("It has failed."));
            }),
            nullptr);
  EXPECT_EQ(*Value(), 0);
}

// Clusters go along, priorities are the stream's; what starts early is another kernel's business.
TEST_F(RecordedKernelTest, Record_AttributesOfTheLaunch_AreTakenAlongOrRefused) {
  for (const auto& [attribute, is_taken] : {std::pair{2, true},
                                            {4, true},
                                            {5, true},
                                            {14, true},
                                            {8, true},
                                            {9, true},
                                            {6, false},
                                            {7, false},
                                            {16, false}}) {
    Fake().set_attribute(attribute);
    EXPECT_EQ(RecordedLaunch() != nullptr, is_taken) << attribute;
  }
}

TEST_F(RecordedKernelTest, Record_DriverThatRefuses_IsNull) {
  for (const char* symbol :
       {"cuStreamCreate", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphGetNodes",
        "cuGraphNodeGetType", "cuGraphKernelNodeGetParams_v2"}) {
    Fake().fail(symbol, 1);
    EXPECT_EQ(RecordedLaunch(), nullptr) << symbol;
    Fake().fail(symbol, 0);
  }
}

TEST_F(RecordedKernelTest, At_TheThirdRunAtSomeAddresses_Records) {
  RecordedCall call;
  int asked = 0;
  const auto record = [&]() -> std::optional<std::shared_ptr<const RecordedKernel>> {
    if (++asked == 1) return std::nullopt;  // Not now.
    return RecordedLaunch();
  };
  std::array<std::byte, 8> places;
  const RecordedCall::Addresses here = {&places[0]};
  EXPECT_EQ(call.At(here, record), nullptr);
  EXPECT_EQ(call.At(here, record), nullptr);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(call.At(here, record), nullptr);
  const auto kernel = call.At(here, record);
  EXPECT_NE(kernel, nullptr);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(call.At(here, record), kernel);
  EXPECT_EQ(call.At({&places[1]}, record), nullptr);
  for (std::size_t i = 2; i < 6; ++i) call.At({&places[i]}, record);  // More than are kept.
  EXPECT_EQ(call.At(here, record), nullptr);
  EXPECT_EQ(asked, 2);
}

TEST_F(RecordedKernelTest, At_WhatIsNoKernel_IsAskedForOnce) {
  RecordedCall call;
  int asked = 0;
  const auto record = [&]() -> std::optional<std::shared_ptr<const RecordedKernel>> {
    ++asked;
    return nullptr;
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(call.At({memory_.data()}, record), nullptr);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace stoker::cuda
