#include "protocol/key/compile_options.h"

#include <array>

namespace stoker {
namespace {

constexpr std::array<std::string_view, 2> kNumericsNames = {"strict", "fast"};

}  // namespace

std::string_view Name(Numerics numerics) {
  return kNumericsNames.at(static_cast<std::size_t>(numerics));
}

std::optional<Numerics> NumericsFromCode(std::uint32_t code) {
  if (code >= kNumericsNames.size()) return std::nullopt;
  return static_cast<Numerics>(code);
}

}  // namespace stoker
