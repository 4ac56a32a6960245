// No schedule asks for more registers than there are, whatever the body: what does not fit goes to
// memory and back at each use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
#include "tests/unit/compiler/codegen/random_body.h"

namespace stoker {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_89", "sm_90a", "sm_100a"};
constexpr unsigned kBodies = 60;  // Of one architecture each: STOKER_SEEDS=first:count for others.

TEST(CudaRegistersTest, RandomBodies_NothingSpills) {
  unsigned first = 0;
  unsigned count = kBodies;
  if (const char* seeds = std::getenv("STOKER_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%u:%u", &first, &count), 2) << seeds;
  }
  unsigned refused = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const LoopFunc func = RandomBody(seed).func;
    const Target target =
        Target::Parse(std::string("cuda/") + kArchitectures[seed % std::size(kArchitectures)])
            .value();
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto kernel = ScheduleKernel(func, target);
    if (!kernel.ok()) {
      // Too much for one kernel: its group is cut.
      EXPECT_EQ(kernel.error().code, ErrorCode::kResourceExhausted) << kernel.error().message;
      ++refused;
      continue;
    }
    const auto code = GenerateKernel(*kernel, target);
    if (!code.ok() && code.error().code == ErrorCode::kFailedPrecondition) {
      GTEST_SKIP() << code.error().message;
    }
    ASSERT_TRUE(code.ok()) << code.error().message;
    const CubinResources resources = ResourcesOf(code->elf);
    const auto& schedule = std::get<CudaSchedule>(kernel->schedule);
    EXPECT_LE(resources.registers * schedule.threads * schedule.blocks_per_sm, 65536);
    EXPECT_EQ(resources.stack_bytes, 0) << resources.registers << " registers\n"
                                        << ToString(*kernel);
  }
  std::printf("  %u of %u are too much for one kernel\n", refused, count);
  EXPECT_LE(refused, count / 3);
}

}  // namespace
}  // namespace stoker
