#include "runtime/cpu/content/content_watch.h"

#include <algorithm>

namespace stoker::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// Less time is not worth a piece.
constexpr std::int64_t kLeastNs = 10'000;

}  // namespace

ContentWatch::ContentWatch(std::span<const Bytes> regions, ThreadPool::Team& team)
    : pieces_(PiecesOf(regions)),
      hashes_(HashesOf(pieces_, team)),
      share_(std::int64_t{kShare} * team.threads()) {
  std::size_t first = 0;
  for (const Bytes region : regions) {
    first_pieces_.push_back(first);
    first += (region.size() + kPieceBytes - 1) / kPieceBytes;
  }
  digest_ = ContentDigest(regions, hashes_);
}

void ContentWatch::Look(std::chrono::nanoseconds elapsed) {
  const std::int64_t earned = elapsed.count() / share_;
  const std::int64_t owed = owed_ns_.fetch_add(earned, std::memory_order_relaxed) + earned;
  if (owed < kLeastNs || pieces_.empty() || Changed()) return;
  // Concurrent calls look at pieces of their own.
  owed_ns_.fetch_sub(owed, std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  std::int64_t spent = 0;
  for (std::size_t looked = 0; looked < pieces_.size() && spent < owed; ++looked) {
    const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed) % pieces_.size();
    if (HashOf(pieces_[piece]) != hashes_[piece]) {
      changed_piece_.store(piece, std::memory_order_release);
      return;
    }
    spent = std::chrono::nanoseconds(Clock::now() - start).count();
  }
  // What a piece took too long is taken from later calls. What is left after a whole round is not
  // owed any more.
  if (spent > owed) owed_ns_.fetch_sub(spent - owed, std::memory_order_relaxed);
}

std::optional<std::size_t> ContentWatch::Changed() const {
  const std::size_t piece = changed_piece_.load(std::memory_order_acquire);
  if (piece == kNone) return std::nullopt;
  const auto after = std::ranges::upper_bound(first_pieces_, piece);
  return static_cast<std::size_t>(after - first_pieces_.begin()) - 1;
}

}  // namespace stoker::cpu
