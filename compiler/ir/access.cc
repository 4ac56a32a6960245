#include "compiler/ir/access.h"

namespace stoker {
namespace {

std::string TermText(const IndexTerm& term) {
  std::string text = "i" + std::to_string(term.dim);
  if (term.divisor != 1) text = "(" + text + " / " + std::to_string(term.divisor) + ")";
  if (term.modulus != 0) text = "(" + text + " % " + std::to_string(term.modulus) + ")";
  if (term.coefficient == SymDim(1)) return text;
  std::string coefficient = term.coefficient.ToString();
  if (!term.coefficient.IsConstant()) coefficient = "(" + coefficient + ")";
  return coefficient + "*" + text;
}

}  // namespace

SymDim IndexMap::CoefficientOf(int dim) const {
  SymDim sum = 0;
  for (const IndexTerm& term : terms) {
    if (term.dim == dim && term.divisor == 1 && term.modulus == 0) sum = sum + term.coefficient;
  }
  return sum;
}

bool IndexMap::IsAffine() const {
  for (const IndexTerm& term : terms) {
    if (term.divisor != 1 || term.modulus != 0) return false;
  }
  return true;
}

std::string IndexMap::ToString() const {
  std::string text;
  for (const IndexTerm& term : terms) {
    if (!text.empty()) text += " + ";
    text += TermText(term);
  }
  if (text.empty()) return offset.ToString();
  if (offset == SymDim(0)) return text;
  return text + " + " + offset.ToString();
}

}  // namespace stoker
