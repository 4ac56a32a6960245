#include "runtime/cuda/branches/dependencies.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace stoker::cuda {
namespace {

// Who wrote, and has read since, each byte of one memory.
class Users {
 public:
  void Read(const Extent& extent, std::size_t reader, std::set<std::size_t>& after) {
    for (auto* piece : Pieces(extent)) {
      if (piece->writer) after.insert(*piece->writer);
      if (piece->readers.empty() || piece->readers.back() != reader) {
        piece->readers.push_back(reader);
      }
    }
  }

  void Write(const Extent& extent, std::size_t writer, std::set<std::size_t>& after) {
    for (auto* piece : Pieces(extent)) {
      if (piece->writer) after.insert(*piece->writer);
      after.insert(piece->readers.begin(), piece->readers.end());
      piece->writer = writer;
      piece->readers.clear();
    }
  }

 private:
  struct Piece {
    std::uint64_t end = 0;
    std::optional<std::size_t> writer;
    std::vector<std::size_t> readers;  // After the writer.
  };

  // Cuts the piece around `at` there.
  void Cut(std::uint64_t at) {
    auto behind = pieces_.upper_bound(at);
    if (behind == pieces_.begin()) return;
    auto& [begin, piece] = *std::prev(behind);
    if (begin == at || piece.end <= at) return;
    Piece rest = piece;
    piece.end = at;
    pieces_.emplace_hint(behind, at, std::move(rest));
  }

  // Those that are the extent, each byte in one.
  std::vector<Piece*> Pieces(const Extent& extent) {
    std::vector<Piece*> found;
    if (extent.begin >= extent.end) return found;
    Cut(extent.begin);
    Cut(extent.end);
    auto next = pieces_.lower_bound(extent.begin);
    for (std::uint64_t at = extent.begin; at < extent.end;) {
      if (next == pieces_.end() || next->first > at) {
        const std::uint64_t end =
            next == pieces_.end() ? extent.end : std::min(extent.end, next->first);
        next = pieces_.emplace_hint(next, at, Piece{end, std::nullopt, {}});
      }
      found.push_back(&next->second);
      at = next->second.end;
      ++next;
    }
    return found;
  }

  std::map<std::uint64_t, Piece> pieces_;  // By where they begin; they do not overlap.
};

}  // namespace

std::vector<std::vector<std::size_t>> DependenciesOf(std::span<const Work> works) {
  std::vector<std::vector<std::size_t>> all(works.size());
  std::map<std::uint32_t, Users> memories;  // Of the works after the last barrier.
  std::optional<std::size_t> barrier;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Work& work = works[i];
    std::set<std::size_t> after;
    if (barrier) after.insert(*barrier);
    if (work.is_barrier) {
      for (std::size_t k = barrier.value_or(0); k < i; ++k) after.insert(k);
      barrier = i;
      memories.clear();
    }
    for (const Extent& extent : work.reads) memories[extent.memory].Read(extent, i, after);
    for (const Extent& extent : work.writes) memories[extent.memory].Write(extent, i, after);
    after.erase(i);
    all[i].assign(after.begin(), after.end());
  }
  return all;
}

}  // namespace stoker::cuda
