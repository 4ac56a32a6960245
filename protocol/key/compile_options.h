// CompileOptions: what the caller may choose about a compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/key/unkeyed.h"

namespace stoker {

enum class CompileMode : std::uint8_t { kDefault = 0, kReduceOverhead = 1, kMaxAutotune = 2 };

// kStrict: no reassociation beyond what a blocked reduction needs, correctly handled NaN and inf.
// kFast additionally allows contraction of multiply-add across statements and approximate division.
enum class Numerics : std::uint8_t { kStrict = 0, kFast = 1 };

std::string_view Name(CompileMode mode);   // "default", "reduce-overhead", "max-autotune".
std::string_view Name(Numerics numerics);  // "strict", "fast".
std::optional<CompileMode> ParseCompileMode(std::string_view name);
std::optional<CompileMode> CompileModeFromCode(std::uint32_t code);
std::optional<Numerics> NumericsFromCode(std::uint32_t code);

struct CompileOptions {
  CompileMode mode = CompileMode::kDefault;
  Numerics numerics = Numerics::kStrict;
  bool verify = false;  // The first call runs beside the interpreter.
  // How many threads the job runs with: a hint for task sizes, never a correctness condition.
  std::int32_t threads = 0;  // 0: unknown.
  // Debug output goes beside the artifact, not into it.
  Unkeyed<bool, "debug output does not change the artifact"> dump_debug{false};
};

}  // namespace stoker
