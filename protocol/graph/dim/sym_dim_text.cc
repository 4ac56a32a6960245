// Text form of SymDim:
//   sum     := ["-"] product (("+" | "-") product)*
//   product := primary ("*" primary)*
//   primary := integer | "s" digits | "overflow" | "(" sum ")" | call "(" sum "," sum ")"
//   call    := "floordiv" | "ceildiv" | "mod" | "max" | "min"
#include <charconv>

#include "protocol/graph/dim/sym_dim.h"
#include "protocol/graph/dim/sym_expr.h"

namespace stoker {
namespace {

using Atom = SymExpr::Atom;
using AtomKind = SymExpr::AtomKind;
using Term = SymExpr::Term;

std::string_view CallName(AtomKind kind) {
  switch (kind) {
    case AtomKind::kFloorDiv:
      return "floordiv";
    case AtomKind::kMax:
      return "max";
    case AtomKind::kMin:
      return "min";
    case AtomKind::kSymbol:
    case AtomKind::kOverflow:
      break;
  }
  return "";
}

void Print(const SymDim& dim, std::string& out);

void Print(const Atom& atom, std::string& out) {
  if (atom.kind == AtomKind::kSymbol) {
    out += 's';
    out += std::to_string(atom.symbol);
    return;
  }
  if (atom.kind == AtomKind::kOverflow) {
    out += "overflow";
    return;
  }
  out += CallName(atom.kind);
  out += '(';
  Print(atom.a, out);
  out += ',';
  Print(atom.b, out);
  out += ')';
}

void Print(const Term& term, bool first, std::string& out) {
  const bool is_unit = !term.factors.empty() && (term.coefficient == 1 || term.coefficient == -1);
  if (!first && term.coefficient > 0) out += '+';
  if (is_unit) {
    if (term.coefficient < 0) out += '-';
  } else {
    out += std::to_string(term.coefficient);
  }
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    if (i > 0 || !is_unit) out += '*';
    Print(term.factors[i], out);
  }
}

void Print(const SymDim& dim, std::string& out) {
  const SymExpr* expr = SymExpr::Of(dim);
  if (expr == nullptr) {
    out += std::to_string(dim.constant());
    return;
  }
  bool first = true;
  for (const Term& term : expr->terms()) {
    Print(term, first, out);
    first = false;
  }
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Result<SymDim> Parse() {
    STOKER_TRY(SymDim dim, Sum(0));
    if (position_ != text_.size()) return Unexpected("an operator or the end");
    return dim;
  }

 private:
  Error Unexpected(std::string_view expected) const {
    return InvalidArgument("Dimension '" + std::string(text_.substr(0, 80)) + "' needs " +
                           std::string(expected) + " at position " + std::to_string(position_) +
                           ".");
  }

  bool Take(char c) {
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  bool AtNegativeNumber() const {
    return position_ + 1 < text_.size() && text_[position_] == '-' && IsDigit(text_[position_ + 1]);
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  template <typename T>
  Result<T> Number() {
    T value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc()) return Unexpected("a number in range");
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  Result<SymDim> Sum(int depth) {
    if (depth > kMaxSymDimDepth) {
      return InvalidArgument("Dimension nests deeper than " + std::to_string(kMaxSymDimDepth) +
                             ".");
    }
    // A sign before digits belongs to the number: -9223372036854775808 without it does not fit.
    const bool negate = !AtNegativeNumber() && Take('-');
    STOKER_TRY(SymDim sum, Product(depth));
    if (negate) sum = sum * -1;
    for (;;) {
      const bool add = AtNegativeNumber() || Take('+');
      if (!add && !Take('-')) return sum;
      STOKER_TRY(const SymDim next, Product(depth));
      sum = add ? sum + next : sum - next;
    }
  }

  Result<SymDim> Product(int depth) {
    STOKER_TRY(SymDim product, Primary(depth));
    while (Take('*')) {
      STOKER_TRY(const SymDim next, Primary(depth));
      product = product * next;
    }
    return product;
  }

  Result<SymDim> Primary(int depth) {
    if (position_ == text_.size()) return Unexpected("a number or a symbol");
    const char c = text_[position_];
    if (IsDigit(c) || c == '-') {
      STOKER_TRY(const std::int64_t value, Number<std::int64_t>());
      return SymDim(value);
    }
    if (c == 's' && position_ + 1 < text_.size() && IsDigit(text_[position_ + 1])) {
      ++position_;
      STOKER_TRY(const std::uint32_t id, Number<std::uint32_t>());
      return SymDim::Symbol(id);
    }
    if (Take('(')) {
      STOKER_TRY(SymDim inner, Sum(depth + 1));
      if (!Take(')')) return Unexpected("')'");
      return inner;
    }
    if (TakeWord("overflow")) return SymExpr::Overflow();
    if (TakeWord("floordiv(")) return Call(&SymDim::FloorDiv, depth);
    if (TakeWord("ceildiv(")) return Call(&SymDim::CeilDiv, depth);
    if (TakeWord("mod(")) return Call(&SymDim::Mod, depth);
    if (TakeWord("max(")) return Call(&SymDim::Max, depth);
    if (TakeWord("min(")) return Call(&SymDim::Min, depth);
    return Unexpected("a number or a symbol");
  }

  Result<SymDim> Call(SymDim (*function)(const SymDim&, const SymDim&), int depth) {
    STOKER_TRY(const SymDim a, Sum(depth + 1));
    if (!Take(',')) return Unexpected("','");
    STOKER_TRY(const SymDim b, Sum(depth + 1));
    if (!Take(')')) return Unexpected("')'");
    return function(a, b);
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::string SymDim::ToString() const {
  std::string out;
  Print(*this, out);
  return out;
}

Result<SymDim> SymDim::Parse(std::string_view text) {
  if (text.size() > kMaxSymDimText) {
    return ResourceExhausted("Dimension of " + std::to_string(text.size()) +
                             " characters exceeds the limit of " + std::to_string(kMaxSymDimText) +
                             ".");
  }
  return DimParser(text).Parse();
}

}  // namespace stoker
