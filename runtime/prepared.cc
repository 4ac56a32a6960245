#include "runtime/prepared.h"

#include <algorithm>

#include "protocol/base/bytes.h"

namespace stoker {
namespace {

// Position among the kParameter inputs of graph input `input`.
std::uint32_t ParameterPosition(const LaunchPlan& plan, std::uint32_t input) {
  return static_cast<std::uint32_t>(std::count(
      plan.input_roles.begin(), plan.input_roles.begin() + input, InputRole::kParameter));
}

}  // namespace

PreparePlan PreparePlanOf(const Artifact& artifact, const SizedPrepare& prepare) {
  PreparePlan plan;
  ByteWriter out;
  const auto put_parameter = [&](std::uint32_t input) {
    const std::uint32_t position = ParameterPosition(artifact.plan, input);
    auto found = std::ranges::find(plan.parameters, position);
    out.U64(static_cast<std::uint64_t>(found - plan.parameters.begin()));
    if (found == plan.parameters.end()) plan.parameters.push_back(position);
  };

  out.I64(prepare.prepared_bytes);
  out.U64(prepare.launches.size());
  for (const SizedLaunch& launch : prepare.launches) {
    out.Raw(artifact.kernels[launch.kernel].blob.AsBytes());
    out.I64(launch.tasks);
    out.U64(launch.dims.size());
    for (const std::int64_t dim : launch.dims) out.I64(dim);
    out.U64(launch.buffers.size());
    for (const SizedBuffer& buffer : launch.buffers) {
      out.U8(static_cast<std::uint8_t>(buffer.kind));
      out.I64(buffer.offset);
      out.I64(buffer.size);
      if (buffer.kind == BufferKind::kInput) put_parameter(buffer.index);
      if (buffer.kind == BufferKind::kConstant) {
        out.Raw(artifact.constants[buffer.index].blob.AsBytes());
      }
    }
  }
  plan.digest = Sha256Of(out.str());
  return plan;
}

Digest PreparedKey(const PreparePlan& plan, std::span<const Parameter> parameters) {
  ByteWriter out;
  out.Raw(plan.digest.AsBytes());
  for (const std::uint32_t position : plan.parameters) {
    out.U64(reinterpret_cast<std::uintptr_t>(parameters[position].data));
    out.U64(parameters[position].version);
  }
  return Sha256Of(out.str());
}

Digest PortablePreparedKey(const PreparePlan& plan, const Digest& contents) {
  ByteWriter out;
  out.Raw(plan.digest.AsBytes());
  out.Raw(contents.AsBytes());
  return Sha256Of(out.str());
}

std::vector<Bytes> RegionsOf(const PreparePlan& plan, std::span<const Parameter> parameters,
                             std::span<const std::int64_t> sizes) {
  std::vector<Bytes> regions;
  for (const std::uint32_t position : plan.parameters) {
    regions.emplace_back(static_cast<const std::byte*>(parameters[position].data),
                         static_cast<std::size_t>(sizes[position]));
  }
  return regions;
}

void Prepared::Used(std::chrono::nanoseconds elapsed) const {
  if (watch_ != nullptr) {
    watch_->Look(elapsed);
  } else if (is_on_trial_) {
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool Prepared::IsStale() const {
  return watch_ == nullptr ? calls_.load(std::memory_order_relaxed) >= kCallsOnTrial
                           : watch_->Changed().has_value();
}

std::optional<std::size_t> Prepared::Changed() const {
  return watch_ == nullptr ? std::nullopt : watch_->Changed();
}

}  // namespace stoker
