#include "protocol/key/cpu_facts.h"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "protocol/key/amx_permission.h"

namespace stoker {
namespace {

struct Requirement {
  std::string_view name;
  std::uint32_t CpuFacts::*reg;
  int bit;
};

// Intel SDM volume 2, CPUID; the levels of the x86-64 psABI.
constexpr std::array kLevel3 = {
    Requirement{"fma", &CpuFacts::leaf1_ecx, 12},
    Requirement{"movbe", &CpuFacts::leaf1_ecx, 22},
    Requirement{"avx", &CpuFacts::leaf1_ecx, 28},
    Requirement{"f16c", &CpuFacts::leaf1_ecx, 29},
    Requirement{"bmi1", &CpuFacts::leaf7_ebx, 3},
    Requirement{"avx2", &CpuFacts::leaf7_ebx, 5},
    Requirement{"bmi2", &CpuFacts::leaf7_ebx, 8},
    Requirement{"lzcnt", &CpuFacts::leaf80000001_ecx, 5},
};
constexpr std::array kLevel4 = {
    Requirement{"avx512f", &CpuFacts::leaf7_ebx, 16},
    Requirement{"avx512dq", &CpuFacts::leaf7_ebx, 17},
    Requirement{"avx512cd", &CpuFacts::leaf7_ebx, 28},
    Requirement{"avx512bw", &CpuFacts::leaf7_ebx, 30},
    Requirement{"avx512vl", &CpuFacts::leaf7_ebx, 31},
};
constexpr std::array kBeyondLevel4 = {
    Requirement{"avx512_bf16", &CpuFacts::leaf7_1_eax, 5},
    Requirement{"avx512_fp16", &CpuFacts::leaf7_edx, 23},
    Requirement{"avx512_vnni", &CpuFacts::leaf7_ecx, 11},
};
constexpr Requirement kAvxVnni{"avx_vnni", &CpuFacts::leaf7_1_eax, 4};
constexpr Requirement kAmxBf16{"amx_bf16", &CpuFacts::leaf7_edx, 22};
constexpr Requirement kAmxInt8{"amx_int8", &CpuFacts::leaf7_edx, 25};
constexpr Requirement kAmxTile{"amx_tile", &CpuFacts::leaf7_edx, 24};

constexpr std::uint32_t kOsxsave = 1U << 27;     // Leaf 1, ecx.
constexpr std::uint64_t kXcr0Avx = 0x6;          // SSE and AVX state.
constexpr std::uint64_t kXcr0Avx512 = 0xe6;      // And opmask, both halves of ZMM.
constexpr std::uint64_t kXcr0AmxTile = 0x60000;  // Tile configuration and data.

bool Has(const CpuFacts& facts, const Requirement& requirement) {
  return ((facts.*requirement.reg >> requirement.bit) & 1U) != 0;
}

bool Enabled(const CpuFacts& facts, std::uint64_t state) { return (facts.xcr0 & state) == state; }

std::uint64_t ReadXcr0() {
  std::uint32_t eax = 0;
  std::uint32_t edx = 0;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (static_cast<std::uint64_t>(edx) << 32) | eax;
}

}  // namespace

CpuFacts ReadCpuFacts() {
  CpuFacts facts;
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) facts.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    facts.leaf7_ebx = ebx;
    facts.leaf7_ecx = ecx;
    facts.leaf7_edx = edx;
    // eax of subleaf 0 is the highest subleaf.
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) facts.leaf7_1_eax = eax;
  }
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0) facts.leaf80000001_ecx = ecx;
  if ((facts.leaf1_ecx & kOsxsave) != 0) facts.xcr0 = ReadXcr0();
  facts.amx_permitted = Has(facts, kAmxTile) && RequestAmxPermission().ok();
  return facts;
}

Result<std::string> TargetTextOf(const CpuFacts& facts) {
  for (const Requirement& requirement : kLevel3) {
    if (!Has(facts, requirement)) {
      return FailedPrecondition("This processor lacks " + std::string(requirement.name) +
                                "; x86-64-v3 is needed.");
    }
  }
  if (!Enabled(facts, kXcr0Avx)) {
    return FailedPrecondition("The operating system does not enable avx; x86-64-v3 is needed.");
  }
  const bool level4 = Enabled(facts, kXcr0Avx512) &&
                      std::ranges::all_of(kLevel4, [&](const auto& r) { return Has(facts, r); });
  std::string text = level4 ? "cpu/x86-64-v4" : "cpu/x86-64-v3";
  const auto add = [&](const Requirement& requirement) {
    if (Has(facts, requirement)) text += "+" + std::string(requirement.name);
  };
  add(kAvxVnni);
  if (!level4) return text;
  for (const Requirement& requirement : kBeyondLevel4) add(requirement);
  if (Has(facts, kAmxTile) && Enabled(facts, kXcr0AmxTile) && facts.amx_permitted) {
    add(kAmxBf16);
    add(kAmxInt8);
  }
  return text;
}

}  // namespace stoker
