#include "runtime/cuda/branched_run.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "runtime/cuda/giving.h"

namespace stoker::cuda {
namespace {

constexpr std::uint64_t kAlignment = LtMatmul::kWorkspaceAlignment;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Capture::Nodes Sorted(Capture::Nodes nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

std::optional<BranchedRun> BranchedRun::Of(const Context& context, CuStream stream,
                                           const LaunchList& list,
                                           std::span<std::byte* const> addresses) {
  if (!list.may_branch()) return std::nullopt;
  std::optional<Capture> capture = Capture::Of(context, stream);
  if (!capture) return std::nullopt;
  Branches branches = Branches::Of(list.WorksAt(addresses));
  if (branches.count() < 2) return std::nullopt;
  return BranchedRun(context, stream, list, *capture, std::move(branches));
}

BranchedRun::BranchedRun(const Context& context, CuStream stream, const LaunchList& list,
                         Capture capture, Branches branches)
    : context_(&context),
      stream_(stream),
      list_(&list),
      capture_(capture),
      branches_(std::move(branches)) {
  for (std::size_t i = 0; i < branches_.count(); ++i) {
    workspaces_.push_back(workspace_bytes_);
    workspace_bytes_ += Aligned(static_cast<std::uint64_t>(branches_.WorkspaceBytes(i)));
  }
  // The arena ends anywhere. A product that uses nothing is told of some place all the same.
  workspace_bytes_ += kAlignment;
}

Status BranchedRun::Run(std::span<std::byte* const> addresses, std::byte* workspaces,
                        Pauses* pauses) {
  const std::uint64_t first = reinterpret_cast<std::uintptr_t>(workspaces);
  workspace_ = workspaces + (Aligned(first) - first);
  STOKER_TRY(before_, capture_.Last());
  before_ = at_ = Sorted(std::move(before_));
  Giving giving(*context_, nullptr, stream_, *list_, addresses);
  const Status given = list_->Walk(
      [&](const LaunchList::Entry& entry) -> Status {
        STOKER_RETURN_IF_ERROR(Begin());
        STOKER_RETURN_IF_ERROR(giving.Give(entry, Workspace()));
        return End();
      },
      [&](std::size_t pause) -> Status {
        STOKER_RETURN_IF_ERROR(Begin());
        STOKER_RETURN_IF_ERROR(pauses->At(pause, addresses));
        return End();
      });
  const Status joined = Join(!given.ok());
  return given.ok() ? joined : given;
}

Status BranchedRun::Begin() {
  if (is_in_order_) return Ok();
  Capture::Nodes nodes = NodesAfter(branches_.places()[nodes_.size()].after);
  if (nodes == at_) return Ok();
  return capture_.ContinueAfter(std::move(nodes));
}

Status BranchedRun::End() {
  if (is_in_order_) return Ok();
  Result<Capture::Nodes> nodes = capture_.Last();
  if (!nodes.ok()) {
    // Of edges that are of a special kind it says nothing to who does not ask for their kind. The
    // rest is done in order, after all that has been given.
    is_in_order_ = true;
    return Join(/*has_failed=*/true);
  }
  at_ = Sorted(*std::move(nodes));
  nodes_.push_back(at_);
  return Ok();
}

std::byte* BranchedRun::Workspace() const {
  if (is_in_order_) return workspace_;
  return workspace_ + workspaces_[branches_.places()[nodes_.size()].branch];
}

Status BranchedRun::Join(bool has_failed) {
  if (has_failed) {
    // What has been given, but for the last, whose nodes nobody knows.
    std::vector<std::size_t> all(nodes_.size());
    std::iota(all.begin(), all.end(), 0);
    return capture_.WaitFor(NodesAfter(all));
  }
  if (is_in_order_) return Ok();
  Capture::Nodes nodes = NodesAfter(branches_.last());
  return nodes == at_ ? Ok() : capture_.ContinueAfter(std::move(nodes));
}

Capture::Nodes BranchedRun::NodesAfter(std::span<const std::size_t> works) const {
  if (works.empty()) return before_;
  Capture::Nodes all;
  for (const std::size_t work : works) {
    all.insert(all.end(), nodes_[work].begin(), nodes_[work].end());
  }
  return Sorted(std::move(all));
}

}  // namespace stoker::cuda
