// Branches: which works of a plan may run beside each other, where it is captured as a CUDA graph.
//
// A branch is what a stream would be: its works are in order. A work goes on with a branch whose
// last work it needs. Where another has gone on there already, it begins a branch of its own if
// that pays: if it is no tiny work, and would wait for long enough. So a chain is one branch. The
// works are taken in the plan's order, and a work comes after earlier ones only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/branches/work.h"

namespace stoker::cuda {

class Branches {
 public:
  static constexpr std::size_t kMost = 4;
  // In a graph, what a work takes beside what it does.
  static constexpr double kLaunchMicroseconds = 1;
  // A work that does less is not worth a branch, nor is one that would wait for less than its own
  // launch and this: what is put after something of another branch begins later for it.
  static constexpr double kLeastMicroseconds = 1;
  // One that does more fills the GPU by itself. On an H100 works of 12 us by this measure were 3 %
  // faster beside each other, those of 43 us and of 120 us 8 % slower.
  static constexpr double kMostMicroseconds = 20;

  struct Place {
    std::size_t branch = 0;
    // Works that it comes directly after, descending: none follows from the others. None at all: it
    // comes after what came before the plan.
    std::vector<std::size_t> after;
  };

  // Deterministic.
  static Branches Of(std::span<const Work> works);

  std::size_t count() const { return count_; }
  std::span<const Place> places() const { return places_; }  // One for each work.
  // The works that have all others before them, descending.
  std::span<const std::size_t> last() const { return last_; }
  // The most that a work of the branch has to itself.
  std::int64_t WorkspaceBytes(std::size_t branch) const { return workspace_bytes_[branch]; }

  // "0: branch 0", "1: branch 1 after 0", ..., "end after 1 0", a line each.
  std::string ToString() const;

 private:
  std::size_t count_ = 0;
  std::vector<Place> places_;
  std::vector<std::size_t> last_;
  std::array<std::int64_t, kMost> workspace_bytes_{};
};

}  // namespace stoker::cuda
