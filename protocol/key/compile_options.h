// CompileOptions: what the caller may choose about a compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/graph/graph.h"
#include "protocol/key/target.h"

namespace stoker {

// What products of f32 matrices may lose for speed, as torch.set_float32_matmul_precision has it;
// compiler/NUMERICS.md states the bounds. Convolutions and everything else lose nothing.
enum class Numerics : std::uint8_t {
  kHighest = 0,  // Nothing.
  kHigh = 1,     // Factors may be sums of two bf16, of three products; on GPUs TF32.
  kMedium = 2,   // Factors may be rounded to bf16; on GPUs TF32.
};

std::string_view Name(Numerics numerics);  // "highest", "high", "medium".
std::optional<Numerics> ParseNumerics(std::string_view name);
std::optional<Numerics> NumericsFromCode(std::uint32_t code);

struct CompileOptions {
  Numerics numerics = Numerics::kHighest;

  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

// Whether a compile of this graph for this target reads numerics: products of f32 on GPUs and on
// AMX, which multiply less exact numbers faster.
bool ReadsNumerics(const Graph& graph, const Target& target);
// The options of a request: what its compile does not read is as by default, and makes no key of
// its own.
CompileOptions Canonical(CompileOptions options, const Graph& graph, const Target& target);

}  // namespace stoker
