#include "protocol/artifact/updates.h"

#include <string>
#include <string_view>
#include <vector>

namespace stoker {
namespace {

constexpr std::string_view kField = "plan.outputs.updates_input";

Error Wrong(const std::string& why) {
  return InvalidArgument("Field '" + std::string(kField) + "' " + why);
}

template <typename Visit>
void ForEachBuffer(const PlanStep& step, const Visit& visit) {
  if (const auto* launch = std::get_if<Launch>(&step)) {
    for (const BufferRef& buffer : launch->buffers) visit(buffer);
    return;
  }
  if (const auto* call = std::get_if<LibraryCall>(&step)) {
    const Matmul& matmul = call->matmul;
    for (const Matmul::Matrix* matrix : {&matmul.a, &matmul.b, &matmul.d}) visit(matrix->place);
    if (matmul.c) visit(matmul.c->place);
    if (matmul.bias) visit(matmul.bias->place);
    return visit(matmul.workspace);
  }
  const auto& call = std::get<HostCall>(step);
  for (const HostTensor& operand : call.operands) visit(operand.buffer);
  for (const HostTensor& result : call.results) visit(result.buffer);
}

// Is each updated input an activation, updated once, by an output that is not an input as it is?
Status CheckUpdatedInputs(const LaunchPlan& plan) {
  std::vector<bool> is_updated(plan.inputs.size());
  for (const OutputSpec& output : plan.outputs) {
    if (output.updates_input < 0) continue;
    const auto input = static_cast<std::size_t>(output.updates_input);
    const std::string name = "names input " + std::to_string(input);
    if (output.same_as_input >= 0) return Wrong(name + " of an output that is an input.");
    if (plan.input_roles[input] != InputRole::kActivation) return Wrong(name + ", a parameter.");
    if (is_updated[input]) return Wrong(name + " twice.");
    is_updated[input] = true;
  }
  for (const OutputSpec& output : plan.outputs) {
    if (output.same_as_input >= 0 && is_updated[static_cast<std::size_t>(output.same_as_input)]) {
      return Wrong("names input " + std::to_string(output.same_as_input) +
                   ", which another output is as it stands.");
    }
  }
  return Ok();
}

}  // namespace

Status CheckUpdates(const LaunchPlan& plan) {
  STOKER_RETURN_IF_ERROR(CheckUpdatedInputs(plan));
  std::vector<bool> is_overwritten(plan.inputs.size());
  bool any = false;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto fail = [&](const std::string& why) {
      return Wrong(why).WithContext("plan.steps[" + std::to_string(i) + "]");
    };
    ForEachBuffer(plan.steps[i], [&](const BufferRef& buffer) {
      if (buffer.kind != BufferKind::kOutput) return;
      const std::int32_t input = plan.outputs[buffer.index].updates_input;
      if (input < 0) return;
      is_overwritten[static_cast<std::size_t>(input)] = any = true;
    });
    if (any && std::holds_alternative<HostCall>(plan.steps[i])) {
      return fail("names an input that is overwritten when the host is called.");
    }
    bool reads_overwritten = false;
    ForEachBuffer(plan.steps[i], [&](const BufferRef& buffer) {
      reads_overwritten =
          reads_overwritten || (buffer.kind == BufferKind::kInput && is_overwritten[buffer.index]);
    });
    if (reads_overwritten) return fail("names an input that is read when it is overwritten.");
  }
  return Ok();
}

}  // namespace stoker
