// What CPUID and XCR0 say, apart from what follows from it, so that the rules can be tested with
// processors that are not here.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/base/result.h"

namespace stoker {

// Registers as CPUID returns them; 0 where the leaf does not exist.
struct CpuFacts {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint32_t leaf80000001_ecx = 0;
  std::uint64_t xcr0 = 0;      // 0 without OSXSAVE.
  bool amx_permitted = false;  // RequestAmxPermission() succeeded.
};

// Asks for the AMX permission when the processor has AMX.
CpuFacts ReadCpuFacts();

// Text form of the Target with every feature that both processor and operating system offer.
// FailedPrecondition below x86-64-v3, naming the first missing feature.
Result<std::string> TargetTextOf(const CpuFacts& facts);

}  // namespace stoker
