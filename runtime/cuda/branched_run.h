// BranchedRun: a launch list as a part of a CUDA graph, with branches, where its stream is
// captured.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/cuda/branches/branches.h"
#include "runtime/cuda/driver/capture.h"
#include "runtime/cuda/launch_list.h"
#include "runtime/queue.h"

namespace stoker::cuda {

// Of one run. Not thread-safe. The context is current.
class BranchedRun {
 public:
  // Nothing where the stream is not captured, or no two works of the list may run side by side.
  // All outlive it. `addresses`: those of the call; that of the arena is not looked at yet.
  static std::optional<BranchedRun> Of(const Context& context, CuStream stream,
                                       const LaunchList& list,
                                       std::span<std::byte* const> addresses);

  // Behind the arena's own, where products of different branches have workspaces of their own.
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  // Gives the list to the stream: what that is given afterwards comes after all of it, whether it
  // has failed or not. `workspaces`: so many bytes. What happens at a pause comes after all before
  // it, and before all after it.
  Status Run(std::span<std::byte* const> addresses, std::byte* workspaces, Pauses* pauses);

 private:
  BranchedRun(const Context& context, CuStream stream, const LaunchList& list, Capture capture,
              Branches branches);

  // Around each of the list's entries and pauses, in its order.
  Status Begin();
  Status End();
  std::byte* Workspace() const;  // Of the one that has begun.
  Status Join(bool has_failed);

  // Sorted, each once: of these works, or what came before all.
  Capture::Nodes NodesAfter(std::span<const std::size_t> works) const;

  const Context* context_;
  CuStream stream_;
  const LaunchList* list_;
  Capture capture_;
  Branches branches_;
  std::vector<std::size_t> workspaces_;  // Of each branch: bytes behind the first.
  std::size_t workspace_bytes_ = 0;

  std::byte* workspace_ = nullptr;     // The first.
  Capture::Nodes before_;              // All of it.
  std::vector<Capture::Nodes> nodes_;  // Of each work that has been given.
  Capture::Nodes at_;                  // What the stream's next thing would be put after.
  bool is_in_order_ = false;           // The driver does not say that any more.
};

}  // namespace stoker::cuda
