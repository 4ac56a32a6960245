// CompileOptions: what the caller may choose about a compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

// kStrict: no reassociation beyond what a blocked reduction needs, correctly handled NaN and inf.
// kFast additionally allows contraction of multiply-add across statements and approximate division.
enum class Numerics : std::uint8_t { kStrict = 0, kFast = 1 };

std::string_view Name(Numerics numerics);  // "strict", "fast".
std::optional<Numerics> NumericsFromCode(std::uint32_t code);

struct CompileOptions {
  Numerics numerics = Numerics::kStrict;
};

}  // namespace stoker
