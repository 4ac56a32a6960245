#include "compiler/schedule/cuda/attention_schedule.h"

#include <algorithm>
#include <string>

#include "compiler/schedule/cuda/loop_form.h"

namespace stoker::cuda {
namespace {

constexpr int kStep = 16;       // Of numbers of a head, in one product of a tensor core.
constexpr int kMaxHead = 128;   // Numbers of a head: registers hold them for 16 queries.
constexpr int kMaxHeads = 192;  // Of both sorts, where tiles cannot be halved.
constexpr int kMostWarps = 4;
constexpr int kPerRegister = 2;  // Numbers of 16 bits.
constexpr int kMostLoaded = 64;  // Registers.
constexpr int kWorking = 80;     // Registers for indices, and for what products are given.
constexpr int kRegisterStep = 8;
constexpr int kPartitions = 4;  // Of a multiprocessor: each has registers for as many warps.

int RoundUp(int value, int step) { return (value + step - 1) / step * step; }

Error Refused(const std::string& what) {
  return Unimplemented("There is no CUDA schedule for attention " + what + ".");
}

bool HaveStep(const AttentionFunc& func, int step) {
  return func.head_dim % step == 0 && func.value_dim % step == 0;
}

Status CheckTaken(const AttentionFunc& func, const GpuMachine& machine) {
  const DType dtype = func.q.dtype;
  const bool is_narrow = dtype == DType::kBF16 || dtype == DType::kF16;
  if (!is_narrow || machine.TileOf(dtype) == nullptr) {
    return Refused("of " + std::string(Name(dtype)));
  }
  if (func.k.dtype != dtype || func.v.dtype != dtype || func.out.dtype != dtype) {
    return Refused("of several dtypes");
  }
  const std::int64_t largest = std::max(func.head_dim, func.value_dim);
  const bool fits = HaveStep(func, kStep) && largest <= kMaxHead &&
                    (func.head_dim + func.value_dim <= kMaxHeads || HaveStep(func, 2 * kStep));
  if (!fits) {
    return Refused("with heads of " + std::to_string(func.head_dim) + " and " +
                   std::to_string(func.value_dim) + " numbers");
  }
  return func.has_mask ? Status(Refused("with a mask")) : Ok();
}

// Elements that can be moved together wherever the operand is read.
int WidthOf(const AttentionOperand& operand, int most) {
  int width = most;
  for (const SymDim& dim :
       {operand.offset, operand.strides[0], operand.strides[1], operand.strides[2]}) {
    while (!IsMultiple(dim, width)) width /= 2;
  }
  return width;
}

}  // namespace

Result<CudaSchedule> ScheduleAttention(const AttentionFunc& func, const GpuMachine& machine) {
  STOKER_RETURN_IF_ERROR(CheckTaken(func, machine));
  CudaSchedule schedule;
  schedule.width = machine.blocks.access_bytes / SizeInBytes(func.q.dtype);
  for (const AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out}) {
    schedule.width = WidthOf(*operand, schedule.width);
  }
  AttentionSchedule how;
  const auto head = static_cast<int>(func.head_dim);
  const auto value = static_cast<int>(func.value_dim);
  // Half a tile is a whole number of vectors of each thread's.
  if (head + value > kMaxHead && HaveStep(func, 2 * kStep)) how.keys /= 2;
  const auto blocks = [&](int warps) {
    return func.batch * func.heads * SymDim::CeilDiv(func.queries, warps * how.kQueries);
  };
  // Of each thread, for the tile that comes next.
  const auto loaded = [&](int warps) {
    return how.keys * (head + value) / kPerRegister / (warps * machine.warp_size);
  };
  int warps = kMostWarps;
  // More blocks with fewer warps, until each multiprocessor has one.
  while (warps > 1 && loaded(warps / 2) <= kMostLoaded && blocks(warps).IsConstant() &&
         2 * blocks(warps).constant() <= machine.blocks.multiprocessors) {
    warps /= 2;
  }
  schedule.threads = warps * machine.warp_size;
  const int registers = loaded(warps) + head / 4 + value / 2 + how.keys / 2 + kWorking;
  const int resident =
      machine.registers_per_sm / (RoundUp(registers, kRegisterStep) * machine.warp_size);
  schedule.blocks_per_sm = std::max(1, resident / kPartitions * kPartitions / warps);
  schedule.grid = blocks(warps);
  schedule.how = how;
  return schedule;
}

}  // namespace stoker::cuda
