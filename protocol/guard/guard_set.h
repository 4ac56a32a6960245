// Guards: conditions on actual inputs under which an artifact may run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/base/dtype.h"
#include "protocol/base/result.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

// What a guard looks at: one actual input of a call. Strides are in elements.
struct InputView {
  DType dtype = DType::kF32;
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
};

// The numeric values are part of the encoded format: append, never renumber; 4 and 6 have been
// used.
enum class GuardKind : std::uint8_t {
  kDType = 0,        // value: DType code
  kRank = 1,         // value: rank
  kSizeEquals = 2,   // dim; value
  kSizeRange = 3,    // dim; value..limit inclusive
  kContiguous = 5,   // row-major strides
  kSizeExpr = 7,     // dim; size == expr over the symbols bound so far
  kBindSymbol = 8,   // dim; binds symbol `value` (always true)
  kNotNegative = 9,  // expr >= 0 over the symbols bound so far, whatever the input
};
std::optional<GuardKind> GuardKindFromCode(std::uint8_t code);

struct Guard {
  GuardKind kind = GuardKind::kRank;
  std::uint32_t input = 0;
  std::int32_t dim = -1;
  std::int64_t value = 0;
  std::int64_t limit = 0;
  SymDim expr;

  std::string ToString() const;  // "input 3 size 1 == 768".
};

class GuardSet {
 public:
  GuardSet() = default;
  explicit GuardSet(std::vector<Guard> guards);

  // True when every guard holds; stops at the first failure. A guard on an input or a dim that the
  // call does not have fails. No allocation, except for guards with an expression of more than one
  // symbol.
  bool Holds(std::span<const InputView> inputs) const;
  // The first guard that fails with what was found, "input 3 size 1 == 768: found 512."
  std::optional<std::string> Explain(std::span<const InputView> inputs) const;
  // Values of the symbols in one call. Requires Holds(inputs).
  SymBindings Bind(std::span<const InputView> inputs) const;

  const std::vector<Guard>& guards() const { return guards_; }

 private:
  // Where a symbol's value is read in a call: the first kBindSymbol guard that names it.
  struct Binding {
    std::uint32_t symbol;
    std::uint32_t input;
    std::int32_t dim;
  };

  const Binding* FindBinding(std::uint32_t symbol) const;
  std::optional<std::int64_t> SymbolValue(std::uint32_t symbol,
                                          std::span<const InputView> inputs) const;
  // The expression of guard `index` in a call; nullopt when a symbol has no value.
  std::optional<std::int64_t> ValueOf(std::size_t index, std::span<const InputView> inputs) const;
  bool GuardHolds(std::size_t index, std::span<const InputView> inputs) const;

  std::vector<Guard> guards_;
  std::vector<Binding> bindings_;  // Sorted by symbol.
  // Per guard: the symbol that its expression consists of, or -1.
  std::vector<std::int64_t> lone_symbols_;
};

}  // namespace stoker
