#include "runtime/cuda/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cubin.h"
#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;

using DeviceTest = FakeDriverTest;

TEST_F(DeviceTest, Create_TargetIsTheGpus) {
  EXPECT_EQ(MakeDevice().value()->target().ToString(), "cuda/sm_90a");
}

TEST_F(DeviceTest, Create_OtherOrdinal_NamesHowMany) {
  const auto device = MakeDevice(2);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device.error().message, "There is no GPU 2; this process sees 2.");
}

TEST_F(DeviceTest, Create_NoContext_GivesBackNothing) {
  Fake().fail("cuDevicePrimaryCtxRetain", 2);
  const auto device = MakeDevice();
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(DeviceTest, LoadKernel_OtherBytes_DataLoss) {
  const auto device = MakeDevice().value();
  const std::string cubin = FakeCubin({});
  const auto kernel = device->LoadKernel(Sha256Of("x"), cubin);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(kernel.error().message, HasSubstr("with digest " + Sha256Of(cubin).ToHex()));
}

TEST_F(DeviceTest, LoadKernel_NoCubin_DataLoss) {
  const auto device = MakeDevice().value();
  const auto kernel = device->LoadKernel(Sha256Of("x"), "x");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().message,
            "Kernel " + Sha256Of("x").ToHex() + " cannot be loaded: it is no cubin.");
}

TEST_F(DeviceTest, LoadKernel_CutShort_DataLoss) {
  const auto device = MakeDevice().value();
  const std::string whole = FakeCubin({});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cubin = whole.substr(0, size);
    const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
    ASSERT_FALSE(kernel.ok()) << size;
    EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss);
  }
}

TEST_F(DeviceTest, LoadKernel_NoThreads_SaysWhere) {
  const auto device = MakeDevice().value();
  FakeModule module;
  for (const std::uint32_t threads : {0U, 1025U}) {
    module.threads = threads;
    const std::string cubin = FakeCubin(module);
    const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
    ASSERT_FALSE(kernel.ok());
    EXPECT_THAT(kernel.error().message,
                HasSubstr("it does not say in .nv.info.stoker_cuda_kernel_1 how many threads"));
  }
}

TEST_F(DeviceTest, LoadKernel_HasTheNameOfItsEntry) {
  const auto device = MakeDevice().value();
  for (const char* symbol : {"stoker_add_erf_1", "stoker_cuda_kernel_1", "stoker_x_1"}) {
    const std::string cubin = FakeCubin({}, symbol);
    EXPECT_EQ(EntryOf(cubin).value().symbol, symbol);
    EXPECT_TRUE(device->LoadKernel(Sha256Of(cubin), cubin).ok()) << symbol;
  }
  for (const char* symbol : {"", "add_1", "stoker_add_2", "stoker_add", "Stoker_add_1"}) {
    const std::string cubin = FakeCubin({}, symbol);
    const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
    ASSERT_FALSE(kernel.ok()) << symbol;
    EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss);
    EXPECT_THAT(kernel.error().message, HasSubstr("it has 0 kernels with names like stoker_add_1"));
  }
}

TEST_F(DeviceTest, LoadKernel_MoreThreadsThanRegistersAllow_NamesBoth) {
  const auto device = MakeDevice().value();
  FakeModule module;
  module.threads = 512;
  module.most_threads = 384;
  const std::string cubin = FakeCubin(module);
  const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(kernel.error().message,
              HasSubstr(" has 512 threads a block; this GPU runs 384 of them at most."));
}

TEST_F(DeviceTest, LoadKernel_MoreSharedMemoryThanABlockHas_NamesIt) {
  const auto device = MakeDevice().value();
  FakeModule module;
  module.shared_bytes = FakeModule::kMostSharedBytes + 16;
  const std::string cubin = FakeCubin(module);
  const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(kernel.error().message,
              HasSubstr("cuFuncSetAttribute of 131088 bytes of shared memory a block"));
}

TEST_F(DeviceTest, LoadKernel_DriverDoesNotReadIt_NamesItsVersion) {
  const auto device = MakeDevice().value();
  FakeModule module;
  module.magic = 0;
  const std::string cubin = FakeCubin(module);
  const auto kernel = device->LoadKernel(Sha256Of(cubin), cubin);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(kernel.error().message,
              HasSubstr(" cannot be loaded: cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE. The driver "
                        "is of CUDA 13.0;"));
}

TEST_F(DeviceTest, LoadKernel_NoEntry_UnloadsTheModule) {
  const auto device = MakeDevice().value();
  const int before = Fake().live();
  Fake().fail("cuModuleGetFunction", 500);
  const std::string cubin = FakeCubin({});
  EXPECT_FALSE(device->LoadKernel(Sha256Of(cubin), cubin).ok());
  EXPECT_EQ(Fake().live(), before);
}

TEST_F(DeviceTest, Allocate_TooMuch_NamesTheBytes) {
  const auto device = MakeDevice().value();
  Fake().set_memory(1000);
  const auto memory = device->Allocate(1001);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(memory.error().message,
            "cuMemAlloc of 1001 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory).");
}

TEST_F(DeviceTest, AllocateWith_HoldsTheContentsWhenItReturns) {
  const auto device = MakeDevice().value();
  const DeviceMemory memory = device->AllocateWith("some contents").value();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(memory.data()), 13), "some contents");
  EXPECT_EQ(device->AllocateWith("").value().data(), nullptr);
}

TEST_F(DeviceTest, Memory_LivesAsLongAsItsCopies) {
  const auto device = MakeDevice().value();
  const int before = Fake().live();
  DeviceMemory copy;
  {
    const DeviceMemory memory = device->Allocate(16).value();
    copy = memory;
  }
  EXPECT_EQ(Fake().live(), before + 1);
  copy = {};
  EXPECT_EQ(Fake().live(), before);
}

TEST_F(DeviceTest, TwoGpus_EachInItsOwnContext) {
  const auto first = MakeDevice(0).value();
  const auto second = MakeDevice(1).value();
  const auto of_first = Queue::Create(*first).value();
  const auto of_second = Queue::Create(*second).value();
  const DeviceMemory a = first->Allocate(4).value();
  const DeviceMemory b = second->Allocate(4).value();
  EXPECT_TRUE(of_first->Fill(a.data(), 1, 4).ok());
  EXPECT_TRUE(of_second->Fill(b.data(), 2, 4).ok());
  EXPECT_TRUE(of_first->Wait().ok());
  EXPECT_TRUE(of_second->Wait().ok());
  EXPECT_EQ(static_cast<int>(a.data()[3]), 1);
  EXPECT_EQ(static_cast<int>(b.data()[3]), 2);
}

}  // namespace
}  // namespace stoker::cuda
