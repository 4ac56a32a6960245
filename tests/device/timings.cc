#include "tests/device/timings.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "tests/device/graphs.h"

namespace stoker::device_test {
namespace {

constexpr int kCalls = 20;  // Of one measurement.
constexpr int kTurns = 7;   // Of which the median counts.

struct Row {
  std::string name;
  std::string text;
  bool has_candidates = false;  // Other schedules of its only kernel are timed too.
};

std::vector<Row> Rows(int scale) {
  if (scale == 0) return {{"softmax f32 4x64", SoftmaxGraph(4, 64, "f32"), true}};
  return {
      {"gelu bf16 16384x8192", GeluGraph(16384, 8192, "bf16"), true},
      {"gelu f32 16384x4096", GeluGraph(16384, 4096, "f32"), true},
      {"softmax bf16 16384x8192", SoftmaxGraph(16384, 8192, "bf16"), true},
      {"softmax f32 65536x1024", SoftmaxGraph(65536, 1024, "f32"), true},
      {"softmax f32 1000000x64", SoftmaxGraph(1000000, 64, "f32"), true},
      {"softmax bf16 1024x131072", SoftmaxGraph(1024, 131072, "bf16"), true},
      {"layer norm bf16 16384x8192", LayerNormGraph(16384, 8192, "bf16"), true},
      {"layer norm bf16 65536x768", LayerNormGraph(65536, 768, "bf16"), true},
      {"layer norm bf16 1024x768", LayerNormGraph(1024, 768, "bf16"), true},
      {"gelu+norm+softmax bf16 16384x8192", GeluLayerNormSoftmaxGraph(16384, 8192), true},
      {"row sums f32 16384x8192", ReduceGraph(16384, 8192, 1, "f32", "add"), true},
      {"column sums bf16 16384x8192", ReduceGraph(1, 16384, 8192, "bf16", "add"), false},
      {"column sums f32 131072x768", ReduceGraph(1, 131072, 768, "f32", "add"), false},
      {"column sums f32 65536x64", ReduceGraph(1, 65536, 64, "f32", "add"), false},
      {"total f32 134217728", TotalGraph(134217728, "f32"), false},
      {"shallow water 2048x2048, 1 step", ShallowWaterGraph(2048, 1), false},
      {"shallow water 2048x2048, 8 steps", ShallowWaterGraph(2048, 8), false},
  };
}

// A matrix product, and what limits it on one Hopper GPU: of bf16 on tensor cores, of f32 on the
// others, of f64 on tensor cores again.
struct ProductRow {
  std::string name;
  std::string text;
  double flops = 0;
  double peak = 0;  // Flops a second.
};

constexpr double kPeakBF16 = 790e12;
constexpr double kPeakF32 = 60e12;
constexpr double kPeakF64 = 60e12;

void AddAttention(const std::string& name, const AttentionShape& shape, bool causal,
                  std::vector<ProductRow>& rows) {
  const double products = static_cast<double>(shape.batch * shape.heads * shape.queries) *
                          static_cast<double>(shape.keys * (shape.head + shape.value));
  rows.push_back({"attention " + name, JoinedAttentionGraph(shape, "bf16", causal),
                  (causal ? 1 : 2) * products, kPeakBF16});
}

std::vector<ProductRow> ProductRows(int scale) {
  std::vector<ProductRow> rows;
  const auto add = [&](const std::string& what, const Linear& linear, const char* dtype,
                       double peak) {
    const double flops = 2.0 * static_cast<double>(linear.m) * static_cast<double>(linear.n) *
                         static_cast<double>(linear.k);
    rows.push_back({what + " " + dtype + " " + std::to_string(linear.m) + "x" +
                        std::to_string(linear.n) + "x" + std::to_string(linear.k),
                    LinearGraph(linear, dtype), flops, peak});
  };
  if (scale == 0) {
    add("square", {4, 8, 8}, "bf16", kPeakBF16);
    AddAttention("small", {1, 1, 1, 20, 20, 16, 16}, true, rows);
    return rows;
  }
  for (const std::int64_t n : {1024, 4096, 8192}) {
    add("square", {n, n, n}, "bf16", kPeakBF16);
  }
  add("square", {4096, 4096, 4096}, "f16", kPeakBF16);
  add("square", {4096, 4096, 4096}, "f32", kPeakF32);
  add("square", {4096, 4096, 4096}, "f64", kPeakF64);
  for (const std::int64_t tokens : {1, 128, 1024}) {
    const std::string of = tokens == 1024 ? "bert b8" : "gpt2";
    add(of + " qkv", {tokens, 2304, 768, true}, "bf16", kPeakBF16);
    add(of + " proj", {tokens, 768, 768, true, true}, "bf16", kPeakBF16);
    add(of + " up", {tokens, 3072, 768, true, false, true}, "bf16", kPeakBF16);
    add(of + " down", {tokens, 768, 3072, true, true}, "bf16", kPeakBF16);
  }
  add("gpt2 head", {128, 50257, 768}, "bf16", kPeakBF16);
  AddAttention("bert b8", {8, 12, 12, 128, 128, 64, 64}, false, rows);
  AddAttention("gpt2", {1, 12, 12, 128, 128, 64, 64}, true, rows);
  AddAttention("vit b8", {8, 12, 12, 197, 197, 64, 64}, false, rows);
  AddAttention("gpt2 b8, 512", {8, 12, 12, 512, 512, 64, 64}, true, rows);
  AddAttention("llama, 1024", {4, 32, 32, 1024, 1024, 128, 128}, true, rows);
  AddAttention("2048", {2, 16, 16, 2048, 2048, 64, 64}, false, rows);
  return rows;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Of one call of many.
Result<double> SecondsOf(cuda::Queue& queue, const std::function<Status()>& call) {
  STOKER_RETURN_IF_ERROR(call());
  std::vector<double> turns;
  for (int turn = 0; turn < kTurns; ++turn) {
    STOKER_TRY(const auto begin, queue.MarkHere());
    for (int i = 0; i < kCalls; ++i) STOKER_RETURN_IF_ERROR(call());
    STOKER_TRY(const auto end, queue.MarkHere());
    STOKER_RETURN_IF_ERROR(queue.Wait());
    STOKER_TRY(const double seconds, queue.SecondsBetween(*begin, *end));
    turns.push_back(seconds / kCalls);
  }
  return Median(std::move(turns));
}

// Bytes a second that a copy reads and writes.
Result<double> CopyRate(cuda::Device& device, cuda::Queue& queue, int scale) {
  const std::int64_t bytes = std::int64_t{1} << (scale == 0 ? 16 : 28);
  STOKER_TRY(const DeviceMemory from, device.Allocate(bytes));
  STOKER_TRY(const DeviceMemory to, device.Allocate(bytes));
  STOKER_RETURN_IF_ERROR(queue.Fill(from.data(), 0x5a, static_cast<std::size_t>(bytes)));
  STOKER_TRY(const double seconds, SecondsOf(queue, [&] {
               return queue.Copy(to.data(), from.data(), static_cast<std::size_t>(bytes));
             }));
  return 2.0 * static_cast<double>(bytes) / seconds;
}

// What a call costs the thread that makes it.
Result<double> HostSecondsOf(cuda::Queue& queue, GpuProgram& program) {
  STOKER_RETURN_IF_ERROR(queue.Wait());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) STOKER_RETURN_IF_ERROR(program.Run(queue));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  STOKER_RETURN_IF_ERROR(queue.Wait());
  return took.count() / kCalls;
}

void PrintRow(const std::string& name, double seconds, double bytes, double rate) {
  const double floor = bytes / rate;
  std::printf("%-38s %9.4f ms %8.0f GB/s  %5.1f%% of a copy\n", name.c_str(), seconds * 1e3,
              bytes / seconds * 1e-9, floor / seconds * 100);
}

Status TimeRow(const Row& row, cuda::Device& device, cuda::Queue& queue, const AssembleFn& assemble,
               double rate) {
  STOKER_TRY(const Graph graph, ParseGraph(row.text));
  STOKER_TRY(const auto program, GpuProgram::Make(graph, device, assemble));
  STOKER_RETURN_IF_ERROR(program->Place(queue, 0));
  STOKER_RETURN_IF_ERROR(program->SetNoise(queue, 1));
  STOKER_TRY(const double seconds, SecondsOf(queue, [&] { return program->Run(queue); }));
  const auto bytes = static_cast<double>(program->bytes());
  PrintRow(row.name, seconds, bytes, rate);
  STOKER_TRY(const double host, HostSecondsOf(queue, *program));
  std::printf("    %9.2f us of the caller's time for %zu launches\n", host * 1e6,
              program->pipeline().program.steps.size());
  STOKER_TRY(const std::vector<LaunchTime> launches, program->Profile(queue));
  for (const LaunchTime& launch : launches) {
    std::printf("    %9.4f ms  %s | %s\n", launch.seconds * 1e3, launch.label.c_str(),
                launch.how.c_str());
  }
  const PipelineResult& pipeline = program->pipeline();
  if (!row.has_candidates || pipeline.program.steps.size() != 1) return Ok();
  STOKER_TRY(const auto candidates, Candidates(*pipeline.program.steps[0].func(), device.target()));
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    PipelineResult other = pipeline;
    other.kernels.kernels[0] = candidates[i];
    STOKER_TRY(const auto one, GpuProgram::MakeOf(std::move(other), device, assemble));
    STOKER_RETURN_IF_ERROR(one->Place(queue, 0));
    STOKER_RETURN_IF_ERROR(one->SetNoise(queue, 1));
    STOKER_TRY(const double took, SecondsOf(queue, [&] { return one->Run(queue); }));
    std::printf("    or %6.4f ms  %s\n", took * 1e3,
                OneLine(std::get<CudaSchedule>(candidates[i].schedule)).c_str());
  }
  return Ok();
}

Status TimeProduct(const ProductRow& row, cuda::Device& device, cuda::Queue& queue,
                   const AssembleFn& assemble, double rate) {
  STOKER_TRY(const Graph graph, ParseGraph(row.text));
  STOKER_TRY(const auto program, GpuProgram::Make(graph, device, assemble));
  STOKER_RETURN_IF_ERROR(program->Place(queue, 0));
  STOKER_RETURN_IF_ERROR(program->SetNoise(queue, 1));
  STOKER_TRY(const double seconds, SecondsOf(queue, [&] { return program->Run(queue); }));
  STOKER_TRY(const double host, HostSecondsOf(queue, *program));
  const double floor = static_cast<double>(program->bytes()) / rate;
  std::printf(
      "%-38s %9.4f ms %8.1f TFLOP/s  %5.1f%% of peak, %5.1f%% of a copy  %s  %.2f us host\n",
      row.name.c_str(), seconds * 1e3, row.flops / seconds * 1e-12,
      row.flops / row.peak / seconds * 100, floor / seconds * 100, program->Schedules().c_str(),
      host * 1e6);
  return Ok();
}

}  // namespace

int PrintTimings(cuda::Device& device, const AssembleFn& assemble, int scale) {
  const auto queue = cuda::Queue::Create(device);
  if (!queue.ok()) {
    std::printf("queue: %s\n", queue.error().message.c_str());
    return 1;
  }
  const auto rate = CopyRate(device, **queue, scale);
  if (!rate.ok()) {
    std::printf("copy: %s\n", rate.error().message.c_str());
    return 1;
  }
  std::printf("a copy reads and writes %.0f GB/s\n", *rate * 1e-9);
  int failed = 0;
  for (const ProductRow& row : ProductRows(scale)) {
    const Status status = TimeProduct(row, device, **queue, assemble, *rate);
    if (!status.ok()) {
      std::printf("%-38s %s\n", row.name.c_str(), status.error().message.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  for (const Row& row : Rows(scale)) {
    const Status status = TimeRow(row, device, **queue, assemble, *rate);
    if (!status.ok()) {
      std::printf("%-38s %s\n", row.name.c_str(), status.error().message.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed;
}

}  // namespace stoker::device_test
