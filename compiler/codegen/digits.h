// f32 as integers of three signed digits in base 256, with one power of two for a whole vector, a
// row of A or a column of B:
//
//   x = (65536 d[0] + 256 d[1] + d[2]) / 2^shift,   |d[0]| <= 127,  -128 <= d[1], d[2] <= 127.
//
// AMX multiplies bytes at twice the rate of bf16, and sums of integers are exact. The largest
// element of a vector fills 22 to 23 bits; what an element loses is at most 2^-23 of the largest.
// (Ootomo, Ozaki, Yokota, "DGEMM on integer matrix multiplication unit", IJHPCA 38, 2024.)
//
// A vector with an infinity or a NaN in it has the exponent NaN: there d[0] = -128 marks such
// elements, and the others have only their signs, which is all that a product with them depends on.
// In other vectors an element below 2^-24 of the largest is zero, which gives NaN with an infinity.
#pragma once

#include "compiler/codegen/emitter.h"

namespace stoker::codegen {

constexpr std::int64_t kDigits = 3;
// AMX multiplies this many neighbours along K at a time, and fours of them lie together.
constexpr std::int64_t kDigitGranule = 64;
// Tiles of sums: two for products whose numbers add up to 2, of which there are three.
constexpr int kDigitSums = 4;

// Scalars, or lanes of one vector each.
struct DigitScale {
  llvm::Value* shift = nullptr;     // f32, an integer.
  llvm::Value* exponent = nullptr;  // f32. A product of vectors is 2^(sum of both exponents) times
                                    // that of their digits, as SumOfDigits puts it together.
  llvm::Value* special = nullptr;   // i1: an element is not finite.
};

// The bits of |x|: as integers they are ordered as the magnitudes are, and NaN is the largest.
llvm::Value* MagnitudeBits(KernelEmitter& e, llvm::Value* x);
DigitScale DigitScaleOf(KernelEmitter& e, llvm::Value* largest_bits);

// The functions below are for vectors of 16 lanes.

// i32 lanes: byte 2 is d[0], byte 1 d[1], byte 0 d[2]. `shift`: f32 lanes.
llvm::Value* DigitsOf(KernelEmitter& e, llvm::Value* x, llvm::Value* shift);
// Where the vector is special.
llvm::Value* SpecialDigitsOf(KernelEmitter& e, llvm::Value* x);
// The value of such bytes as f32, unscaled, or what the mark says.
llvm::Value* ValueOfDigits(KernelEmitter& e, llvm::Value* digits);

// (65536 sums[0] + 256 sums[1] + sums[2]) * 2^exponent; sums[i]: of products of digits whose
// numbers add up to i, i32 lanes.
llvm::Value* SumOfDigits(KernelEmitter& e, llvm::ArrayRef<llvm::Value*> sums,
                         llvm::Value* exponent);

}  // namespace stoker::codegen
