// Code generation: KernelFunc -> machine code. The only folder that sees LLVM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/timing/laps.h"
#include "protocol/base/result.h"
#include "protocol/graph/sym_dim.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/target.h"

namespace stoker {

// How a kernel is launched.
struct LaunchShape {
  SymDim tasks;  // Independent tasks; see kernel_abi.h.
  std::int64_t min_tasks_per_chunk = 1;
  std::int64_t scratch_bytes = 0;
  std::vector<SymDim> dims;  // What the kernel expects in `dims`, in order.
};

struct KernelCode {
  std::string elf;  // Shared object exporting kKernelSymbol, without undefined symbols.
};

struct KernelListing {
  std::string llvm_ir;  // After optimization.
  std::string assembly;
};

// Follows from the function and the target alone, without compiling it.
Result<LaunchShape> LaunchShapeOf(const KernelFunc& func, const Target& target);
// How a contraction of this dtype and these sizes multiplies on `target`.
struct ProductLayout {
  PackedLayout rhs;
  int parts = 3;  // See ContractionFunc.

  friend bool operator==(const ProductLayout&, const ProductLayout&) = default;
};
ProductLayout ChooseProductLayout(DType dtype, Numerics numerics, const SymDim& m, const SymDim& n,
                                  const SymDim& k, const Target& target);
// Deterministic: equal input, equal bytes. Thread-safe. `laps`, if there are any, get its steps.
Result<KernelCode> GenerateKernel(const KernelFunc& func, const Target& target,
                                  Laps* laps = nullptr);
Result<KernelListing> ListKernel(const KernelFunc& func, const Target& target);

// "llvm-22.1.8"
std::string CodegenVersion();

}  // namespace stoker
