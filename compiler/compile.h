// Compile: CompileRequest -> Artifact, a pure function of the request. pipeline.cc is the table of
// contents; PIPELINE.md explains it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/timing/laps.h"
#include "protocol/artifact/artifact.h"
#include "protocol/base/result.h"
#include "protocol/key/compile_request.h"

namespace stoker {

// What the surroundings offer a compile; none of it changes the result.
struct CompileHooks {
  // For each kernel key: the stored blob, if there is one. May be empty.
  std::function<std::vector<std::optional<KernelRef>>(std::span<const Digest>)> find_kernels;
  // Stages, and among them warnings, which begin with "warning: ": of kernels whose registers
  // spill.
  std::function<void(std::string_view stage, int done, int total, std::string_view detail)>
      progress;
  int threads = 1;
  SpanSink span = {};  // Gets the steps. May be empty.
};

struct CompiledKernel {
  Digest key;
  std::string elf;  // Or a cubin.
};

struct CompileOutput {
  Artifact artifact;
  std::vector<CompiledKernel> kernels;  // Compiled now: those find_kernels did not know.
  std::vector<std::string> constants;   // Bytes of artifact.constants, in its order.
};

Result<CompileOutput> Compile(const CompileRequest& request, const CompileHooks& hooks = {});

// Readable sections of a compile: "graph", "groups" (why each node joined or was refused), "loops"
// (loop IR), "schedules" (loop IR as it is emitted, and how), "plan" (launches, buffers, bytes and
// flops), "llvm", "asm".
struct Listing {
  std::string name;
  std::string text;
};
Result<std::vector<Listing>> Inspect(const CompileRequest& request,
                                     std::span<const std::string> sections);

// Loads the libraries that compiles find at run time, where they are there: a process that gives up
// its files calls it before.
void LoadToolchain();

// What this process has all it takes to compile for: "cpu", and "cuda" where there is nvJitLink.
std::vector<std::string> CompilableTargetKinds();

// The compiler's revision and the versions of what it is made with:
// "stoker-0123456789abcdef;llvm-22.1.8".
std::string CompilerEpoch();

// The epoch and what else makes a kernel of this target: "...;nvjitlink-13.0". What this machine
// has, where that differs from one to the next: no two of one name give other bytes.
std::string KernelToolchain(const Target& target);

}  // namespace stoker
