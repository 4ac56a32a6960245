// Pieces of the printed form of kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

std::string ListText(const std::vector<int>& values);            // "[1, 2]"
std::string ListText(const std::vector<SymDim>& dims);           // "[s0, 768]"
std::string FloatText(double value);                             // Shortest form that reads back.
std::string AccessText(const Access& access);                    // "f32 @0[768*i0 + i1]"
std::string OperandsText(const std::vector<Operand>& operands);  // One "  operand ..." a line.
std::string Indent(const std::string& lines, int spaces);

}  // namespace stoker
