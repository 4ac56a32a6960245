// Kernels for the fake driver: what they compute, and launches of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/queue.h"
#include "tests/unit/runtime/cuda/fake_driver.h"

namespace stoker::cuda {

enum class FakeKernel : std::uint64_t {
  kAddOne,  // to[i] = from[i] + 1 for each of the blocks: (from, to).
  kFill,    // to[i] = value: (to, value).
  kAddTo,   // to[i] += from[i]: (from, to).
};

inline void RunFakeKernel(std::uint64_t kernel, unsigned blocks, const std::uint64_t* parameters) {
  const auto floats = [&](int i) { return reinterpret_cast<float*>(parameters[i]); };
  for (unsigned i = 0; i < blocks; ++i) {
    switch (static_cast<FakeKernel>(kernel)) {
      case FakeKernel::kAddOne:
        floats(1)[i] = floats(0)[i] + 1;
        break;
      case FakeKernel::kFill:
        floats(0)[i] = static_cast<float>(parameters[1]);
        break;
      case FakeKernel::kAddTo:
        floats(1)[i] += floats(0)[i];
        break;
    }
  }
}

// A fresh driver for each test, which ends with nothing left in it.
class FakeDriverTest : public testing::Test {
 protected:
  FakeDriverTest() {
    Fake().reset();
    Fake().set_run(RunFakeKernel);
  }
  ~FakeDriverTest() override { EXPECT_EQ(Fake().live(), 0) << "Something is not given back."; }

  static Result<std::unique_ptr<Device>> MakeDevice(int ordinal = 0) {
    return Device::Create(ordinal, STOKER_FAKE_CUDA);
  }
  static std::shared_ptr<const LoadedKernel> Load(Device& device, FakeKernel kernel) {
    FakeModule module;
    module.threads = 128;
    module.parameters = 2;
    module.kernel = static_cast<std::uint64_t>(kernel);
    const std::string cubin = FakeCubin(module);
    return device.LoadKernel(Sha256Of(cubin), cubin).value();
  }
};

inline SizedBuffer Buffer(BufferKind kind, std::int64_t offset = 0) {
  SizedBuffer buffer;
  buffer.kind = kind;
  buffer.offset = offset;
  return buffer;
}

inline SizedLaunch Launch(std::uint32_t kernel, std::int64_t blocks,
                          std::vector<SizedBuffer> buffers, std::vector<std::int64_t> dims = {}) {
  SizedLaunch launch;
  launch.kernel = kernel;
  launch.tasks = blocks;
  launch.buffers = std::move(buffers);
  launch.dims = std::move(dims);
  return launch;
}

}  // namespace stoker::cuda
