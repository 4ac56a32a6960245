// ContentWatch: compares memory with hashes of what it held, piece after piece.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/base/digest.h"
#include "runtime/content_watch.h"
#include "runtime/cpu/content/content_digest.h"
#include "runtime/cpu/threads/thread_pool.h"

namespace stoker::cpu {

class ContentWatch final : public stoker::ContentWatch {
 public:
  // Looking takes one part in so many of a processor's time: it is the caller that looks, while the
  // other threads of its calls wait.
  static constexpr int kShare = 100;

  // Reads all regions. `team`: as many threads as calls have.
  ContentWatch(std::span<const Bytes> regions, ThreadPool::Team& team);

  const Digest& digest() const override { return digest_; }

  // Looks at the pieces whose turn it is. All have had their turn when the calls have taken kShare
  // times what reading all memory takes, times their threads.
  void Look(std::chrono::nanoseconds elapsed) override;

  std::optional<std::size_t> Changed() const override;

  std::int64_t share() const { return share_; }

 private:
  std::vector<Bytes> pieces_;
  std::vector<PieceHash> hashes_;
  std::vector<std::size_t> first_pieces_;  // Of each region.
  Digest digest_;
  const std::int64_t share_;              // Of the calls' time.
  std::atomic<std::int64_t> owed_ns_{0};  // Time that may be spent on looking.
  std::atomic<std::size_t> next_{0};
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::atomic<std::size_t> changed_piece_{kNone};
};

}  // namespace stoker::cpu
