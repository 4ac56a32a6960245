#include "protocol/base/float16.h"

namespace stoker {

float FloatFromF16(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

std::uint16_t F16FromFloat(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

}  // namespace stoker
