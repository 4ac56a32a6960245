#include "compiler/ir/joined_func.h"

#include "compiler/ir/text.h"

namespace stoker {

std::uint32_t NumOperands(const JoinedFunc& func) {
  std::size_t operands = 0;
  for (const LoopFunc& part : func.parts) operands += part.operands.size();
  return static_cast<std::uint32_t>(operands);
}

std::string ToString(const JoinedFunc& func) {
  std::string text = "joined {\n";
  for (const LoopFunc& part : func.parts) text += Indent(ToString(part), 2);
  return text + "}\n";
}

Status Verify(const JoinedFunc& func) {
  for (const LoopFunc& part : func.parts) STOKER_RETURN_IF_ERROR(Verify(part));
  return Ok();
}

}  // namespace stoker
