#include "runtime/cuda/launch_list.h"

#include <algorithm>

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
  for (const SizedWork& work : launches) {
    if (const auto* launch = std::get_if<SizedLaunch>(&work)) {
      list->Add(*launch, layout, static_cast<const Kernel&>(*kernels[launch->kernel]));
    } else {
      STOKER_RETURN_IF_ERROR(list->Add(std::get<SizedLibraryCall>(work), layout, matmuls));
    }
  }
  return std::unique_ptr<const LaunchList>(std::move(list));
}

void LaunchList::AddOperand(const SizedBuffer& buffer, const AddressLayout& layout,
                            std::int64_t bytes) {
  operands_.push_back({layout.IndexOf(buffer.kind, buffer.index), buffer.offset + bytes});
}

void LaunchList::Add(const SizedLaunch& launch, const AddressLayout& layout, const Kernel& kernel) {
  Entry& entry = entries_.emplace_back();
  entry.function = kernel.function();
  entry.blocks = static_cast<unsigned>(launch.tasks);
  entry.threads = kernel.threads();
  entry.first_operand = operands_.size();
  entry.operands = launch.buffers.size();
  entry.first_dim = dims_.size();
  entry.dims = launch.dims.size();
  for (const SizedBuffer& buffer : launch.buffers) AddOperand(buffer, layout);
  dims_.insert(dims_.end(), launch.dims.begin(), launch.dims.end());
  max_parameters_ = std::max(max_parameters_, launch.buffers.size() + launch.dims.size());
}

Status LaunchList::Add(const SizedLibraryCall& call, const AddressLayout& layout,
                       const MatmulSource& matmuls) {
  const SizedMatmul& matmul = call.matmul;
  Entry& entry = entries_.emplace_back();
  if (matmul.m == 0 || matmul.n == 0 || matmul.batch == 0) return Ok();
  STOKER_TRY(auto made, matmuls(call));
  entry.matmul = matmuls_.size();
  entry.blocks = 1;
  entry.first_operand = operands_.size();
  matmuls_.push_back(
      {std::move(made), matmul.alpha, matmul.beta, matmul.c.has_value(), matmul.bias.has_value()});
  const int factor = SizeInBytes(matmul.factor);
  const int result = SizeInBytes(matmul.result);
  AddOperand(matmul.a.place, layout, matmul.a.offset * factor);
  AddOperand(matmul.b.place, layout, matmul.b.offset * factor);
  AddOperand(matmul.d.place, layout, matmul.d.offset * result);
  AddOperand(matmul.workspace, layout);
  if (matmul.c) AddOperand(matmul.c->place, layout, matmul.c->offset * result);
  if (matmul.bias) AddOperand(matmul.bias->place, layout, matmul.bias->offset * result);
  entry.operands = operands_.size() - entry.first_operand;
  return Ok();
}

}  // namespace stoker::cuda
