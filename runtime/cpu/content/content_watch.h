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
  // Looking takes one part in so many of a processor's time, divided among the threads of a call:
  // none waits for another one.
  static constexpr int kShare = 200;

  // Reads all regions. `pool` must outlive it. `wanted`: threads of a call, as Gather takes them.
  ContentWatch(std::span<const Bytes> regions, ThreadPool& pool, int wanted);

  const Digest& digest() const override { return digest_; }

  // Looks at the pieces whose turn it is. All have had their turn when the calls have taken kShare
  // times what one thread needs to read all memory.
  void Look(std::chrono::nanoseconds elapsed) override;

  std::optional<std::size_t> Changed() const override;

  // Of calls, after which it looks.
  std::chrono::nanoseconds period() const;

 private:
  struct Turn;

  static void LookUntil(const void* turn, std::int64_t, std::int64_t, ThreadPool::Share);

  ThreadPool& pool_;
  int threads_ = 1;
  std::vector<Bytes> pieces_;
  std::vector<PieceHash> hashes_;
  std::vector<std::size_t> first_pieces_;  // Of each region.
  Digest digest_;
  std::atomic<std::int64_t> owed_ns_{0};  // Of one processor, that may be spent on looking.
  std::atomic<std::size_t> next_{0};
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::atomic<std::size_t> changed_piece_{kNone};
};

}  // namespace stoker::cpu
