// Question: what does the runtime itself cost per launch and per call, beside the work of the
// kernels? The same chain of kernels is timed through Executable::Run and, as the peer, called
// directly in a loop on one thread.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "runtime/cpu/kernel.h"
#include "runtime/cpu/queue.h"
#include "runtime/executable.h"
#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker::cpu {
namespace {

constexpr int kLaunches = 100;

// args: elements per launch, threads. Each launch has at least eight chunks' worth of tasks.
void RunChain(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  const std::unique_ptr<Device> device = Device::Create().value();
  const PlanBuilder builder = Chain(kLaunches, n, n / 8);
  const auto executable =
      Executable::Load(*device, builder.Bytes(), builder.artifact.request_key, builder.Source())
          .value();
  Queue queue(*device, threads);
  std::shared_ptr<const Binding> binding;
  STOKER_CHECK(executable->BindParameters({}, queue, &binding).ok());
  const std::vector<float> in(static_cast<std::size_t>(n), 1.0F);
  std::vector<float> out(static_cast<std::size_t>(n));
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  for (auto _ : state) {
    const auto plan = executable->PlanFor({}).value();
    Queue call(*device, threads);
    STOKER_CHECK(executable->Run(*plan, *binding, {inputs, outputs}, call).ok());
  }
  state.counters["per_launch"] = benchmark::Counter(
      kLaunches, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// What the kernels of RunChain cost without a runtime.
void CallKernels(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const std::string bytes = KernelBytes("add");
  const auto kernel = Kernel::Load(Sha256Of(bytes), bytes).value();
  std::vector<float> in(static_cast<std::size_t>(n), 1.0F);
  std::array<std::vector<float>, 2> buffers;
  buffers.fill(in);
  for (auto _ : state) {
    for (int i = 0; i < kLaunches; ++i) {
      const std::array<void*, 3> table = {buffers[static_cast<std::size_t>(i % 2)].data(),
                                          in.data(),
                                          buffers[static_cast<std::size_t>(1 - i % 2)].data()};
      kernel->function()(table.data(), &n, 0, n, nullptr);
    }
  }
  state.counters["per_launch"] = benchmark::Counter(
      kLaunches, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(CallKernels)->Arg(64)->Arg(16384)->UseRealTime();
// On 1, 2, 4, ... threads, as far as there are processors.
void Arguments(benchmark::internal::Benchmark* chain) {
  const cpu_set_t cpus = AllowedCpus();
  for (const std::int64_t elements : {64, 16384, 131072}) {
    for (int threads = 1; threads <= CPU_COUNT(&cpus); threads *= 2)
      chain->Args({elements, threads});
  }
}

BENCHMARK(RunChain)->ArgNames({"elements", "threads"})->Apply(Arguments)->UseRealTime();

}  // namespace
}  // namespace stoker::cpu

BENCHMARK_MAIN();
