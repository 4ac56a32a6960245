// ShapeSignature: which dims of the inputs are static and which symbolic, and the facts about the
// symbols that the compiler may exploit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"

namespace stoker {

// A fact about one symbol. The artifact's GuardSet checks what the compiler used of them.
struct SymbolFact {
  std::uint32_t symbol = 0;
  std::int64_t min = 0;           // Inclusive.
  std::int64_t max = INT64_MAX;   // Inclusive.
  std::int64_t divisible_by = 1;  // >= 1.
  std::int64_t hint = 0;          // The size seen when the graph was captured; 0: none.
  friend bool operator==(const SymbolFact&, const SymbolFact&) = default;
};

// Facts about one input beyond its TensorType, which stands in the Graph.
struct InputFact {
  std::int64_t alignment_bytes = 1;  // Of the data pointer; a power of two.
  friend bool operator==(const InputFact&, const InputFact&) = default;
};

struct ShapeSignature {
  std::vector<SymbolFact> symbols;  // One per symbol of the graph, in order.
  std::vector<InputFact> inputs;    // One per graph input, in order; empty: no facts.

  std::string ToString() const;  // "s0 in [2,512] %8; inputs: 64 64 1".
  friend bool operator==(const ShapeSignature&, const ShapeSignature&) = default;
};

}  // namespace stoker
