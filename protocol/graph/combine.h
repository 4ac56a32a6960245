// Combine: how two elements become one, generated from combine.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/dtype.h"
#include "protocol/graph/attribute.h"
#include "protocol/graph/op_table.h"

namespace stoker {

enum class Combine : std::uint8_t {
#define STOKER_COMBINE(combine, ...) k##combine,
#include "protocol/graph/combine.def"
#undef STOKER_COMBINE
};

inline constexpr int kNumCombines = 0
#define STOKER_COMBINE(...) +1
#include "protocol/graph/combine.def"
#undef STOKER_COMBINE
    ;

std::string_view Name(Combine combine);
DTypeSet DTypesOf(Combine combine);
bool Rounds(Combine combine);  // Whether the result of two floats is rounded.
// Those that the attribute `kind` of an op may name, in the order of combine.def.
std::vector<Combine> CombinesOf(OpKind op);
bool Has(OpKind op, Combine combine);  // Whether that is one of them.
// What the attribute `kind` names; it is one that the verifier accepts.
Combine CombineOf(const Attributes& attributes);

// As the reference interpreter computes it: integers wrap to 64 bits.
double Apply(Combine combine, double a, double b);
std::int64_t Apply(Combine combine, std::int64_t a, std::int64_t b);

// What combines with any element of the dtype to that element.
double FloatIdentity(Combine combine);
std::int64_t IntIdentity(Combine combine, DType dtype);

}  // namespace stoker
