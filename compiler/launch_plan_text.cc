#include "compiler/launch_plan_text.h"

#include <algorithm>
#include <cstdio>

#include "compiler/ir/text.h"
#include "compiler/schedule/program/memory_plan.h"
#include "protocol/graph/build/attribute_text.h"

namespace stoker {
namespace {

// One core of the class of machine that the share of a roofline is stated for.
constexpr double kPeakGflops = 250;
constexpr double kMemoryGbytes = 20;

// Time at the peak of one core, and which of the two limits it is.
std::string RooflineText(const Launch& launch) {
  if (!launch.flops.IsConstant() || !launch.bytes.IsConstant()) return "";
  const double compute = static_cast<double>(launch.flops.constant()) / kPeakGflops / 1e3;
  const double memory = static_cast<double>(launch.bytes.constant()) / kMemoryGbytes / 1e3;
  char line[64];
  std::snprintf(line, sizeof line, "  at least %.1f us by %s", std::max(compute, memory),
                compute > memory ? "flops" : "bytes");
  return line;
}

std::string BufferText(const BufferRef& buffer) {
  return " " + PlaceText(buffer.kind, buffer.index, buffer.offset) + "[" + buffer.size.ToString() +
         "]";
}

std::string StepText(const Launch& launch, const ScheduledKernel& kernel) {
  const auto* cuda = std::get_if<CudaSchedule>(&kernel.schedule);
  std::string text = "  kernel " + std::to_string(launch.kernel) + "  " + launch.label + "\n    ";
  if (cuda != nullptr) {
    text += launch.tasks.ToString() + " blocks of " + std::to_string(cuda->threads) + " threads";
  } else {
    text += "tasks " + launch.tasks.ToString() + ", in chunks of at least " +
            std::to_string(launch.min_tasks_per_chunk);
    if (launch.min_tasks_per_call != 1) {
      text += ", calls of " + std::to_string(launch.min_tasks_per_call);
    }
    text += "; scratch " + std::to_string(launch.scratch_bytes);
  }
  if (!launch.dims.empty()) text += "; dims " + Shape(launch.dims).ToString();
  text += "\n    flops " + launch.flops.ToString() + "  bytes " + launch.bytes.ToString() +
          (cuda == nullptr ? RooflineText(launch) : "") + "\n   ";
  for (const BufferRef& buffer : launch.buffers) text += BufferText(buffer);
  return text + "\n";
}

std::string StepText(const HostCall& call) {
  std::string text = "  host call ";
  AppendQuoted(call.target, text);
  for (const HostTensor& operand : call.operands) {
    text += "\n    reads " + operand.type.ToString() + BufferText(operand.buffer);
  }
  for (const HostTensor& result : call.results) {
    text += "\n    writes " + result.type.ToString() + BufferText(result.buffer);
  }
  return text + "\n";
}

// What begins and ends before a step.
std::string LoopsText(const LaunchPlan& plan, std::size_t step) {
  std::string ends;
  std::string begins;
  for (const PlanLoop& loop : plan.loops) {
    if (loop.end == step) ends += "  } again\n";
    if (loop.begin == step) begins += "  loop {\n";
    if (loop.test == step) begins += "  while" + BufferText(loop.condition) + "\n";
  }
  return ends + begins;
}

std::string UpdatesText(const LaunchPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::int32_t input = plan.outputs[i].updates_input;
    if (input < 0) continue;
    text += text.empty() ? "updates" : ",";
    text += " input" + std::to_string(input) + " by output" + std::to_string(i);
  }
  return text.empty() ? text : text + "\n";
}

std::string MatrixText(const Matmul::Matrix& matrix, bool by_columns) {
  std::string text = BufferText(matrix.place);
  if (!(matrix.offset == SymDim(0))) text += " from " + matrix.offset.ToString();
  text += (by_columns ? ", columns " : ", rows ") + matrix.leading.ToString() + " apart";
  if (!(matrix.batch_stride == SymDim(0))) {
    text += ", batches " + matrix.batch_stride.ToString();
  }
  return text;
}

std::string_view NameOf(MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::kF32:
      return "f32";
    case MatmulCompute::kTf32:
      return "tf32";
    case MatmulCompute::kF64:
      break;
  }
  return "f64";
}

std::string StepText(const LibraryCall& call) {
  const Matmul& matmul = call.matmul;
  std::string text = "  cublasLt  " + call.label + "\n    ";
  text += std::string(Name(matmul.factor)) + " to " + std::string(Name(matmul.result)) + " in " +
          std::string(NameOf(matmul.compute));
  if (matmul.alpha != 1) text += ", times " + FloatText(matmul.alpha);
  if (matmul.activation == MatmulActivation::kRelu) text += ", relu";
  text += "\n    flops " + call.flops.ToString() + "  bytes " + call.bytes.ToString();
  text += "\n    a" + MatrixText(matmul.a, matmul.a_by_columns);
  text += "\n    b" + MatrixText(matmul.b, matmul.b_by_columns);
  if (matmul.c) text += "\n    c" + MatrixText(*matmul.c, false);
  if (matmul.bias) {
    text += "\n    bias" + BufferText(matmul.bias->place);
    if (!(matmul.bias->offset == SymDim(0))) text += " from " + matmul.bias->offset.ToString();
  }
  text += "\n    d" + MatrixText(matmul.d, false);
  return text + "\n    workspace" + BufferText(matmul.workspace) + "\n";
}

}  // namespace

std::string ToString(const LaunchPlan& plan, std::span<const ScheduledKernel> kernels) {
  std::string text = "arena " + plan.arena_bytes.ToString() + " bytes, " +
                     plan.arena_zero_bytes.ToString() + " of them zeros; prepared " +
                     plan.prepared_bytes.ToString() + ", while preparing " +
                     plan.prepare_arena_bytes.ToString() + "\nprepare\n";
  for (const Launch& launch : plan.prepare) text += StepText(launch, kernels[launch.kernel]);
  text += UpdatesText(plan);
  text += "launches\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    text += LoopsText(plan, i);
    if (const auto* launch = std::get_if<Launch>(&step)) {
      text += StepText(*launch, kernels[launch->kernel]);
    } else if (const auto* call = std::get_if<LibraryCall>(&step)) {
      text += StepText(*call);
    } else {
      text += StepText(std::get<HostCall>(step));
    }
  }
  text += LoopsText(plan, plan.steps.size());
  return text;
}

}  // namespace stoker
