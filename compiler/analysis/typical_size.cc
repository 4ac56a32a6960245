#include "compiler/analysis/typical_size.h"

namespace stoker {
namespace {

constexpr std::int64_t kTypicalExtent = 128;

}  // namespace

std::int64_t TypicalSize(const SymDim& size) {
  if (size.IsConstant()) return size.constant();
  SymBindings typical;
  for (const std::uint32_t symbol : size.Symbols()) typical[symbol] = kTypicalExtent;
  const Result<std::int64_t> value = size.Evaluate(typical);
  return value.ok() ? *value : kTypicalExtent;
}

double TypicalBytes(const TensorType& type) {
  auto bytes = static_cast<double>(SizeInBytes(type.dtype));
  for (const SymDim& size : type.shape) bytes *= static_cast<double>(TypicalSize(size));
  return bytes;
}

}  // namespace stoker
