#include "protocol/base/dtype.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

struct Row {
  DType dtype;
  int code;
  const char* name;
  int size_bytes;
  bool is_float;
  bool is_integer;
};

constexpr Row kRows[] = {
    {DType::kF64, 0, "f64", 8, true, false}, {DType::kF32, 1, "f32", 4, true, false},
    {DType::kF16, 2, "f16", 2, true, false}, {DType::kBF16, 3, "bf16", 2, true, false},
    {DType::kI64, 4, "i64", 8, false, true}, {DType::kI32, 5, "i32", 4, false, true},
    {DType::kI16, 6, "i16", 2, false, true}, {DType::kI8, 7, "i8", 1, false, true},
    {DType::kU8, 8, "u8", 1, false, true},   {DType::kBool, 9, "bool", 1, false, false},
};

TEST(DType, Table_EveryDType_AsDocumented) {
  ASSERT_EQ(std::size(kRows), static_cast<std::size_t>(kNumDTypes));
  for (const Row& row : kRows) {
    EXPECT_EQ(static_cast<int>(row.dtype), row.code) << row.name;
    EXPECT_EQ(Name(row.dtype), row.name);
    EXPECT_EQ(SizeInBytes(row.dtype), row.size_bytes) << row.name;
    EXPECT_EQ(IsFloat(row.dtype), row.is_float) << row.name;
    EXPECT_EQ(IsInteger(row.dtype), row.is_integer) << row.name;
    EXPECT_EQ(ParseDType(row.name), row.dtype) << row.name;
    EXPECT_EQ(DTypeFromCode(static_cast<std::uint8_t>(row.code)), row.dtype) << row.name;
  }
}

TEST(DType, ParseDType_NoName_Nothing) {
  for (const char* name : {"", "f", "F32", "f32 ", "float32", "u64"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

TEST(DType, DTypeFromCode_BeyondTable_Nothing) {
  for (int code = kNumDTypes; code < 256; ++code) {
    EXPECT_EQ(DTypeFromCode(static_cast<std::uint8_t>(code)), std::nullopt) << code;
  }
}

}  // namespace
}  // namespace stoker
