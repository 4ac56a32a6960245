#include "tests/conformance/compiler/harness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "compiler/compile_pipeline.h"
#include "runtime/cpu/device.h"
#include "runtime/cpu/queue.h"
#include "runtime/executable.h"
#include "tests/conformance/compiler/test_host.h"
#include "tests/unit/compiler/codegen/tile_emulation.h"
#include "tests/unit/compiler/codegen/x86_targets.h"

namespace stoker::test {
namespace {

cpu::Device& SharedDevice() {
  static const std::unique_ptr<cpu::Device> device = [] {
    auto created = cpu::Device::Create();
    STOKER_CHECK(created.ok());
    return std::move(created).value();
  }();
  return *device;
}

std::vector<std::string> BytesOf(const std::vector<InterpreterTensor>& tensors) {
  std::vector<std::string> bytes;
  for (const InterpreterTensor& tensor : tensors) bytes.push_back(tensor.ToBytes());
  return bytes;
}

InterpretOptions WithTestHost() {
  InterpretOptions options;
  options.extern_call = [](const Node&, std::span<const InterpreterTensor* const> operands,
                           std::span<InterpreterTensor> results) -> Status {
    Weave(operands, results);
    return Ok();
  };
  return options;
}

Result<std::vector<InterpreterTensor>> Execute(const CompileOutput& output,
                                               const std::vector<InterpreterTensor>& inputs,
                                               int threads) {
  std::map<Digest, std::string> blobs;
  for (const CompiledKernel& kernel : output.kernels) blobs[Sha256Of(kernel.elf)] = kernel.elf;
  for (const std::string& constant : output.constants) blobs[Sha256Of(constant)] = constant;
  STOKER_TRY(const std::unique_ptr<Executable> executable,
             Executable::Load(
                 SharedDevice(), EncodeArtifact(output.artifact), output.artifact.request_key,
                 [&](const Digest& digest) -> Result<std::string> { return blobs.at(digest); }));
  const LaunchPlan& plan = executable->plan();
  std::vector<std::string> bytes = BytesOf(inputs);
  std::vector<Parameter> parameters;
  std::vector<const void*> pointers;
  std::vector<InputView> views;
  std::vector<std::vector<std::int64_t>> strides(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pointers.push_back(bytes[i].data());
    if (plan.input_roles[i] == InputRole::kParameter) parameters.push_back({bytes[i].data(), 1});
    strides[i].resize(inputs[i].shape.size());
    std::int64_t stride = 1;
    for (std::size_t d = strides[i].size(); d-- > 0;) {
      strides[i][d] = stride;
      stride *= inputs[i].shape[d];
    }
    views.push_back({inputs[i].dtype, inputs[i].shape, strides[i]});
  }
  if (const auto why = executable->guards().Explain(views)) {
    return FailedPrecondition("Guard: " + *why);
  }
  std::shared_ptr<const Binding> binding;
  cpu::Queue prepares(SharedDevice(), threads);
  STOKER_RETURN_IF_ERROR(executable->BindParameters(parameters, prepares, &binding));
  STOKER_TRY(const std::shared_ptr<const ReadyPlan> ready, executable->PlanFor(views));
  const auto& output_sizes = ready->sizes.output_sizes;
  std::vector<InterpreterTensor> results;
  std::vector<std::string> memory;
  const std::vector<std::string> given = bytes;
  std::vector<std::string> left = bytes;  // What a call leaves in its inputs.
  // As many threads as were asked for, and one.
  for (const int team : {threads, 1}) {
    results.clear();
    for (std::size_t i = 0; i < bytes.size(); ++i) std::ranges::copy(given[i], bytes[i].begin());
    const std::vector<std::string> before = std::exchange(memory, {});
    std::vector<void*> outputs;
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      std::int64_t count = 1;
      for (const std::int64_t size : output_sizes[i]) count *= size;
      const int element = SizeInBytes(plan.outputs[i].type.dtype);
      memory.emplace_back(static_cast<std::size_t>(count * element), '\x5a');
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const bool is_input =
          plan.outputs[i].same_as_input >= 0 || plan.outputs[i].updates_input >= 0;
      outputs.push_back(is_input ? nullptr : memory[i].data());
    }
    cpu::Queue queue(SharedDevice(), team);
    TestHost host(plan);
    STOKER_RETURN_IF_ERROR(executable->Run(*ready, *binding, {pointers, outputs}, queue, &host));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (plan.outputs[i].updates_input < 0) continue;
      const auto updated = static_cast<std::size_t>(plan.outputs[i].updates_input);
      left[updated] = memory[i] = bytes[updated];
    }
    if (bytes != left) return Internal("An input has changed that no output updates.");
    if (!before.empty() && memory != before) {
      return Internal("Another number of threads gives other bits.");
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::int32_t same = plan.outputs[i].same_as_input;
      results.push_back(InterpreterTensor::FromBytes(
          plan.outputs[i].type.dtype, output_sizes[i],
          same >= 0 ? bytes[static_cast<std::size_t>(same)] : memory[i]));
    }
  }
  return results;
}

// A call as tensors hold it, and what it should give.
struct Call {
  std::vector<InterpreterTensor> inputs;
  std::vector<InterpreterTensor> outputs;
};

Result<std::vector<Call>> InterpretCalls(const Graph& graph,
                                         const std::vector<std::vector<InterpreterTensor>>& calls) {
  std::vector<Call> interpreted;
  for (const std::vector<InterpreterTensor>& inputs : calls) {
    Call call;
    call.inputs = Rounded(inputs);
    STOKER_TRY(const std::vector<InterpreterTensor> outputs,
               Interpret(graph, call.inputs, WithTestHost()));
    call.outputs = Rounded(outputs);
    interpreted.push_back(std::move(call));
  }
  return interpreted;
}

// Makes what was compiled for a target run on this processor; see Execution.
CompileOutput WithEmulatedTiles(CompileOutput output) {
  output.artifact.target = SharedDevice().target();
  for (CompiledKernel& kernel : output.kernels) {
    const Digest digest = Sha256Of(kernel.elf);
    kernel.elf = stoker::WithEmulatedTiles(std::move(kernel.elf));
    for (KernelRef& reference : output.artifact.kernels) {
      if (reference.blob == digest) reference.blob = Sha256Of(kernel.elf);
    }
  }
  return output;
}

// One call beside the interpreter; empty, or how they differ.
std::string CompareCall(const CompileOutput& compiled, const Call& call, const Tolerance& tolerance,
                        int threads) {
  const auto actual = Execute(compiled, call.inputs, threads);
  if (!actual.ok()) return "run: " + actual.error().message;
  for (std::size_t i = 0; i < actual->size(); ++i) {
    const InterpreterTensor& want = call.outputs[i];
    const std::string difference = Compare(want, (*actual)[i], ToleranceOf(tolerance, want.dtype));
    if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
  }
  return "";
}

void PrintSectionOf(const CompileRequest& request, const std::string& section) {
  const auto listings = Inspect(request, std::span(&section, 1));
  std::printf("%s\n",
              listings.ok() ? listings->front().text.c_str() : listings.error().message.c_str());
}

// Runs what was compiled for `target` as far as this processor can; empty, or a difference.
std::string CompareCompiled(const Target& target, CompileOutput compiled,
                            const std::vector<Call>& calls, const Tolerance& tolerance,
                            int threads) {
  const Execution execution = ExecutionOf(target);
  for (std::size_t i = 0; i < compiled.kernels.size(); ++i) ReportKernel(target, execution);
  if (execution == Execution::kNone) return "";
  if (execution == Execution::kEmulated) compiled = WithEmulatedTiles(std::move(compiled));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string difference = CompareCall(compiled, calls[i], tolerance, threads);
    if (difference.empty()) continue;
    return calls.size() == 1 ? difference : "call " + std::to_string(i) + ": " + difference;
  }
  return "";
}

// Compiles for `target` and compares each call; empty, or a difference.
std::string CompareFor(const Target& target, const Graph& graph, const std::vector<Call>& calls,
                       const Tolerance& tolerance, int threads, Outcome& outcome) {
  const bool is_host = target == SharedDevice().target();
  const CompileRequest request{graph, target, {}, CompilerEpoch()};
  if (const char* section = std::getenv("STOKER_INSPECT"); section != nullptr && is_host) {
    PrintSectionOf(request, section);
  }
  CompileHooks hooks;
  hooks.threads = 2;
  const auto compiled = Compile(request, hooks);
  if (!compiled.ok()) return "compile: " + compiled.error().message;
  if (is_host) {
    outcome.artifact = compiled->artifact;
    outcome.kernels = compiled->artifact.kernels.size();
  }
  return CompareCompiled(target, *compiled, calls, tolerance, threads);
}

// The same for each candidate of each kernel in place of the default one.
std::string CompareCandidates(const Target& target, const Graph& graph,
                              const std::vector<Call>& calls, Outcome& outcome) {
  const CompileRequest request{graph, target, {}, CompilerEpoch()};
  const auto pipeline = RunPipeline(graph, target, request.options);
  if (!pipeline.ok()) return "pipeline: " + pipeline.error().message;
  for (const Step& step : pipeline->program.steps) {
    const auto at = static_cast<std::size_t>(&step - pipeline->program.steps.data());
    if (step.func() == nullptr) continue;
    const auto candidates = Candidates(*step.func(), target);
    if (!candidates.ok()) return "candidates: " + candidates.error().message;
    const std::uint32_t kernel = pipeline->kernels.kernel_of[at];
    if (ToString(candidates->front()) != ToString(pipeline->kernels.kernels[kernel])) {
      return "the first candidate is not the default:\n" + ToString(candidates->front());
    }
    for (std::size_t i = 1; i < candidates->size(); ++i) {
      PipelineResult other = *pipeline;
      other.kernels.kernels[kernel] = (*candidates)[i];
      const auto compiled = CompilePipeline(request, other, {});
      if (!compiled.ok()) return "compile: " + compiled.error().message;
      ++outcome.schedules;
      const std::string difference = CompareCompiled(target, *compiled, calls, {}, 2);
      if (!difference.empty()) return difference + "\nin\n" + ToString((*candidates)[i]);
    }
  }
  return "";
}

// X86Targets() that run here, and one that does not: which one follows from the graph, so that many
// graphs see all.
std::vector<Target> TargetsFor(const Graph& graph) {
  std::vector<Target> chosen;
  std::vector<Target> others;
  for (const Target& target : X86Targets()) {
    (ExecutionOf(target) == Execution::kNone ? others : chosen).push_back(target);
  }
  if (!others.empty()) {
    chosen.push_back(others[DigestHash{}(Sha256Of(PrintGraph(graph))) % others.size()]);
  }
  return chosen;
}

}  // namespace

Outcome CompareCallsWithInterpreter(const Graph& graph,
                                    const std::vector<std::vector<InterpreterTensor>>& calls,
                                    const Tolerance& tolerance, int threads) {
  Outcome outcome;
  const auto fail = [&](const std::string& message) {
    outcome.error = message + "\n" + PrintGraph(graph);
    return outcome;
  };
  const auto expected = InterpretCalls(graph, calls);
  if (!expected.ok()) return fail("interpreter: " + expected.error().message);
  for (const Target& target : TargetsFor(graph)) {
    const std::string problem = CompareFor(target, graph, *expected, tolerance, threads, outcome);
    if (!problem.empty()) return fail(target.ToString() + ": " + problem);
  }
  return outcome;
}

Outcome CompareWithInterpreter(const Graph& graph, const std::vector<InterpreterTensor>& inputs,
                               const Tolerance& tolerance, int threads) {
  return CompareCallsWithInterpreter(graph, {inputs}, tolerance, threads);
}

std::vector<std::uint64_t> Seeds(std::uint64_t first, std::uint64_t count) {
  if (const char* seeds = std::getenv("STOKER_SEEDS")) {
    unsigned long long from = 0;
    unsigned long long many = 0;
    STOKER_CHECK(std::sscanf(seeds, "%llu:%llu", &from, &many) == 2);
    first = from;
    count = many;
  }
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

Outcome CheckText(std::string_view text, std::uint64_t seed, const Tolerance& tolerance) {
  const auto graph = ParseGraph(text);
  if (!graph.ok()) {
    Outcome outcome;
    outcome.error = "parse: " + graph.error().message;
    return outcome;
  }
  return CompareWithInterpreter(*graph, RandomInputs(*graph, seed), tolerance);
}

Outcome CheckCandidates(std::string_view text, std::uint64_t seed) {
  Outcome outcome;
  const auto graph = ParseGraph(text);
  if (!graph.ok()) {
    outcome.error = "parse: " + graph.error().message;
    return outcome;
  }
  const auto expected = InterpretCalls(*graph, {RandomInputs(*graph, seed)});
  if (!expected.ok()) {
    outcome.error = "interpreter: " + expected.error().message;
    return outcome;
  }
  for (const Target& target : X86Targets()) {
    outcome.error = CompareCandidates(target, *graph, *expected, outcome);
    if (!outcome.error.empty()) {
      outcome.error = target.ToString() + ": " + outcome.error;
      break;
    }
  }
  return outcome;
}

std::vector<std::string> LabelsOf(const Artifact& artifact) {
  std::vector<std::string> labels;
  for (const PlanStep& step : artifact.plan.steps) {
    const auto* launch = std::get_if<Launch>(&step);
    labels.push_back(launch != nullptr ? launch->label : std::get<HostCall>(step).target);
  }
  return labels;
}

}  // namespace stoker::test
