// LaunchPlan: what an executable does in one call.
//
// A plan has two lists. `prepare`, of launches, runs once per binding of the parameters and fills
// the prepared buffers (packed weights, folded constants); `steps`, of launches, of calls of a
// device's libraries and of the host framework, run in every call, those in a loop as often as it
// says.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/artifact/matmul.h"
#include "protocol/base/digest.h"
#include "protocol/base/dtype.h"
#include "protocol/graph/dim/sym_dim.h"
#include "protocol/graph/graph.h"

namespace stoker {

// Where the bytes of a launch operand are. Numeric values are part of the encoded format.
enum class BufferKind : std::uint8_t {
  kInput = 0,         // index: graph input
  kOutput = 1,        // index: graph output
  kArena = 2,         // offset in the per-call arena; valid in `steps` only
  kPrepared = 3,      // offset in the prepared arena, which lives as long as the binding
  kConstant = 4,      // index into the artifact's constants
  kPrepareArena = 5,  // offset in the temporary arena of `prepare`
};

struct BufferRef {
  BufferKind kind = BufferKind::kArena;
  std::uint32_t index = 0;  // kInput, kOutput, kConstant.
  SymDim offset;            // Bytes, kArena, kPrepared, kPrepareArena.
  SymDim size;              // Bytes.
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

struct Launch {
  std::uint32_t kernel = 0;  // Index into the artifact's kernels.
  SymDim tasks;  // Number of independent tasks, on a GPU of blocks; 0: nothing is launched.
  // On a CPU alone.
  std::int64_t min_tasks_per_chunk = 1;  // Smaller pieces are not worth a thread.
  // A thread's share is not cut into smaller pieces: each call does something once for all its
  // tasks.
  std::int64_t min_tasks_per_call = 1;
  std::int64_t scratch_bytes = 0;  // What a thread has beside.
  std::vector<BufferRef> buffers;
  std::vector<SymDim> dims;
  std::string label;  // For people and profiles: "matmul+gelu 128x3072x768".
  // Cost for people, profiles and rooflines; expressions over the symbols.
  SymDim flops;
  SymDim bytes;
};

// A tensor that the host framework reads or writes: row-major, all of its buffer, which for an
// operand may begin inside of an input, output or constant.
struct HostTensor {
  TensorType type;
  BufferRef buffer;
};

// An op that the host framework runs: what a graph's extern_call is. It reads the operands, then
// writes the results, which lie in the arena or in outputs and overlap with nothing that it reads
// or writes.
struct HostCall {
  std::string target;  // The extern_call's: which op, in the host framework's own words.
  std::vector<HostTensor> operands;
  std::vector<HostTensor> results;
};

// Libraries that a device finds when it runs. Numeric values are part of the encoded format.
enum class Library : std::uint8_t {
  kCublasLt = 0,
};
inline constexpr int kNumLibraries = 1;

using Matmul = MatmulOf<SymDim, BufferRef>;

// A matrix product that a library of the device computes. It asks the library once for each set of
// sizes how that is best done, when these are first made ready on the device.
struct LibraryCall {
  Library library = Library::kCublasLt;
  Matmul matmul;
  std::string label;  // For people and profiles, as a launch's.
  SymDim flops;
  SymDim bytes;
};

using PlanStep = std::variant<Launch, HostCall, LibraryCall>;

// Steps [begin, test) compute the condition; while it holds, [test, end) run, and it begins anew.
// Loops nest: one lies in another's condition or in its body, and stands behind it in the list;
// else they stand in the order in which they begin. How often a loop runs follows from data alone:
// a plan that has one may run for any time.
struct PlanLoop {
  std::uint32_t begin = 0;
  std::uint32_t test = 0;
  std::uint32_t end = 0;
  BufferRef condition;  // One bool.
};
inline constexpr std::size_t kMaxLoopDepth = 8;

struct OutputSpec {
  TensorType type;  // Row-major.
  // >= 0: the output is this graph input, unchanged; nothing writes it and the caller returns the
  // input itself (or a copy).
  std::int32_t same_as_input = -1;
  // >= 0: the output is made in the memory of this input. Until the first step that names the
  // output, that memory holds the input; no step from there on names the input, and none calls the
  // host, so that a call which fails has changed nothing.
  std::int32_t updates_input = -1;
};

struct LaunchPlan {
  std::vector<TensorType> inputs;
  std::vector<InputRole> input_roles;
  std::vector<OutputSpec> outputs;
  SymDim arena_bytes;
  // The first bytes of the arena are zero before the first call and after that only what the plan's
  // own launches made of them: buffers there keep what no launch writes, such as a halo of zeros.
  // The runtime clears them when the arena was used in between by another plan, or by this one with
  // other sizes.
  SymDim arena_zero_bytes;
  SymDim prepared_bytes;
  SymDim prepare_arena_bytes;
  std::vector<Launch> prepare;
  std::vector<PlanStep> steps;
  std::vector<PlanLoop> loops;  // Of `steps`; on a CPU.
};

}  // namespace stoker
