#include "runtime/cpu/content/content_watch.h"

#include <algorithm>

namespace stoker::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Of a thread. Less is not worth gathering threads that may be asleep by now.
constexpr std::int64_t kLeastNs = 100'000;

}  // namespace

// One look, by all threads of a team.
struct ContentWatch::Turn {
  ContentWatch& watch;
  Clock::time_point end;
  std::atomic<std::size_t> looked{0};  // Pieces; each has one turn.
};

ContentWatch::ContentWatch(std::span<const Bytes> regions, ThreadPool& pool, int wanted)
    : pool_(pool), pieces_(PiecesOf(regions)) {
  ThreadPool::Team team = pool.Gather(wanted);
  threads_ = team.threads();
  hashes_ = HashesOf(pieces_, team);
  std::size_t first = 0;
  for (const Bytes region : regions) {
    first_pieces_.push_back(first);
    first += (region.size() + kPieceBytes - 1) / kPieceBytes;
  }
  digest_ = ContentDigest(regions, hashes_);
}

std::chrono::nanoseconds ContentWatch::period() const {
  return std::chrono::nanoseconds(kShare * threads_ * kLeastNs);
}

void ContentWatch::Look(std::chrono::nanoseconds elapsed) {
  const std::int64_t earned = elapsed.count() / kShare;
  const std::int64_t owed = owed_ns_.fetch_add(earned, std::memory_order_relaxed) + earned;
  if (owed < threads_ * kLeastNs || pieces_.empty() || Changed()) return;
  // Concurrent calls look at pieces of their own.
  owed_ns_.fetch_sub(owed, std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  ThreadPool::Team team = pool_.Gather(threads_);
  Turn turn{*this, start + std::chrono::nanoseconds(owed / team.threads())};
  team.Run(team.threads(), {}, &turn, LookUntil);
  // What it took too long is taken from later calls. What is left after a whole round is not owed
  // any more.
  const std::int64_t spent = std::chrono::nanoseconds(Clock::now() - start).count();
  const std::int64_t excess = spent * team.threads() - owed;
  if (excess > 0) owed_ns_.fetch_sub(excess, std::memory_order_relaxed);
}

void ContentWatch::LookUntil(const void* context, std::int64_t, std::int64_t, ThreadPool::Share) {
  auto& turn = *static_cast<Turn*>(const_cast<void*>(context));  // Of the caller, who waits.
  ContentWatch& watch = turn.watch;
  while (Clock::now() < turn.end && !watch.Changed()) {
    if (turn.looked.fetch_add(1, std::memory_order_relaxed) >= watch.pieces_.size()) return;
    const std::size_t piece =
        watch.next_.fetch_add(1, std::memory_order_relaxed) % watch.pieces_.size();
    if (HashOf(watch.pieces_[piece]) != watch.hashes_[piece]) {
      watch.changed_piece_.store(piece, std::memory_order_release);
    }
  }
}

std::optional<std::size_t> ContentWatch::Changed() const {
  const std::size_t piece = changed_piece_.load(std::memory_order_acquire);
  if (piece == kNone) return std::nullopt;
  const auto after = std::ranges::upper_bound(first_pieces_, piece);
  return static_cast<std::size_t>(after - first_pieces_.begin()) - 1;
}

}  // namespace stoker::cpu
