#include "runtime/cpu/kernel.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker::cpu {
namespace {

int OpenFiles() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(Kernel_Load, RunsAndHoldsNoFileOpen) {
  const std::string bytes = KernelBytes("double");
  const int before = OpenFiles();
  const auto kernel = Kernel::Load(Sha256Of(bytes), bytes).value();
  EXPECT_EQ(OpenFiles(), before);
  std::array<float, 3> in = {1, 2, 3};
  std::array<float, 3> out = {0, 0, 0};
  const std::array<void*, 2> buffers = {in.data(), out.data()};
  kernel->function()(buffers.data(), nullptr, 1, 3, nullptr);
  EXPECT_EQ(out, (std::array<float, 3>{0, 4, 6}));
}

TEST(Kernel_Load, FileNumberUsedAgain_LoadsTheOtherKernel) {
  const std::string twice = KernelBytes("double");
  const std::string add = KernelBytes("add");
  const auto first = Kernel::Load(Sha256Of(twice), twice).value();
  // Gets the same file number that `first` was loaded from.
  const auto second = Kernel::Load(Sha256Of(add), add).value();
  EXPECT_NE(first->function(), second->function());
  std::array<float, 1> a = {1};
  std::array<float, 1> b = {10};
  std::array<float, 1> out = {0};
  const std::array<void*, 3> buffers = {a.data(), b.data(), out.data()};
  const std::int64_t n = 1;
  second->function()(buffers.data(), &n, 0, 1, nullptr);
  EXPECT_EQ(out[0], 11);
}

struct Damage {
  std::string name;
  std::string bytes;
  bool digest_of_damaged;  // Else the digest of the whole kernel.
  std::string why;
};

TEST(Kernel_Load, DamagedOrForeign_DataLossNamesTheDigest) {
  const std::string good = KernelBytes("add");
  std::string flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  std::string arm = good;
  arm[18] = static_cast<char>(183);  // e_machine: EM_AARCH64.
  const std::array damages = {
      Damage{"truncated", good.substr(0, good.size() - 1), false, "with digest"},
      Damage{"flipped", flipped, false, "with digest"},
      Damage{"another kernel", KernelBytes("double"), false, "with digest"},
      Damage{"empty", "", true, "is no x86-64 shared object"},
      Damage{"text", "hello", true, "is no x86-64 shared object"},
      Damage{"for another processor", arm, true, "is no x86-64 shared object"},
      Damage{"cut but named so", good.substr(0, 200), true, "cannot be loaded"},
      Damage{"no kernel", KernelBytes("other_symbol"), true, "does not export stoker_kernel_3"},
  };
  for (const Damage& damage : damages) {
    const Digest digest = Sha256Of(damage.digest_of_damaged ? damage.bytes : good);
    const auto kernel = Kernel::Load(digest, damage.bytes);
    ASSERT_FALSE(kernel.ok()) << damage.name;
    EXPECT_EQ(kernel.error().code, ErrorCode::kDataLoss) << damage.name;
    EXPECT_NE(kernel.error().message.find("Kernel " + digest.ToHex()), std::string::npos);
    EXPECT_NE(kernel.error().message.find(damage.why), std::string::npos)
        << damage.name << ": " << kernel.error().message;
  }
}

}  // namespace
}  // namespace stoker::cpu
