// ContentWatch: does memory still hold what it held? Who writes behind PyTorch's back (`.data`, a
// shared NumPy array, a tensor made in inference mode) changes neither address nor version.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/base/digest.h"
#include "runtime/cpu/content_digest.h"
#include "runtime/cpu/thread_pool.h"

namespace stoker::cpu {

// Thread-safe. Holds no reference to the memory, which must be valid in each Look.
class ContentWatch {
 public:
  // Looking takes one part in so many of the calls' own time.
  static constexpr int kShare = 100;

  // Reads all regions.
  ContentWatch(std::span<const Bytes> regions, ThreadPool::Team& team);

  // Of what was read.
  const Digest& digest() const { return digest_; }

  // After a call that took `elapsed`: looks at the pieces whose turn it is. All have had their turn
  // when the calls have taken kShare times what reading all memory takes.
  void Look(std::chrono::nanoseconds elapsed);

  // The region that was seen to hold something else.
  std::optional<std::size_t> Changed() const;

 private:
  std::vector<Bytes> pieces_;
  std::vector<PieceHash> hashes_;
  std::vector<std::size_t> first_pieces_;  // Of each region.
  Digest digest_;
  std::atomic<std::int64_t> owed_ns_{0};  // Time that may be spent on looking.
  std::atomic<std::size_t> next_{0};
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::atomic<std::size_t> changed_piece_{kNone};
};

}  // namespace stoker::cpu
