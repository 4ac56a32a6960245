#include "protocol/key/kernel_key.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(KernelKeyOf, Golden) {
  const Target target = Target::Parse("cpu/x86-64-v4+amx_bf16").value();
  EXPECT_EQ(KernelKeyOf("loop i", target, "stoker-1;llvm-22.1.8").ToHex(),
            "880f68f90ed76d9df81d11b28fe0ff2d82cc8f8bee1cdb15a33f62b1cd199a18");
}

TEST(KernelKeyOf, AnyPartDiffers_OtherKey) {
  const Target v4 = Target::Parse("cpu/x86-64-v4").value();
  const Target v3 = Target::Parse("cpu/x86-64-v3").value();
  const Digest base = KernelKeyOf("loop i", v4, "epoch");
  EXPECT_NE(KernelKeyOf("loop j", v4, "epoch"), base);
  EXPECT_NE(KernelKeyOf("loop i", v3, "epoch"), base);
  EXPECT_NE(KernelKeyOf("loop i", v4, "epoch 2"), base);
  EXPECT_EQ(KernelKeyOf("loop i", v4, "epoch"), base);
}

}  // namespace
}  // namespace stoker
