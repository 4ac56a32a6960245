#include "protocol/key/cpu_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stoker {
namespace {

constexpr std::uint64_t kXcr0Avx = 0x7;
constexpr std::uint64_t kXcr0Avx512 = 0xe7;
constexpr std::uint64_t kXcr0Amx = 0x600e7;

// Haswell: exactly x86-64-v3.
CpuFacts Haswell() {
  CpuFacts facts;
  facts.leaf1_ecx = 1U << 12 | 1U << 22 | 1U << 28 | 1U << 29;
  facts.leaf7_ebx = 1U << 3 | 1U << 5 | 1U << 8;
  facts.leaf80000001_ecx = 1U << 5;
  facts.xcr0 = kXcr0Avx;
  return facts;
}

CpuFacts SkylakeServer() {
  CpuFacts facts = Haswell();
  facts.leaf7_ebx |= 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
  facts.xcr0 = kXcr0Avx512;
  return facts;
}

CpuFacts SapphireRapids() {
  CpuFacts facts = SkylakeServer();
  facts.leaf7_ecx |= 1U << 11;
  facts.leaf7_edx |= 1U << 22 | 1U << 23 | 1U << 24 | 1U << 25;
  facts.leaf7_1_eax |= 1U << 4 | 1U << 5;
  facts.xcr0 = kXcr0Amx;
  facts.amx_permitted = true;
  return facts;
}

TEST(TargetTextOf, KnownProcessors) {
  EXPECT_EQ(TargetTextOf(Haswell()).value(), "cpu/x86-64-v3");
  EXPECT_EQ(TargetTextOf(SkylakeServer()).value(), "cpu/x86-64-v4");
  EXPECT_EQ(TargetTextOf(SapphireRapids()).value(),
            "cpu/x86-64-v4+avx_vnni+avx512_bf16+avx512_fp16+avx512_vnni+amx_bf16+amx_int8");
}

TEST(TargetTextOf, AmxWithoutSystemSupport_IsLeftOut) {
  const std::string expected = "cpu/x86-64-v4+avx_vnni+avx512_bf16+avx512_fp16+avx512_vnni";
  CpuFacts no_state = SapphireRapids();
  no_state.xcr0 = kXcr0Avx512;
  EXPECT_EQ(TargetTextOf(no_state).value(), expected);
  CpuFacts no_permission = SapphireRapids();
  no_permission.amx_permitted = false;
  EXPECT_EQ(TargetTextOf(no_permission).value(), expected);
}

TEST(TargetTextOf, Avx512WithoutSystemSupport_IsLevel3) {
  CpuFacts facts = SkylakeServer();
  facts.xcr0 = kXcr0Avx;
  EXPECT_EQ(TargetTextOf(facts).value(), "cpu/x86-64-v3");
}

TEST(TargetTextOf, OneFeatureOfLevel4Missing_IsLevel3WithItsOwnFeatures) {
  for (const int bit : {16, 17, 28, 30, 31}) {
    CpuFacts facts = SapphireRapids();
    facts.leaf7_ebx &= ~(1U << bit);
    EXPECT_EQ(TargetTextOf(facts).value(), "cpu/x86-64-v3+avx_vnni") << bit;
  }
}

TEST(TargetTextOf, BelowLevel3_NamesWhatIsMissing) {
  struct Row {
    std::uint32_t CpuFacts::*reg;
    int bit;
    std::string name;
  };
  const std::vector<Row> table = {
      {&CpuFacts::leaf1_ecx, 12, "fma"}, {&CpuFacts::leaf1_ecx, 22, "movbe"},
      {&CpuFacts::leaf1_ecx, 28, "avx"}, {&CpuFacts::leaf1_ecx, 29, "f16c"},
      {&CpuFacts::leaf7_ebx, 3, "bmi1"}, {&CpuFacts::leaf7_ebx, 5, "avx2"},
      {&CpuFacts::leaf7_ebx, 8, "bmi2"}, {&CpuFacts::leaf80000001_ecx, 5, "lzcnt"},
  };
  for (const Row& row : table) {
    CpuFacts facts = SapphireRapids();
    facts.*row.reg &= ~(1U << row.bit);
    const auto text = TargetTextOf(facts);
    ASSERT_FALSE(text.ok()) << row.name;
    EXPECT_EQ(text.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(text.error().message, "This processor lacks " + row.name + "; x86-64-v3 is needed.");
  }
  CpuFacts no_state = Haswell();
  no_state.xcr0 = 0;
  EXPECT_EQ(TargetTextOf(no_state).error().message,
            "The operating system does not enable avx; x86-64-v3 is needed.");
}

}  // namespace
}  // namespace stoker
