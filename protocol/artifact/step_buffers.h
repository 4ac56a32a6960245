// The buffers that a step of a plan names.
#pragma once

#include <variant>

#include "protocol/artifact/launch_plan.h"

namespace stoker {

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

}  // namespace stoker
