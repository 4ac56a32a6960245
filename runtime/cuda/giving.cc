#include "runtime/cuda/giving.h"

#include <memory>
#include <optional>
#include <string>

#include "runtime/cuda/driver/capture.h"

namespace stoker::cuda {

Giving::Giving(const Context& context, Recorder* recorder, CuStream stream, const LaunchList& list,
               std::span<std::byte* const> addresses)
    : context_(context),
      recorder_(recorder),
      stream_(stream),
      list_(list),
      addresses_(addresses),
      values_(list.max_parameters()),
      pointers_(list.max_parameters()) {
  for (std::size_t i = 0; i < values_.size(); ++i) pointers_[i] = &values_[i];
}

Status Giving::Give(const LaunchList::Entry& entry, std::byte* workspace) {
  if (entry.blocks == 0) return Ok();
  return entry.matmul == LaunchList::kNoMatmul ? Launch(entry) : Multiply(entry, workspace);
}

Status Giving::Launch(const LaunchList::Entry& entry) {
  std::size_t i = 0;
  for (const LaunchList::Operand& operand : list_.OperandsOf(entry)) {
    values_[i++] = reinterpret_cast<std::uintptr_t>(addresses_[operand.address]) +
                   static_cast<std::uint64_t>(operand.offset);
  }
  for (const std::int64_t dim : list_.DimsOf(entry)) values_[i++] = static_cast<std::uint64_t>(dim);
  const int result = context_.api().launch(entry.function, entry.blocks, 1, 1, entry.threads, 1, 1,
                                           entry.shared_bytes, stream_, pointers_.data(), nullptr);
  if (result == kCuSuccess) return Ok();  // No text is made.
  return context_.Check(result, "Launch of " + std::to_string(entry.blocks) + " blocks of " +
                                    std::to_string(entry.threads) + " threads");
}

Status Giving::Multiply(const LaunchList::Entry& entry, std::byte* workspace) {
  const LaunchList::MatmulUse& use = list_.MatmulOf(entry);
  const auto operands = list_.OperandsOf(entry);
  std::size_t next = 0;
  const auto address = [&] {
    const LaunchList::Operand& operand = operands[next++];
    return addresses_[operand.address] + operand.offset;
  };
  LtMatmul::Operands at;
  at.a = address();
  at.b = address();
  at.d = address();
  at.workspace = address();
  if (use.has_c) at.c = address();
  if (use.has_bias) at.bias = address();
  if (workspace != nullptr) at.workspace = workspace;
  const auto run = [&](CuStream stream) {
    return use.matmul->Run(at, use.alpha, use.beta, stream);
  };
  const auto record = [&]() -> std::optional<std::shared_ptr<const RecordedKernel>> {
    if (recorder_ == nullptr || Capture::Of(context_, stream_)) return std::nullopt;
    return recorder_->Record(run);
  };
  // One that is not used may lie anywhere.
  const std::byte* const used = use.matmul->workspace_bytes() > 0 ? at.workspace : nullptr;
  const auto kernel = list_.RecordedOf(entry).At({at.a, at.b, at.c, at.d, at.bias, used}, record);
  return kernel != nullptr ? kernel->GiveTo(stream_) : run(stream_);
}

}  // namespace stoker::cuda
