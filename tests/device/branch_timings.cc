#include "tests/device/branch_timings.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "tests/device/captured.h"

namespace stoker::device_test {
namespace {

// Of one measurement, by the scale.
int Replays(int scale) { return scale == 0 ? 2 : 50; }
constexpr int kTurns = 7;  // Of which the median counts.

struct Sizes {
  std::string name;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int products = 0;  // 0: a layer's gradients.
};

std::string Type(std::int64_t rows, std::int64_t columns) {
  return "bf16[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
}

std::string Product(const std::string& left, const std::string& right, int left_dim,
                    int right_dim) {
  return "dot_general(" + left + ", " + right + ") {lhs_batch=[], lhs_contract=[" +
         std::to_string(left_dim) + "], rhs_batch=[], rhs_contract=[" + std::to_string(right_dim) +
         "]} : ";
}

// A kernel, the products of what it made, and a kernel that reads them all.
std::string SidesGraph(const Sizes& of) {
  std::string inputs = "%x: " + Type(of.m, of.k);
  std::string body = "  %y = tanh(%x) : " + Type(of.m, of.k) + "\n";
  std::string sum;
  for (int i = 0; i < of.products; ++i) {
    const std::string number = std::to_string(i);
    inputs += ", %w" + number + ": " + Type(of.k, of.n);
    body += "  %p" + number + " = " + Product("%y", "%w" + number, 1, 0) + Type(of.m, of.n) +
            "\n  %t" + number + " = tanh(%p" + number + ") : " + Type(of.m, of.n) + "\n";
    if (i == 0) {
      sum = "%t0";
      continue;
    }
    body += "  %s" + number + " = add(" + sum + ", %t" + number + ") : " + Type(of.m, of.n) + "\n";
    sum = "%s" + number;
  }
  return "graph @sides(" + inputs + ") {\n" + body + "  return " + sum + "\n}\n";
}

// Of the input and of the weight, by what comes back.
std::string GradientsGraph(const Sizes& of) {
  return "graph @gradients(%g: " + Type(of.m, of.n) + ", %x: " + Type(of.m, of.k) +
         ", %w: " + Type(of.k, of.n) + ") {\n  %y = tanh(%g) : " + Type(of.m, of.n) +
         "\n  %dx = " + Product("%y", "%w", 1, 1) + Type(of.m, of.k) +
         "\n  %back = tanh(%dx) : " + Type(of.m, of.k) + "\n  %dw = " + Product("%x", "%y", 0, 0) +
         Type(of.k, of.n) + "\n  return %back, %dw\n}\n";
}

std::vector<Sizes> Rows(int scale) {
  if (scale == 0) return {{"sides", 8, 16, 16, 2}};
  return {
      {"bert b1 q k v", 128, 768, 768, 3},
      {"bert b8 q k v", 1024, 768, 768, 3},
      {"bert b64 q k v", 8192, 768, 768, 3},
      {"llama q k v", 4096, 2048, 2048, 3},
      {"llama gate up", 4096, 5632, 2048, 2},
      {"llama b1 gate up", 128, 5632, 2048, 2},
      {"resnet50 b1 ends", 3136, 256, 64, 2},
      {"resnet50 b32 ends", 100352, 256, 64, 2},
      {"tiny pair", 64, 64, 64, 2},
      {"bert b8 gradients", 1024, 3072, 768, 0},
      {"bert b1 gradients", 128, 3072, 768, 0},
      {"llama gradients", 4096, 5632, 2048, 0},
  };
}

// The same place in every call, so that graphs of one and of many lists have the same nodes.
class OnePlace final : public cuda::CallMemory {
 public:
  explicit OnePlace(DeviceMemory memory) : memory_(std::move(memory)) {}
  Result<cuda::CuPointer> Take(std::size_t bytes, cuda::CuStream) const override {
    if (static_cast<std::int64_t>(bytes) > memory_.size()) {
      return ResourceExhausted("A row needs " + std::to_string(bytes) + " bytes.");
    }
    return static_cast<cuda::CuPointer>(reinterpret_cast<std::uintptr_t>(memory_.data()));
  }
  Status GiveBack(cuda::CuPointer, cuda::CuStream) const override { return Ok(); }

 private:
  const DeviceMemory memory_;
};

class BranchTimings {
 public:
  BranchTimings(cuda::Device& device, const AssembleFn& assemble, const GraphApi& api,
                cuda::CuStream stream, int replays)
      : device_(device),
        assemble_(assemble),
        api_(api),
        stream_(stream),
        replays_(replays),
        queue_(device, stream) {}

  Status Time(const Sizes& sizes) {
    STOKER_TRY(const Graph graph,
               ParseGraph(sizes.products == 0 ? GradientsGraph(sizes) : SidesGraph(sizes)));
    STOKER_TRY(const auto program, GpuProgram::Make(graph, device_, assemble_));
    STOKER_RETURN_IF_ERROR(program->Place(queue_, 0));
    STOKER_RETURN_IF_ERROR(program->SetNoise(queue_, 1));
    STOKER_RETURN_IF_ERROR(program->Run(queue_));
    STOKER_TRY(const std::string wanted, BytesOf(*program));
    const auto captured = [&](const std::function<Status()>& give) {
      return Captured::Of(api_, device_, stream_, give);
    };
    STOKER_TRY(const auto chain, captured([&] { return program->RunOneByOne(queue_); }));
    STOKER_TRY(const auto branches, captured([&] { return program->Run(queue_); }));
    STOKER_TRY(const double in_order, SecondsOf(*chain));
    STOKER_TRY(const double side_by_side, SecondsOf(*branches));
    STOKER_TRY(const std::string found, BytesOf(*program));
    std::printf("%-20s %5ldx%ldx%ld bf16 %9.2f us in order %9.2f us in branches  %.2f\n",
                sizes.name.c_str(), static_cast<long>(sizes.m), static_cast<long>(sizes.n),
                static_cast<long>(sizes.k), in_order * 1e6, side_by_side * 1e6,
                side_by_side / in_order);
    return found == wanted ? Ok() : Internal("The graph gives other numbers.");
  }

 private:
  Result<std::string> BytesOf(const GpuProgram& program) {
    STOKER_TRY(const auto outputs, program.Outputs(queue_));
    std::string bytes;
    for (const InterpreterTensor& output : outputs) bytes += output.ToBytes();
    return bytes;
  }

  Result<double> SecondsOf(const Captured& graph) {
    STOKER_RETURN_IF_ERROR(graph.Launch());
    std::vector<double> turns;
    for (int turn = 0; turn < kTurns; ++turn) {
      STOKER_TRY(const auto begin, queue_.MarkHere());
      for (int i = 0; i < replays_; ++i) STOKER_RETURN_IF_ERROR(graph.Launch());
      STOKER_TRY(const auto end, queue_.MarkHere());
      STOKER_RETURN_IF_ERROR(queue_.Wait());
      STOKER_TRY(const double seconds, queue_.SecondsBetween(*begin, *end));
      turns.push_back(seconds / replays_);
    }
    std::ranges::sort(turns);
    return turns[kTurns / 2];
  }

  cuda::Device& device_;
  const AssembleFn& assemble_;
  const GraphApi& api_;
  const cuda::CuStream stream_;
  const int replays_;
  cuda::Queue queue_;
};

Result<int> Print(cuda::Device& device, const AssembleFn& assemble, int scale,
                  const std::string& library) {
  STOKER_TRY(const GraphApi api, GraphApi::Load(library));
  STOKER_TRY(DeviceMemory memory, device.Allocate(std::int64_t{scale == 0 ? 16 : 1024} << 20));
  const cuda::Context& context = *device.context();
  STOKER_TRY(const cuda::Context::Current current, context.MakeCurrent());
  cuda::CuStream stream = nullptr;
  STOKER_RETURN_IF_ERROR(context.Check(
      context.api().create_stream(&stream, cuda::kCuStreamNonBlocking), "cuStreamCreate"));
  device.SetCallMemory(std::make_shared<const OnePlace>(std::move(memory)));
  int failed = 0;
  for (const Sizes& sizes : Rows(scale)) {
    const Status status = BranchTimings(device, assemble, api, stream, Replays(scale)).Time(sizes);
    if (status.ok()) continue;
    std::printf("%-20s %s\n", sizes.name.c_str(), status.error().message.c_str());
    ++failed;
  }
  device.SetCallMemory(nullptr);
  STOKER_RETURN_IF_ERROR(context.Check(context.api().destroy_stream(stream), "cuStreamDestroy"));
  return failed;
}

}  // namespace

int PrintBranchTimings(cuda::Device& device, const AssembleFn& assemble, int scale,
                       const std::string& library) {
  const Result<int> failed = Print(device, assemble, scale, library);
  if (failed.ok()) return *failed;
  std::printf("branches: %s\n", failed.error().message.c_str());
  return 1;
}

}  // namespace stoker::device_test
