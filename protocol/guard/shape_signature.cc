#include "protocol/guard/shape_signature.h"

namespace stoker {

std::string ShapeSignature::ToString() const {
  std::string out;
  for (const SymbolFact& fact : symbols) {
    if (!out.empty()) out += ", ";
    out += "s" + std::to_string(fact.symbol) + " in [" + std::to_string(fact.min) + "," +
           (fact.max == INT64_MAX ? "inf" : std::to_string(fact.max)) + "]";
    if (fact.divisible_by != 1) out += " %" + std::to_string(fact.divisible_by);
    if (fact.hint != 0) out += " hint " + std::to_string(fact.hint);
  }
  if (inputs.empty()) return out;
  out += out.empty() ? "inputs:" : "; inputs:";
  for (const InputFact& fact : inputs) out += " " + std::to_string(fact.alignment_bytes);
  return out;
}

}  // namespace stoker
