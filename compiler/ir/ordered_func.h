// Kernels whose work along one dim is ordered: scans, sorts, scatters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

// out[outer, i] = kind over in[outer, 0..i]. Iteration dims: outer dims, then the scanned dim,
// whose index runs in the direction of the scan.
struct ScanFunc {
  std::vector<SymDim> outer;
  SymDim extent;
  Combine kind = Combine::kAdd;  // One that cumulative has.
  DType dtype = DType::kF64;     // Of the accumulator: ScanType.
  bool exclusive = false;
  Access input;   // Operand 0.
  Access output;  // Operand 1.
};

// Where combining floats rounds, it is done in f64: a scan has to be one chain.
DType ScanType(Combine kind, DType element);

// Stable sort of a key along one dim, carrying other values; or its first `keep` results (top_k).
// Kernels sort in scratch, which has to have a size when they are compiled: where that is not known
// the last operand is memory to sort in, SortWorkElements of i64.
struct SortFunc {
  std::vector<SymDim> outer;
  SymDim extent;
  std::int64_t keep = -1;       // -1: all.
  bool descending = false;      // NaN counts as largest.
  Access key;                   // Operand 0.
  std::vector<Access> values;   // Operands 1..n: carried along.
  std::vector<Access> outputs;  // Operands after them: key, then values.
  bool output_index = false;    // One more output: the source index, i64.
};

// out[position of the update] = kind(out, update), in row-major order of the updates. The position
// is `output` plus, for each scattered dim, its index times its stride; an element whose position
// along a scattered dim is out of bounds is skipped. Iteration dims: those of the updates,
// outermost first.
struct ScatterFunc {
  std::vector<SymDim> dims;         // Of the updates.
  Combine kind = Combine::kAssign;  // One that scatter has.
  DType dtype = DType::kF32;
  Access update;  // Operand 1.
  // Per scattered dim.
  std::vector<Access> indices;        // Operand 2: an i64 or i32; the same all over a window.
  std::vector<int> window_dims;       // The update dim that adds to the index; -1: none.
  std::vector<SymDim> index_limits;   // In bounds: 0 <= index + window < limit.
  std::vector<SymDim> index_strides;  // Of the output, elements.
  Access output;                      // Operand 0: window part of the position, over dims.
};

// Whether two updates that differ in their place along the dim go to two elements, whatever the
// indices are.
bool KeepsApart(const ScatterFunc& func, int dim);

// Up to here the first results of a sort are found by insertion in one pass.
inline constexpr std::int64_t kMaxInsertedResults = 64;
// Nothing when scratch is enough.
std::optional<SymDim> SortWorkElements(const SortFunc& func);

// Buffers of the launch.
std::uint32_t NumOperands(const ScanFunc& func);
std::uint32_t NumOperands(const SortFunc& func);
std::uint32_t NumOperands(const ScatterFunc& func);

std::string ToString(const ScanFunc& func);
std::string ToString(const SortFunc& func);
std::string ToString(const ScatterFunc& func);
Status Verify(const ScanFunc& func);
Status Verify(const SortFunc& func);
Status Verify(const ScatterFunc& func);

}  // namespace stoker
