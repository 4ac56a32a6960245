// Program: a scheduled graph. Steps in launch order over storages that have no address yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/schedule/program/layout.h"
#include "protocol/artifact/launch_plan.h"

namespace stoker {

using StorageId = std::uint32_t;
inline constexpr StorageId kNoStorage = 0xffffffffU;

// A stretch of memory that holds one value, or a packed matrix.
struct Storage {
  BufferKind kind = BufferKind::kArena;
  std::uint32_t index = 0;  // kInput, kOutput, kConstant.
  DType dtype = DType::kF32;
  Shape shape;  // Of a packed matrix: its number of elements.
  Layout layout;
  SymDim bytes;
};

// An op that the host framework runs, on row-major tensors without a halo: the step's buffers are
// the operands, then the results.
struct HostOp {
  std::string target;
  std::vector<TensorType> operands;
  std::vector<TensorType> results;
};

// A matrix product that a library computes; a place is an index into the step's buffers.
using LibraryMatmul = MatmulOf<SymDim, std::uint32_t>;
struct LibraryOp {
  Library library = Library::kCublasLt;
  LibraryMatmul matmul;
};

struct Step {
  std::variant<KernelFunc, HostOp, LibraryOp> work;
  std::vector<StorageId> buffers;  // In operand order.
  // Elements into buffer i where the kernel's operand starts; empty: 0 for all.
  std::vector<SymDim> offsets;
  // What the symbols of a kernel are in the program, where it is of a region, which has its own.
  std::map<std::uint32_t, SymDim> symbols;
  bool prepared = false;
  std::uint32_t group = 0;  // Of the graph's nodes: the one that it computes a part of.
  std::string label;
  SymDim flops;
  SymDim bytes;

  const KernelFunc* func() const { return std::get_if<KernelFunc>(&work); }  // Null: no kernel.
};

// Steps [begin, test) compute whether [test, end) run, after which it begins anew. Loops nest: one
// lies in another's condition or in its body, or apart from it.
struct ProgramLoop {
  std::size_t begin = 0;
  std::size_t test = 0;
  std::size_t end = 0;
  StorageId condition = kNoStorage;  // One bool.
};

struct Program {
  std::vector<Storage> storages;
  std::vector<Step> steps;         // Those of `prepare` and those of every call, each in order.
  std::vector<ProgramLoop> loops;  // Of steps of every call, each after those in it.
  std::vector<std::string> constants;
  std::vector<OutputSpec> outputs;
};

}  // namespace stoker
