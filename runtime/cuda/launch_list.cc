#include "runtime/cuda/launch_list.h"

#include <algorithm>

#include "runtime/cuda/branches/branches.h"

namespace stoker::cuda {

LaunchList::LaunchList(std::span<const PlanMark> marks, const ArenaUse& arena,
                       const AddressLayout& layout)
    : arena_(arena), arena_address_(layout.IndexOf(arena.kind)) {
  for (const PlanMark& mark : marks) pauses_.push_back(mark.launches_before);
}

Result<std::unique_ptr<const LaunchList>> LaunchList::Make(
    std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
    const AddressLayout& layout, std::span<const std::shared_ptr<const LoadedKernel>> kernels,
    const MatmulSource& matmuls) {
  if (std::ranges::any_of(
          marks, [](const PlanMark& mark) { return mark.kind != PlanMark::Kind::kHostCall; })) {
    return Unimplemented("The plan has loops, which do not run on GPUs.");
  }
  std::unique_ptr<LaunchList> list(new LaunchList(marks, arena, layout));
  const KernelReads reads = ReadsOf(launches);
  int worth_a_branch = 0;
  for (const SizedWork& work : launches) {
    if (const auto* launch = std::get_if<SizedLaunch>(&work)) {
      list->Add(*launch, layout, static_cast<const Kernel&>(*kernels[launch->kernel]), reads);
    } else {
      STOKER_RETURN_IF_ERROR(list->Add(std::get<SizedLibraryCall>(work), layout, matmuls));
    }
    Entry& entry = list->entries_.back();
    entry.microseconds = MicrosecondsOf(work);
    if (entry.blocks > 0 && entry.microseconds >= Branches::kLeastMicroseconds) ++worth_a_branch;
  }
  list->may_branch_ = arena.kind == BufferKind::kArena && worth_a_branch > 1;
  return std::unique_ptr<const LaunchList>(std::move(list));
}

// A plan does not say what its kernels write. One never writes an operand that is an input or a
// constant, and does the same with its operands in all of its launches.
LaunchList::KernelReads LaunchList::ReadsOf(std::span<const SizedWork> launches) {
  KernelReads reads;
  for (const SizedWork& work : launches) {
    const auto* launch = std::get_if<SizedLaunch>(&work);
    if (launch == nullptr) continue;
    for (std::size_t i = 0; i < launch->buffers.size(); ++i) {
      const BufferKind kind = launch->buffers[i].kind;
      if (kind == BufferKind::kInput || kind == BufferKind::kConstant) {
        reads.emplace(launch->kernel, i);
      }
    }
  }
  return reads;
}

void LaunchList::AddOperand(const SizedBuffer& buffer, const AddressLayout& layout,
                            bool may_be_written, std::int64_t bytes) {
  operands_.push_back({layout.IndexOf(buffer.kind, buffer.index), buffer.offset + bytes,
                       buffer.size - bytes, may_be_written});
}

void LaunchList::Add(const SizedLaunch& launch, const AddressLayout& layout, const Kernel& kernel,
                     const KernelReads& reads) {
  Entry& entry = entries_.emplace_back();
  entry.function = kernel.function();
  entry.blocks = kernel.BlocksOf(launch.tasks);
  entry.threads = kernel.threads();
  entry.shared_bytes = kernel.shared_bytes();
  entry.first_operand = operands_.size();
  entry.operands = launch.buffers.size();
  entry.first_dim = dims_.size();
  entry.dims = launch.dims.size();
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    AddOperand(launch.buffers[i], layout, !reads.contains({launch.kernel, i}));
  }
  dims_.insert(dims_.end(), launch.dims.begin(), launch.dims.end());
  max_parameters_ = std::max(max_parameters_, launch.buffers.size() + launch.dims.size());
}

Status LaunchList::Add(const SizedLibraryCall& call, const AddressLayout& layout,
                       const MatmulSource& matmuls) {
  const SizedMatmul& matmul = call.matmul;
  Entry& entry = entries_.emplace_back();
  if (!LtMatmul::HasElements(matmul)) return Ok();
  STOKER_TRY(auto made, matmuls(call));
  entry.matmul = matmuls_.size();
  entry.blocks = 1;
  entry.first_operand = operands_.size();
  matmuls_.push_back(
      {std::move(made), matmul.alpha, matmul.beta, matmul.c.has_value(), matmul.bias.has_value()});
  recorded_.push_back(std::make_unique<RecordedCall>());
  const int factor = SizeInBytes(matmul.factor);
  const int result = SizeInBytes(matmul.result);
  AddOperand(matmul.a.place, layout, false, matmul.a.offset * factor);
  AddOperand(matmul.b.place, layout, false, matmul.b.offset * factor);
  AddOperand(matmul.d.place, layout, true, matmul.d.offset * result);
  AddOperand(matmul.workspace, layout, true);
  if (matmul.c) AddOperand(matmul.c->place, layout, false, matmul.c->offset * result);
  if (matmul.bias) AddOperand(matmul.bias->place, layout, false, matmul.bias->offset * result);
  entry.operands = operands_.size() - entry.first_operand;
  return Ok();
}

void LaunchList::AddWork(const Entry& entry, std::span<std::byte* const> addresses,
                         Work& work) const {
  if (entry.blocks == 0) return;
  const bool is_matmul = entry.matmul != kNoMatmul;
  const std::span<const Operand> operands = OperandsOf(entry);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_matmul && i == kWorkspaceOperand) continue;
    const Operand& operand = operands[i];
    const bool in_arena = operand.address == arena_address_;
    const auto base = in_arena ? 0 : reinterpret_cast<std::uintptr_t>(addresses[operand.address]);
    const std::uint64_t begin = base + static_cast<std::uint64_t>(operand.offset);
    const Extent extent{in_arena ? 1U : 0U, begin,
                        begin + static_cast<std::uint64_t>(operand.size)};
    (operand.may_be_written ? work.writes : work.reads).push_back(extent);
  }
  work.microseconds = entry.microseconds;
  if (is_matmul) work.workspace_bytes = MatmulOf(entry).matmul->workspace_bytes();
}

std::vector<Work> LaunchList::WorksAt(std::span<std::byte* const> addresses) const {
  std::vector<Work> works;
  const Status walked = Walk(
      [&](const Entry& entry) {
        AddWork(entry, addresses, works.emplace_back());
        return Ok();
      },
      [&](std::size_t) {
        works.emplace_back().is_barrier = true;
        return Ok();
      });
  STOKER_CHECK(walked.ok());
  return works;
}

}  // namespace stoker::cuda
