#include "compiler/schedule/cuda/loop_schedule.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "compiler/schedule/cuda/loop_cost.h"
#include "compiler/schedule/cuda/loop_form.h"
#include "compiler/schedule/cuda/standing_rows.h"
#include "compiler/schedule/loops/dim_table.h"
#include "compiler/schedule/loops/loop_rewrites.h"
#include "protocol/graph/op_table.h"

namespace stoker::cuda {
namespace {

// What is not known when a kernel is compiled is taken to be as large as this.
constexpr std::int64_t kUnknownExtent = 4096;
// They are counted in 32 bits, and one step beyond.
constexpr std::int64_t kMaxStandingRows = std::int64_t{1} << 30;
// Registers by which the upper bound of what a thread has at a time may be above what there are.
constexpr int kStandingSlack = 4;
// Terms that a thread adds one after the other in a kept row: see NUMERICS.md.
constexpr std::int64_t kMaxChain = 16;

std::int64_t Guess(const SymDim& dim) { return dim.IsConstant() ? dim.constant() : kUnknownExtent; }

std::int64_t PowerUpTo(std::int64_t n) {  // The least power of 2 that is not below n.
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

SymDim OuterPoints(const LoopFunc& func) {
  return ProductOf({func.dims.begin(), func.dims.begin() + func.num_outer});
}

// Of the stage with the most, if all are known.
std::optional<std::int64_t> RowElements(const LoopFunc& func) {
  std::int64_t most = 0;
  for (const Stage& stage : func.stages) {
    if (stage.loops.empty()) continue;
    std::int64_t elements = 1;
    for (const int dim : stage.loops) {
      const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
      if (!extent.IsConstant()) return std::nullopt;
      elements *= extent.constant();
    }
    most = std::max(most, elements);
  }
  return most;
}

// Whether any was computed again.
bool InlineTemporaries(LoopFunc& func) {
  bool any = false;
  for (std::size_t i = 0; i < func.stages.size(); ++i) {
    if (func.stages[i].loops.empty()) continue;  // A scalar.
    while (!func.stages[i].temporaries.empty()) {
      InlineTemporary(func, func.stages[i].temporaries.front().id);
      any = true;
    }
  }
  return any;
}

// Functions of f32 that are computed in f64 take registers by the pair, and more of them.
int WorkingRegisters(const LoopFunc& func, int elements, const GpuMachine& machine) {
  bool is_wide = false;
  for (const Stage& stage : func.stages) {
    for (const BodyInstr& instr : stage.body.instrs) {
      is_wide =
          is_wide || (instr.op == BodyOp::kPointwise &&
                      (instr.dtype == DType::kF64 || RowOf(instr.pointwise).f32_in == DType::kF64));
    }
  }
  return machine.blocks.working_registers + (is_wide ? 6 : 1) * elements;
}

// Of a thread whose body needs many values at a time.
int RegistersOf(const LoopFunc& func, const ThreadPart& part, const GpuMachine& machine) {
  constexpr int kMaxPlaces = 16;  // In memory; others are found again when they are needed.
  const int places = std::min(kMaxPlaces, static_cast<int>(func.operands.size()));
  return machine.blocks.index_registers + 2 * places + LiveValues(func, part);
}

int MostRegisters(int threads, const GpuMachine& machine) {
  return std::min(machine.max_registers_per_thread, machine.registers_per_sm / threads);
}

// Whether a block of so many threads has the registers, and the kernel is not too long.
bool Fits(const LoopFunc& func, const ThreadPart& part, int threads, const GpuMachine& machine) {
  return RegistersOf(func, part, machine) <= MostRegisters(threads, machine) &&
         EmittedOperations(func, part) <= machine.blocks.kernel_operations;
}

Error TooMuch(const LoopFunc& func, const ThreadPart& part, const GpuMachine& machine) {
  return ResourceExhausted("A kernel needs " + std::to_string(RegistersOf(func, part, machine)) +
                           " registers a thread and " +
                           std::to_string(EmittedOperations(func, part)) +
                           " operations for one element at a time; there are " +
                           std::to_string(machine.max_registers_per_thread) + ", and " +
                           std::to_string(machine.blocks.kernel_operations) + " at most.");
}

// What a stage needs of an earlier one is computed again, as long as that is little.
Status KeepNothing(LoopFunc& func, LoopForm form, const GpuMachine& machine) {
  if (!InlineTemporaries(func)) return Ok();
  const std::int64_t operations =
      EmittedOperations(func, {form, VectorDim(func, form), 1, 1, false});
  if (operations <= machine.blocks.copied_operations) return Ok();
  return ResourceExhausted("A kernel that computes again what it cannot keep has " +
                           std::to_string(operations) + " operations; at most " +
                           std::to_string(machine.blocks.copied_operations) +
                           " are better than to have it in memory.");
}

// As many as have so many registers a thread, but no more than half of the threads of an SM: those
// that move enough to keep memory busy.
int BlocksPerSm(int threads, int registers, const GpuMachine& machine) {
  constexpr int kUnit = 8;  // Registers are given out in such.
  registers = std::min((registers + kUnit - 1) / kUnit * kUnit, machine.max_registers_per_thread);
  const int by_registers = machine.registers_per_sm / (threads * registers);
  const int by_threads = machine.blocks.resident_threads / threads;
  return std::max(1, std::min(by_registers, by_threads));
}

// Of a thread that streams through a row or a column.
int VectorsInFlight(int width, const GpuMachine& machine) {
  return std::clamp(machine.blocks.elements_in_flight / width, 2, 8);
}

// ---- Points

ThreadPart PartOfPoints(const LoopFunc& func, int width, int vectors) {
  return {LoopForm::kPoints, VectorDim(func, LoopForm::kPoints), width, vectors, false};
}

ScheduledLoop Points(LoopFunc func, const GpuMachine& machine, int width, int vectors) {
  ScheduledLoop loop{std::move(func), {}};
  loop.schedule.threads = machine.blocks.threads;
  loop.schedule.width = width;
  loop.schedule.how = PointSchedule{vectors};
  const int registers =
      std::max(WorkingRegisters(loop.func, width * vectors, machine),
               RegistersOf(loop.func, PartOfPoints(loop.func, width, vectors), machine));
  loop.schedule.blocks_per_sm = BlocksPerSm(loop.schedule.threads, registers, machine);
  const std::int64_t run = std::int64_t{loop.schedule.threads} * width * vectors;
  loop.schedule.grid = SymDim::CeilDiv(ProductOf(loop.func.dims), run);
  return loop;
}

// For one point, of all operands.
int LoadedBytes(const LoopFunc& func) {
  int bytes = 0;
  for (const BodyInstr& instr : func.stages[0].body.instrs) {
    if (instr.op == BodyOp::kLoad) bytes += SizeInBytes(instr.access.dtype);
  }
  return std::max(1, bytes);
}

Result<ScheduledLoop> BestPoints(LoopFunc func, std::int64_t beside, const GpuMachine& machine) {
  int width = VectorWidth(func, VectorDim(func, LoopForm::kPoints), machine);
  const SymDim points = ProductOf(func.dims);
  // Unknown sizes are large: what is small is done soon.
  const auto threads_with = [&](int elements) {
    return points.IsConstant() ? (points.constant() + beside) / elements
                               : machine.blocks.wanted_threads * 8;
  };
  while (width > 1 && threads_with(width) < machine.blocks.wanted_threads) width /= 2;
  int vectors = std::max(1, machine.blocks.bytes_in_flight / (width * LoadedBytes(func)));
  while (vectors > 1 && threads_with(width * vectors) < machine.blocks.wanted_threads) vectors /= 2;
  const auto fits = [&] {
    return Fits(func, PartOfPoints(func, width, vectors), machine.blocks.threads, machine);
  };
  while (vectors > 1 && !fits()) vectors /= 2;
  while (width > 1 && !fits()) width /= 2;
  if (!fits()) return TooMuch(func, PartOfPoints(func, 1, 1), machine);
  return Points(std::move(func), machine, width, vectors);
}

// ---- Rows

ThreadPart PartOfRows(const LoopFunc& func, int width, const RowSchedule& how) {
  return {LoopForm::kRows, VectorDim(func, LoopForm::kRows), width, how.vectors, how.kept};
}

ScheduledLoop Rows(LoopFunc func, const GpuMachine& machine, int width, RowSchedule how) {
  ScheduledLoop loop{std::move(func), {}};
  loop.schedule.threads = std::max(how.team, machine.blocks.threads);
  loop.schedule.width = width;
  const int elements = width * how.vectors;
  // What is kept is what a thread computes with.
  const int live = how.kept ? LiveRegisters(loop.func) : 0;
  const int registers =
      std::max({WorkingRegisters(loop.func, how.kept ? width : elements, machine),
                machine.blocks.working_registers + live * elements,
                RegistersOf(loop.func, PartOfRows(loop.func, width, how), machine)});
  loop.schedule.blocks_per_sm = BlocksPerSm(loop.schedule.threads, registers, machine);
  // A team waits for all of its members at each reduction, and other blocks go on.
  const int more = loop.schedule.blocks_per_sm + 1;
  if (how.kept && more * loop.schedule.threads <= machine.blocks.resident_threads) {
    loop.schedule.most_blocks_per_sm = more;
  }
  const int rows = loop.schedule.threads / how.team;
  loop.schedule.how = how;
  loop.schedule.grid = SymDim::CeilDiv(OuterPoints(loop.func), rows);
  return loop;
}

// Registers that a thread of a block of so many has, beside those that it computes with.
int RegistersForRows(int threads, const GpuMachine& machine) {
  const int all = std::min(machine.max_registers_per_thread, machine.registers_per_sm / threads);
  return all - machine.blocks.working_registers;
}

// Teams that hold a row in their registers: the smallest whose threads move enough at a time, and
// for few rows larger ones, so that every processor has work.
std::optional<RowSchedule> KeptRow(const LoopFunc& func, const GpuMachine& machine, int width,
                                   int max_elements) {
  const std::optional<std::int64_t> elements = RowElements(func);
  if (!elements || !HasOneSpace(func)) return std::nullopt;
  const std::int64_t count = std::max<std::int64_t>(1, *elements / width);
  const int live = std::max(1, LiveRegisters(func));
  const std::int64_t rows = Guess(OuterPoints(func));
  int bytes = 1;
  for (const Operand& operand : func.operands) {
    bytes = std::max(bytes, SizeInBytes(operand.dtype));
  }
  const std::int64_t line = machine.blocks.line_bytes / (width * bytes);
  std::optional<RowSchedule> best;
  for (int team = static_cast<int>(std::min(PowerUpTo(line), PowerUpTo(count)));
       team <= machine.max_threads_per_block; team *= 2) {
    const std::int64_t vectors = (count + team - 1) / team;
    const int threads = std::max(team, machine.blocks.threads);
    if (vectors > kMaxChain) continue;
    if (vectors * width * live > RegistersForRows(threads, machine)) continue;
    const RowSchedule row{team, static_cast<int>(vectors), true};
    if (!Fits(func, PartOfRows(func, width, row), threads, machine)) continue;
    const bool is_idle = team >= 2 * count;
    if (best && (is_idle || (best->vectors * width <= max_elements &&
                             rows * best->team >= machine.blocks.wanted_threads))) {
      break;
    }
    if (is_idle) break;
    best = row;
  }
  return best;
}

// Bytes that a row moves to and from memory, for each of its elements.
int MovedBytes(const LoopFunc& func) {
  std::vector<Access> moved;
  int bytes = 0;
  const auto add = [&](const Access& access) {
    if (!IsOfRow(func, access) || std::ranges::find(moved, access) != moved.end()) return;
    moved.push_back(access);
    bytes += SizeInBytes(access.dtype);
  };
  for (const Stage& stage : func.stages) {
    if (stage.loops.empty()) continue;
    for (const BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) add(instr.access);
    }
    for (const Store& store : stage.stores) add(store.access);
  }
  return bytes;
}

// A block for each SM: as many teams as have the registers.
std::optional<ScheduledLoop> StandingRow(LoopFunc func, const GpuMachine& machine) {
  KeepLoads(func);
  const int width = VectorWidth(func, VectorDim(func, LoopForm::kRows), machine);
  const GpuBlockLimits& blocks = machine.blocks;
  const std::optional<std::int64_t> elements = RowElements(func);
  const SymDim rows = OuterPoints(func);
  const int kept = blocks.standing_elements;
  if (!elements || !HasOneSpace(func) || *elements % kept != 0 || kept % width != 0) {
    return std::nullopt;
  }
  if (!rows.IsConstant() || rows.constant() > kMaxStandingRows) return std::nullopt;
  const std::int64_t team = *elements / kept;
  if (team < machine.warp_size || team != PowerUpTo(team)) return std::nullopt;
  const RowSchedule how{static_cast<int>(team), kept / width, true, true};
  const int registers = blocks.standing_registers + std::max(1, LiveRegisters(func)) * kept;
  std::int64_t teams = std::min<std::int64_t>(machine.registers_per_sm / (registers * team),
                                              machine.max_threads_per_block / team);
  if (team > machine.warp_size) teams = std::min<std::int64_t>(teams, blocks.barriers);
  const auto threads = [&] { return static_cast<int>(teams * team); };
  // Beside what is staged lies what warps exchange.
  const auto has_memory = [&] {
    const auto staged = StandingRowsOf(func, how, width, threads(), machine);
    return staged && staged->bytes + 8 * threads() <= machine.shared_bytes_per_block;
  };
  // Warps are dealt out to the parts of an SM, and registers with them: some would be nobody's.
  const int even = machine.warp_size * blocks.sm_parts;
  while (threads() >= blocks.standing_threads && (threads() % even != 0 || !has_memory())) --teams;
  if (threads() < blocks.standing_threads) return std::nullopt;
  const ThreadPart part = PartOfRows(func, width, how);
  // What lies in shared memory has no places to keep, and the bound of the rest is not reached.
  if (LiveValues(func, part) > MostRegisters(threads(), machine) + kStandingSlack ||
      EmittedOperations(func, part) > 2 * blocks.kernel_operations) {
    return std::nullopt;
  }
  ScheduledLoop loop{std::move(func), {}};
  loop.schedule.threads = threads();
  loop.schedule.width = width;
  loop.schedule.blocks_per_sm = 1;
  loop.schedule.how = how;
  loop.schedule.grid = SymDim::CeilDiv(rows, teams);
  return loop;
}

// Where there are many rows whose arithmetic takes longer than memory does.
bool WantsToStand(const ScheduledLoop& loop, const GpuMachine& machine) {
  const auto& how = std::get<RowSchedule>(loop.schedule.how);
  const std::int64_t rows = OuterPoints(loop.func).constant();
  const std::int64_t teams =
      std::int64_t{loop.schedule.threads / how.team} * machine.blocks.multiprocessors;
  if (rows < machine.blocks.standing_rows * teams) return false;
  const std::int64_t operations =
      EmittedOperations(loop.func, PartOfRows(loop.func, loop.schedule.width, how));
  const std::int64_t bytes =
      std::int64_t{MovedBytes(loop.func)} * loop.schedule.width * how.vectors;
  return operations >= machine.blocks.standing_operations * bytes;
}

Result<ScheduledLoop> StreamedRows(LoopFunc func, const GpuMachine& machine) {
  STOKER_RETURN_IF_ERROR(KeepNothing(func, LoopForm::kRows, machine));
  int width = VectorWidth(func, VectorDim(func, LoopForm::kRows), machine);
  RowSchedule how{1, VectorsInFlight(width, machine), false};
  const std::int64_t count = RowElements(func).value_or(kUnknownExtent) / width;
  const std::int64_t team = PowerUpTo((count + how.vectors - 1) / how.vectors);
  const auto most = Guess(OuterPoints(func)) < 1024 ? machine.max_threads_per_block : 512;
  how.team = static_cast<int>(std::clamp<std::int64_t>(team, 1, most));
  const auto fits = [&] {
    return Fits(func, PartOfRows(func, width, how), std::max(how.team, machine.blocks.threads),
                machine);
  };
  while (how.vectors > 1 && !fits()) how.vectors /= 2;
  while (width > 1 && !fits()) width /= 2;
  while (how.team > machine.blocks.threads && !fits()) how.team /= 2;
  if (!fits()) return TooMuch(func, PartOfRows(func, 1, how), machine);
  return Rows(std::move(func), machine, width, how);
}

Result<ScheduledLoop> BestRows(LoopFunc func, const GpuMachine& machine, int max_elements) {
  LoopFunc kept = func;
  KeepLoads(kept);
  const int width = VectorWidth(kept, VectorDim(kept, LoopForm::kRows), machine);
  if (const auto how = KeptRow(kept, machine, width, max_elements)) {
    return Rows(std::move(kept), machine, width, *how);
  }
  return StreamedRows(std::move(func), machine);
}

// ---- Columns

ThreadPart PartOfColumns(const LoopFunc& func, int width, const ColumnSchedule& how) {
  return {LoopForm::kColumns, VectorDim(func, LoopForm::kColumns), width, how.points, false};
}

Result<ScheduledLoop> Columns(LoopFunc func, const GpuMachine& machine, int max_team) {
  STOKER_RETURN_IF_ERROR(KeepNothing(func, LoopForm::kColumns, machine));
  int width = VectorWidth(func, VectorDim(func, LoopForm::kColumns), machine);
  ColumnSchedule how{1, VectorsInFlight(width, machine)};
  const auto fits = [&] {
    return Fits(func, PartOfColumns(func, width, how), machine.blocks.threads, machine);
  };
  while (how.points > 1 && !fits()) how.points /= 2;
  while (width > 1 && !fits()) width /= 2;
  if (!fits()) return TooMuch(func, PartOfColumns(func, 1, how), machine);
  const SymDim vectors = SymDim::FloorDiv(OuterPoints(func), width);
  const std::int64_t points = RowElements(func).value_or(kUnknownExtent);
  // As many threads as fill the machine, while each has several points.
  while (how.team < max_team && points / (2 * how.team) >= how.points &&
         Guess(vectors) * how.team < 2 * machine.blocks.wanted_threads) {
    how.team *= 2;
  }
  const int registers = std::max(WorkingRegisters(func, width * how.points, machine),
                                 RegistersOf(func, PartOfColumns(func, width, how), machine));
  ScheduledLoop loop{std::move(func), {}};
  loop.schedule.threads = machine.blocks.threads;
  loop.schedule.width = width;
  loop.schedule.how = how;
  loop.schedule.blocks_per_sm = BlocksPerSm(loop.schedule.threads, registers, machine);
  loop.schedule.grid = SymDim::CeilDiv(vectors, loop.schedule.threads / how.team);
  return loop;
}

}  // namespace

Result<ScheduledLoop> ScheduleLoop(LoopFunc func, const GpuMachine& machine) {
  STOKER_TRY(const LoopForm form, ToLoopForm(func));
  switch (form) {
    case LoopForm::kPoints:
      return BestPoints(std::move(func), 0, machine);
    case LoopForm::kRows: {
      auto standing = StandingRow(func, machine);
      if (standing && WantsToStand(*standing, machine)) return *std::move(standing);
      return BestRows(std::move(func), machine, machine.blocks.row_elements);
    }
    case LoopForm::kColumns:
      return Columns(std::move(func), machine, machine.blocks.column_team);
  }
  STOKER_CHECK(false);
}

Result<ScheduledLoop> SchedulePoints(LoopFunc func, std::int64_t beside,
                                     const GpuMachine& machine) {
  STOKER_TRY(const LoopForm form, ToLoopForm(func));
  if (form != LoopForm::kPoints) return Unimplemented("Only points are scheduled beside others.");
  return BestPoints(std::move(func), beside, machine);
}

std::vector<ScheduledLoop> OtherLoopSchedules(const LoopFunc& algorithm,
                                              const GpuMachine& machine) {
  std::vector<ScheduledLoop> loops;
  LoopFunc func = algorithm;
  const Result<LoopForm> form = ToLoopForm(func);
  if (!form.ok()) return loops;
  const auto add = [&](Result<ScheduledLoop> loop) {
    if (loop.ok()) loops.push_back(*std::move(loop));
  };
  if (*form == LoopForm::kPoints) {
    const int widest = VectorWidth(func, VectorDim(func, *form), machine);
    for (const int width : {1, widest}) {
      for (const int vectors : {1, 2, 4}) {
        const ThreadPart part = PartOfPoints(func, width, vectors);
        if (!Fits(func, part, machine.blocks.threads, machine)) continue;
        add(Points(func, machine, width, vectors));
      }
    }
  } else if (*form == LoopForm::kRows) {
    for (const int elements : {8, 16, 32, 64}) add(BestRows(func, machine, elements));
    add(StreamedRows(func, machine));
    if (auto standing = StandingRow(func, machine)) loops.push_back(*std::move(standing));
  } else {
    for (const int team : {1, 8, 32}) add(Columns(func, machine, team));
  }
  return loops;
}

}  // namespace stoker::cuda
