// Runs kernels on the GPU of this host: beside the interpreter, then a table of times, then its own
// count. Exits with 77, after one line, where there is no GPU, no driver or no assembler.
//
//   cuda_kernels                 all of it
//   cuda_kernels branches        what branches of graphs take
//   cuda_kernels checks [NAME]   the small ones of the checks that have NAME in their names, on one
//                                thread: for compute-sanitizer
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "compiler/codegen/nvptx/nv_jit_link.h"
#include "compiler/codegen/nvptx/nvptx_kernel.h"
#include "tests/device/branch_timings.h"
#include "tests/device/checks.h"
#include "tests/device/timings.h"

namespace stoker::device_test {
namespace {

constexpr int kSkipped = 77;
constexpr std::size_t kMostFailures = 60;
constexpr std::chrono::seconds kMostSeconds{60};
constexpr std::chrono::seconds kUnderASanitizer{600};

Result<std::string> Assemble(const ScheduledKernel& kernel, const Target& target) {
  STOKER_TRY(const GpuMachine machine, GpuMachineOf(target));
  const SpanSink nobody;
  Laps untimed(nobody);
  const auto& schedule = std::get<CudaSchedule>(kernel.schedule);
  STOKER_TRY(const auto backend,
             codegen::BuildNvptxKernel(kernel.func, schedule, machine, untimed));
  STOKER_TRY(std::string ptx, backend->EmitAssembly());
  STOKER_TRY(codegen::NvptxCode code,
             codegen::AssembleNvptxKernel(std::move(ptx), schedule, target.arch()));
  return std::move(code.cubin);
}

int PrintBranches(cuda::Device& device) {
  return PrintBranchTimings(device, Assemble, 1, cuda::Driver::kLibrary);
}

// Of the checks: 0 where all have passed.
int PrintChecks(cuda::Device& device, const CheckChoice& choice, CheckCounts& counts) {
  const auto start = std::chrono::steady_clock::now();
  counts = RunChecks(device, Assemble, choice);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::size_t printed = 0;
  for (const std::string& failure : counts.failures) {
    if (printed++ < kMostFailures) std::printf("FAILED  %s\n", failure.c_str());
  }
  std::printf("checks took %.1f s on %d threads\n", took.count(), choice.threads);
  std::fflush(stdout);
  return counts.failed + counts.not_run;
}

// That it can be used; else one line says why not.
bool HasAssembler() {
  const auto assembler =
      codegen::AssemblePtx(".version 8.0\n.target sm_80\n.address_size 64\n", "sm_80");
  if (!assembler.ok()) std::printf("skipped: %s\n", assembler.error().message.c_str());
  return assembler.ok();
}

int Main(std::span<const std::string_view> arguments) {
  const auto device = cuda::Device::Create(0);
  if (!device.ok()) {
    std::printf("skipped: %s\n", device.error().message.c_str());
    return kSkipped;
  }
  std::printf("%s, driver of CUDA %d\n", (*device)->target().ToString().c_str(),
              (*device)->context()->driver().version());
  if (!HasAssembler()) return kSkipped;
  const std::string_view part = arguments.empty() ? "" : arguments[0];
  if (part == "branches") return PrintBranches(**device) == 0 ? 0 : 1;
  CheckChoice choice{.limit = kMostSeconds};
  if (part == "checks") {
    choice = {.scale = 0, .limit = kUnderASanitizer};
    if (arguments.size() > 1) choice.named = arguments[1];
  } else {
    choice.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  CheckCounts counts;
  const int wrong = PrintChecks(**device, choice, counts);
  const int untimed =
      part == "checks" ? 0 : PrintTimings(**device, Assemble, 1) + PrintBranches(**device);
  std::printf("%d passed, %d failed, %d without a kernel yet, %d not run, %d not timed\n",
              counts.passed, counts.failed, counts.without_kernel(), counts.not_run, untimed);
  return wrong + untimed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stoker::device_test

int main(int count, char** arguments) {
  const std::vector<std::string_view> given(arguments + 1, arguments + count);
  return stoker::device_test::Main(given);
}
