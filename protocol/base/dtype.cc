#include "protocol/base/dtype.h"

#include <array>

namespace stoker {
namespace {

struct Row {
  std::string_view name;
  int size_bytes;
  bool is_float;
  bool is_integer;
};

constexpr std::array<Row, kNumDTypes> kRows = {{{"f64", 8, true, false},
                                                {"f32", 4, true, false},
                                                {"f16", 2, true, false},
                                                {"bf16", 2, true, false},
                                                {"i64", 8, false, true},
                                                {"i32", 4, false, true},
                                                {"i16", 2, false, true},
                                                {"i8", 1, false, true},
                                                {"u8", 1, false, true},
                                                {"bool", 1, false, false}}};

const Row& RowOf(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

int SizeInBytes(DType dtype) { return RowOf(dtype).size_bytes; }
std::string_view Name(DType dtype) { return RowOf(dtype).name; }
bool IsFloat(DType dtype) { return RowOf(dtype).is_float; }
bool IsInteger(DType dtype) { return RowOf(dtype).is_integer; }

std::optional<DType> ParseDType(std::string_view name) {
  for (std::uint8_t i = 0; i < kNumDTypes; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromCode(std::uint8_t code) {
  if (code >= kNumDTypes) return std::nullopt;
  return static_cast<DType>(code);
}

}  // namespace stoker
