// The forms in which a GPU runs loops, before it is known how many threads share what.
#pragma once

#include <cstdint>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "protocol/base/result.h"

namespace stoker::cuda {

// Whatever the sizes are.
bool IsMultiple(const SymDim& dim, int of);

enum class LoopForm : std::uint8_t { kPoints, kRows, kColumns };

// Rewrites `func` so that its inner dims are those that are reduced, and merges neighbouring dims
// that step as one. Unimplemented where some reduction keeps a dim that another one reduces.
Result<LoopForm> ToLoopForm(LoopFunc& func);

// The dim along which vectors lie; -1: there is none.
int VectorDim(const LoopFunc& func, LoopForm form);

// Elements of a vector: as many as make 16 bytes of the widest operand that runs along `dim`, where
// all that do are contiguous there and stay aligned; otherwise fewer, down to 1.
int VectorWidth(const LoopFunc& func, int dim, const GpuMachine& machine);

// Whether every stage that has loops has the same.
bool HasOneSpace(const LoopFunc& func);

// Registers of 32 bits that the temporaries of one row element take at most, all that are needed at
// a time.
int LiveRegisters(const LoopFunc& func);

}  // namespace stoker::cuda
