#include "tests/unit/daemon/service/fake_compiler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "compiler/compile.h"
#include "daemon/service/worker/worker_main.h"
#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

constexpr std::size_t kMemoryStep = std::size_t{16} << 20;
constexpr int kManyReportCount = 10000;

std::string PathOf(const std::string& name) {
  const char* folder = std::getenv(kFolderVariable);
  STOKER_CHECK(folder != nullptr);
  return std::string(folder) + "/" + name;
}

std::int64_t SizeOf(Behaviour behaviour, int variant) {
  return static_cast<std::int64_t>(behaviour) * kVariants + variant + 1;
}

std::string CounterPath(std::int64_t size) { return PathOf("compiles-" + std::to_string(size)); }

int CountOf(std::int64_t size) {
  struct stat status {};
  return stat(CounterPath(size).c_str(), &status) == 0 ? static_cast<int>(status.st_size) : 0;
}

// Appends one byte, so that counting is the file's size.
void Count(std::int64_t size) {
  const int fd = open(CounterPath(size).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  STOKER_CHECK(fd >= 0 && write(fd, "x", 1) == 1);
  close(fd);
}

void WaitForRelease() {
  while (access(PathOf("released").c_str(), F_OK) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void AllocateForEver() {
  while (true) {
    volatile char* block = new char[kMemoryStep];
    for (std::size_t i = 0; i < kMemoryStep; i += 4096) block[i] = 1;
  }
}

CompiledKernel KernelOf(const std::string& name) {
  return {Sha256Of("key of " + name), "code of " + name};
}

CompileOutput OutputOf(const CompileRequest& request, std::int64_t size,
                       const CompileHooks& hooks) {
  CompileOutput output;
  output.artifact.request_key = KeyOf(request).digest;
  output.artifact.target = request.target;
  output.artifact.compiler_epoch = request.compiler_epoch;
  output.artifact.plan.inputs = {TensorType{DType::kF32, Shape{SymDim(size)}}};
  output.artifact.plan.input_roles = {InputRole::kActivation};
  output.artifact.plan.outputs = {{TensorType{DType::kF32, Shape{SymDim(size)}}, 0}};
  std::vector<CompiledKernel> kernels = {KernelOf("all"), KernelOf(std::to_string(size))};
  const std::vector<Digest> keys = {kernels[0].key, kernels[1].key};
  const auto known = hooks.find_kernels(keys);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    output.artifact.kernels.push_back(
        {kernels[i].key, Sha256Of(kernels[i].elf), kernels[i].elf.size()});
    if (!known[i]) output.kernels.push_back(std::move(kernels[i]));
  }
  output.constants = {"constant of " + std::to_string(size)};
  output.artifact.constants = {{Sha256Of(output.constants[0]), output.constants[0].size()}};
  return output;
}

}  // namespace

Graph FakeGraph(Behaviour behaviour, int variant) {
  GraphBuilder builder("fake");
  const ValueId input =
      builder.Input(TensorType{DType::kF32, Shape{SymDim(SizeOf(behaviour, variant))}});
  auto graph = builder.Build(std::array{input});
  STOKER_CHECK(graph.ok());
  return *std::move(graph);
}

wire::CompileCall FakeCall(Behaviour behaviour, int variant) {
  const Graph graph = FakeGraph(behaviour, variant);
  wire::CompileCall call;
  call.graph = EncodeGraph(graph);
  call.graph_digest = graph.digest();
  call.graph_name = "fake " + std::to_string(variant);
  call.target = Target::Parse("cpu/x86-64-v4").value();
  call.compiler_epoch = CompilerEpoch();
  call.request_key = KeyOf(graph.digest(), call.target, call.options, call.compiler_epoch).digest;
  return call;
}

int CompilesOf(Behaviour behaviour, int variant) { return CountOf(SizeOf(behaviour, variant)); }

void ReleaseWaiting() { std::ofstream(PathOf("released")) << "x"; }

std::string CompilerEpoch() { return "fake-1"; }

std::vector<std::string> CompilableTargetKinds() { return {"cpu", "cuda"}; }

Result<CompileOutput> Compile(const CompileRequest& request, const CompileHooks& hooks) {
  Laps laps(hooks.span, 1, request.graph.name());
  const std::int64_t size = request.graph.type(0).shape[0].constant();
  const bool first = CountOf(size) == 0;
  Count(size);
  if (hooks.progress) hooks.progress("compiling", 1, 2, std::to_string(getpid()));
  switch (static_cast<Behaviour>((size - 1) / kVariants)) {
    case Behaviour::kGood:
      break;
    case Behaviour::kError:
      return Unimplemented("Op 'x' is not implemented.");
    case Behaviour::kThrow:
      throw std::runtime_error("thrown in the compiler");
    case Behaviour::kCrash:
      _exit(139);
    case Behaviour::kCrashOnce:
      if (first) abort();
      break;
    case Behaviour::kExit:
      _exit(3);
    case Behaviour::kHang:
      while (true) pause();
    case Behaviour::kNonsense:
      STOKER_CHECK(write(kWorkerSocket, "\5\0\0\0hello", 9) == 9);
      while (true) pause();
    case Behaviour::kMemory:
      AllocateForEver();
      break;
    case Behaviour::kWait:
      WaitForRelease();
      break;
    case Behaviour::kForeign: {
      CompileOutput output = OutputOf(request, size, hooks);
      output.artifact.request_key = Sha256Of("another request");
      return output;
    }
    case Behaviour::kIncomplete: {
      CompileOutput output = OutputOf(request, size, hooks);
      output.kernels.clear();
      return output;
    }
    case Behaviour::kSmuggles: {
      CompileOutput output = OutputOf(request, size, hooks);
      output.constants.emplace_back("smuggled");
      return output;
    }
    case Behaviour::kManyQueries:
      while (true) hooks.find_kernels(std::vector<Digest>(4096, Sha256Of("a kernel")));
    case Behaviour::kManyReports:
      for (int i = 0; i < kManyReportCount; ++i) {
        hooks.progress("compiling", i, kManyReportCount, "");
      }
      break;
  }
  CompileOutput output = OutputOf(request, size, hooks);
  laps.End("fake");
  return output;
}

Result<std::vector<Listing>> Inspect(const CompileRequest& request,
                                     std::span<const std::string> sections) {
  STOKER_RETURN_IF_ERROR(
      Compile(request, CompileHooks{[](std::span<const Digest> keys) {
                                      return std::vector<std::optional<KernelRef>>(keys.size());
                                    },
                                    [](std::string_view, int, int, std::string_view) {}, 1}));
  std::vector<Listing> listings;
  for (const std::string& section : sections) listings.push_back({section, "text of " + section});
  return listings;
}

}  // namespace stoker
