// Question: do two threads that call at the same time get half of the cores each? What a call takes
// is measured for one caller with all threads and with half of them, and for two at once, of one
// executable and of two. The peer of two callers is one with half of the threads.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cpu/queue.h"
#include "runtime/executable.h"
#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLaunches = 50;
constexpr int kRounds = 9;
constexpr std::chrono::milliseconds kRound{150};

struct Model {
  Device* device = nullptr;
  std::unique_ptr<Executable> executable;
  std::shared_ptr<const Binding> binding;
  std::int64_t elements = 0;
};

Model Load(Device& device, std::int64_t elements) {
  const PlanBuilder builder = Chain(kLaunches, elements, elements / 64);
  Model model;
  model.device = &device;
  Queue queue(device, 1);
  model.executable =
      Executable::Load(device, builder.Bytes(), builder.artifact.request_key, builder.Source())
          .value();
  STOKER_CHECK(model.executable->BindParameters({}, queue, &model.binding).ok());
  model.elements = elements;
  return model;
}

// Calls until the round is over, and adds what each call took, in microseconds.
void CallFor(const Model& model, int threads, std::vector<double>& times) {
  const auto count = static_cast<std::size_t>(model.elements);
  const std::vector<float> in(count, 1.0F);
  std::vector<float> out(count);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const auto plan = model.executable->PlanFor({}).value();
  const Clock::time_point end = Clock::now() + kRound;
  for (Clock::time_point start = Clock::now(); start < end;) {
    Queue queue(*model.device, threads);
    STOKER_CHECK(model.executable->Run(*plan, *model.binding, {inputs, outputs}, queue).ok());
    const Clock::time_point now = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(now - start).count());
    start = now;
  }
}

double Percentile(std::vector<double>& values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void Print(const std::string& what, std::vector<double>& times) {
  std::printf("  %-42s %10.1f %10.1f %8zu\n", what.c_str(), Percentile(times, 0.5),
              Percentile(times, 0.9), times.size());
}

void Measure(std::int64_t elements, int threads) {
  const std::unique_ptr<Device> device = Device::Create().value();
  const std::array<Model, 2> models = {Load(*device, elements), Load(*device, elements)};
  std::vector<double> all;
  std::vector<double> half;
  std::array<std::vector<double>, 2> one_executable;
  std::array<std::vector<double>, 2> two_executables;
  const auto both = [&](std::size_t second, std::array<std::vector<double>, 2>& times) {
    std::thread other([&] { CallFor(models[second], threads, times[1]); });
    CallFor(models[0], threads, times[0]);
    other.join();
  };
  // In turns: what slows the machine for a while slows all of them.
  for (int round = 0; round < kRounds; ++round) {
    CallFor(models[0], threads, all);
    CallFor(models[0], threads / 2, half);
    both(0, one_executable);
    both(1, two_executables);
  }
  std::printf("%d launches of %lld elements\n", kLaunches, static_cast<long long>(elements));
  Print("one caller, " + std::to_string(threads) + " threads", all);
  Print("one caller, " + std::to_string(threads / 2) + " threads", half);
  for (const std::size_t i : {0U, 1U}) {
    Print("two callers, one executable: caller " + std::to_string(i + 1), one_executable[i]);
  }
  for (const std::size_t i : {0U, 1U}) {
    Print("two callers, two executables: caller " + std::to_string(i + 1), two_executables[i]);
  }
}

}  // namespace
}  // namespace stoker::cpu

int main() {
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  if (cpus < 2) {
    std::fprintf(stderr, "One CPU cannot be shared.\n");
    return 1;
  }
  std::printf("%d CPUs, commit %s; microseconds of a call: median, 90 %%; calls\n", cpus,
              STOKER_COMMIT);
  for (const std::int64_t elements : {std::int64_t{4096}, std::int64_t{65536}}) {
    stoker::cpu::Measure(elements, cpus);
  }
}
