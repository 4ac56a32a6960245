#include "tests/unit/compiler/codegen/test_array.h"

#include <cstddef>
#include <cstring>

#include "protocol/base/float16.h"

namespace stoker {

TestArray::TestArray(DType dtype, std::int64_t elements)
    : dtype_(dtype),
      elements_(elements),
      buffer_(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(elements) *
                                              static_cast<std::size_t>(SizeInBytes(dtype)))) {}

namespace {

template <typename T>
T Read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void Write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace

double TestArray::Get(std::int64_t index) const {
  const std::byte* at = static_cast<const std::byte*>(data()) + index * SizeInBytes(dtype_);
  switch (dtype_) {
    case DType::kF64:
      return Read<double>(at);
    case DType::kF32:
      return Read<float>(at);
    case DType::kF16:
      return FloatFromF16(Read<std::uint16_t>(at));
    case DType::kBF16:
      return FloatFromBF16(Read<std::uint16_t>(at));
    case DType::kI64:
      return static_cast<double>(Read<std::int64_t>(at));
    case DType::kI32:
      return Read<std::int32_t>(at);
    case DType::kI16:
      return Read<std::int16_t>(at);
    case DType::kI8:
      return Read<std::int8_t>(at);
    case DType::kU8:
    case DType::kBool:
      return Read<std::uint8_t>(at);
  }
  return 0;
}

void TestArray::Set(std::int64_t index, double value) {
  std::byte* at = static_cast<std::byte*>(data()) + index * SizeInBytes(dtype_);
  switch (dtype_) {
    case DType::kF64:
      return Write(at, value);
    case DType::kF32:
      return Write(at, static_cast<float>(value));
    case DType::kF16:
      return Write(at, F16FromFloat(static_cast<float>(value)));
    case DType::kBF16:
      return Write(at, BF16FromFloat(static_cast<float>(value)));
    case DType::kI64:
      return Write(at, static_cast<std::int64_t>(value));
    case DType::kI32:
      return Write(at, static_cast<std::int32_t>(value));
    case DType::kI16:
      return Write(at, static_cast<std::int16_t>(value));
    case DType::kI8:
      return Write(at, static_cast<std::int8_t>(value));
    case DType::kU8:
      return Write(at, static_cast<std::uint8_t>(value));
    case DType::kBool:
      return Write(at, static_cast<std::uint8_t>(value != 0));
  }
}

void TestArray::Fill(double value) {
  for (std::int64_t i = 0; i < elements_; ++i) Set(i, value);
}

void TestArray::Randomize(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(dtype_ == DType::kU8 ? 0 : -9, 9);
  for (std::int64_t i = 0; i < elements_; ++i) {
    Set(i, IsFloat(dtype_) ? normal(random) : small(random));
  }
}

}  // namespace stoker
