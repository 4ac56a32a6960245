// SizedPlan: a launch plan with every expression evaluated for one set of symbol values, and every
// buffer checked against the memory it lies in.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/matmul.h"
#include "protocol/base/result.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

struct SizedBuffer {
  BufferKind kind = BufferKind::kArena;
  std::uint32_t index = 0;  // As in BufferRef.
  std::int64_t offset = 0;  // Bytes.
  std::int64_t size = 0;    // Bytes.
  friend bool operator==(const SizedBuffer&, const SizedBuffer&) = default;
};

struct SizedLaunch {
  std::uint32_t kernel = 0;
  std::int64_t tasks = 0;
  std::int64_t min_tasks_per_chunk = 1;
  std::int64_t min_tasks_per_call = 1;
  std::int64_t scratch_bytes = 0;
  std::vector<SizedBuffer> buffers;
  std::vector<std::int64_t> dims;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

using SizedMatmul = MatmulOf<std::int64_t, SizedBuffer>;

struct SizedLibraryCall {
  Library library = Library::kCublasLt;
  SizedMatmul matmul;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

// What is given to a queue.
using SizedWork = std::variant<SizedLaunch, SizedLibraryCall>;

// Where a plan does something else than to go on with the next launch.
struct PlanMark {
  enum class Kind : std::uint8_t {
    kHostCall,  // number: which one.
    kBegin,     // Of a loop.
    kTest,      // Of a loop: where the condition is false, it goes on behind the mark `number`.
    kRepeat,    // It goes on behind the mark `number`, the loop's kBegin.
  };
  std::size_t launches_before = 0;  // Of SizedPlan::launches, in the plan's order.
  Kind kind = Kind::kHostCall;
  std::size_t number = 0;
  SizedBuffer condition;  // kTest: one bool.
  friend bool operator==(const PlanMark&, const PlanMark&) = default;
};

struct SizedHostCall {
  std::vector<SizedBuffer> operands;
  std::vector<SizedBuffer> results;
  std::vector<std::int64_t> sizes;  // Of all dims of each operand, then of each result.
};

struct SizedPlan {
  std::uint64_t serial = 0;  // No other plan that was sized in this process has it.
  std::int64_t arena_bytes = 0;
  std::int64_t arena_zero_bytes = 0;
  std::vector<SizedWork> launches;                      // Of the plan's steps, host calls apart.
  std::vector<SizedHostCall> host_calls;                // The same.
  std::vector<PlanMark> marks;                          // In the plan's order.
  std::vector<std::vector<std::int64_t>> output_sizes;  // One per graph output.
};

// The part that runs once per binding; it never depends on symbols.
struct SizedPrepare {
  std::int64_t prepared_bytes = 0;
  std::int64_t prepare_arena_bytes = 0;
  std::vector<SizedLaunch> launches;
};

// Limits of one plan; beyond them sizing fails with ResourceExhausted.
inline constexpr std::int64_t kMaxArenaBytes = std::int64_t{1} << 42;
inline constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 28;  // Per thread.

// InvalidArgument when a symbol is not bound, a size is negative, or a buffer does not lie inside
// its arena, input, output or constant, a buffer of a host call is not the size of its tensor, a
// matrix of a matmul does not lie in its buffer, or a result of either overlaps with what else the
// call reads or writes; the message names step and operand.
Result<SizedPlan> SizePlan(const Artifact& artifact, const SymBindings& bindings);
Result<SizedPrepare> SizePrepare(const Artifact& artifact);

}  // namespace stoker
