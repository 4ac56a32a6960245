// Elements of tensors as numbers: reading and writing one little-endian element of any dtype.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/base/dtype.h"

namespace stoker {

// `dtype` is a float dtype. Writing rounds to nearest even, once.
double ReadFloatElement(DType dtype, const char* bytes);
void WriteFloatElement(DType dtype, double value, char* bytes);

// `dtype` is an integer dtype or bool. Writing wraps integers to the width; bool is value != 0.
std::int64_t ReadIntElement(DType dtype, const char* bytes);
void WriteIntElement(DType dtype, std::int64_t value, char* bytes);

// What storing `value` in `dtype` and reading it back gives.
double RoundToDType(DType dtype, double value);
std::int64_t WrapToDType(DType dtype, std::int64_t value);

// The `convert` op: float to integer truncates, as OPS.md says of what is out of range; to bool is
// `!= 0`.
std::int64_t FloatToInt(DType to, double value);

// The bytes of the `dtype` that is nearest to `value`: truncated and saturated, 0 for NaN.
std::string ElementBytes(DType dtype, double value);

}  // namespace stoker
