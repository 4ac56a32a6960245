#include "protocol/key/compile_options.h"

#include <algorithm>
#include <array>

namespace stoker {
namespace {

constexpr std::array<std::string_view, 3> kModeNames = {"default", "reduce-overhead",
                                                        "max-autotune"};
constexpr std::array<std::string_view, 2> kNumericsNames = {"strict", "fast"};

}  // namespace

std::string_view Name(CompileMode mode) { return kModeNames.at(static_cast<std::size_t>(mode)); }

std::string_view Name(Numerics numerics) {
  return kNumericsNames.at(static_cast<std::size_t>(numerics));
}

std::optional<CompileMode> ParseCompileMode(std::string_view name) {
  const auto at = std::ranges::find(kModeNames, name);
  if (at == kModeNames.end()) return std::nullopt;
  return static_cast<CompileMode>(at - kModeNames.begin());
}

std::optional<CompileMode> CompileModeFromCode(std::uint32_t code) {
  if (code >= kModeNames.size()) return std::nullopt;
  return static_cast<CompileMode>(code);
}

std::optional<Numerics> NumericsFromCode(std::uint32_t code) {
  if (code >= kNumericsNames.size()) return std::nullopt;
  return static_cast<Numerics>(code);
}

}  // namespace stoker
