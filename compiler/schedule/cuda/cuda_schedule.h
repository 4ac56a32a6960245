// CudaSchedule: how a kernel runs on a GPU. A value: it is chosen here, printed, part of the
// kernel's key, and emitted as it stands.
//
// Loops have one of three forms. Vectors are neighbours in memory, which a thread moves in one
// access where its operands are aligned to 16 bytes, and element by element where they are not.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/kernel_func.h"
#include "compiler/machine/gpu_machine.h"
#include "protocol/base/result.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

// Every point is computed by itself, and every dim is an outer one. The vectors of the function in
// row-major order are cut into runs of threads * vectors, one for each block; thread t of a block
// computes the vectors t, t + threads, ... of its run, so that what a warp reads at a time lies
// together.
struct PointSchedule {
  int vectors = 1;  // Of a thread.
};

// Every inner dim is reduced, and the last one is contiguous. `team` neighbouring threads share an
// outer point: member m takes the vectors m, m + team, ... of each stage's loops.
struct RowSchedule {
  int team = 1;       // A power of 2; from 32 on, whole warps.
  int vectors = 1;    // Of a thread: of a whole row if it is kept, otherwise in flight at a time.
  bool kept = false;  // Temporaries are kept in registers from stage to stage; there are none else.
  // There is no more than a block for each SM, whose teams take rows in turn. What the next row is
  // loaded from is copied to shared memory meanwhile, and what is the same for all rows lies there:
  // see standing_rows.h, and cuda_kernel_abi.h.
  bool standing = false;
};

// Every inner dim is reduced, and the last outer one is contiguous: the vectors lie along it.
// Threads that are threads / team apart share an outer vector: member m takes the points m,
// m + team, ... of each stage's loops.
struct ColumnSchedule {
  int team = 1;    // A power of 2.
  int points = 1;  // Of a thread, in flight at a time.
};

// Loops side by side: each has blocks of its own, in their order, and in them what a PointSchedule
// says.
struct JoinedSchedule {
  struct Part {
    int width = 1;  // Elements of a vector.
    int vectors = 1;
    std::int64_t blocks = 0;
  };
  std::vector<Part> parts;
};

// Not of loops: each thread has one point of these dims of an ordered function, outermost first,
// and does there what is left, in order.
struct ThreadSchedule {
  std::vector<int> dims;
};

// Attention: each warp has some queries, for which it keeps the sums in registers. All warps of a
// block load a tile of keys and values to shared memory together, while they compute with the one
// before.
struct AttentionSchedule {
  static constexpr int kQueries = 16;  // Of a warp: the rows of one product of its tensor core.
  int keys = 64;                       // Of a tile.
};

struct CudaSchedule {
  int threads = 0;  // Of a block, along x.
  int width = 1;    // Elements of a vector: a power of 2; the widest of loops side by side.
  // Blocks that an SM holds at a time: what limits the registers of a thread.
  int blocks_per_sm = 1;
  // More, where no register is spilled for them: what a thread needs is an upper bound. 0: none.
  int most_blocks_per_sm = 0;
  std::variant<PointSchedule, RowSchedule, ColumnSchedule, JoinedSchedule, ThreadSchedule,
               AttentionSchedule>
      how;
  SymDim grid;               // Blocks, along x. 0: there is nothing to launch.
  std::vector<SymDim> dims;  // What the kernel is passed after its buffers, in order.
};

struct CudaKernel {
  KernelFunc func;  // The algorithm, or an equal one in the form that is emitted.
  CudaSchedule schedule;
};

std::string ToString(const CudaSchedule& schedule);

// The best known schedule, and with it others that compute the same, for a tuner to measure: no two
// are the same. Unimplemented, naming the kind of kernel, for what has none.
Result<CudaKernel> ScheduleForCuda(const KernelFunc& func, const GpuMachine& machine);
Result<std::vector<CudaKernel>> CudaCandidates(const KernelFunc& func, const GpuMachine& machine);

}  // namespace stoker
