// What the planning of all micro-kernels shares, and the part of it that is for f32 in parts.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/cpu/contraction_plan.h"

namespace stoker::codegen {

// What symbolic extents are taken to be where only speed depends on it.
constexpr std::int64_t kTypicalExtent = 128;

inline std::optional<std::int64_t> ConstantOf(const SymDim& dim) {
  if (!dim.IsConstant()) return std::nullopt;
  return dim.constant();
}
inline std::int64_t Typical(const SymDim& dim) { return ConstantOf(dim).value_or(kTypicalExtent); }
inline std::int64_t DivUp(std::int64_t x, std::int64_t y) { return (x + y - 1) / y; }
inline std::int64_t RoundUp(std::int64_t x, std::int64_t y) { return DivUp(x, y) * y; }

inline bool IsAmx(MicroKernel kernel) {
  return kernel == MicroKernel::kAmx || kernel == MicroKernel::kAmxSplit;
}
// A rough estimate.
double NsPerProduct(const ContractionPlan& plan);

// Whether a task may split all that lies between its first and its last element of A and read it in
// place: a convolution whose pixels are whole granules.
bool CanStageSpan(const ContractionFunc& func, const ContractionPlan& plan);
// For kAmxSplit: chooses units_per_task, chunk, panels_per_task and how A is staged. `depth`:
// padded K.
void CutTasksInParts(ContractionPlan& plan, std::int64_t depth, bool in_span);
// Places what only kAmxSplit keeps in scratch from plan.staged_offset on, and moves that.
void LayOutSplitScratch(ContractionPlan& plan, const ContractionFunc& func);

}  // namespace stoker::codegen
