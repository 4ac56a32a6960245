#include "runtime/cpu/content/content_digest.h"

#include <algorithm>
#include <cstdint>

#include "protocol/base/bytes.h"
#include "runtime/cpu/content/piece_hash.h"

namespace stoker::cpu {
namespace {

constexpr std::int64_t kPiecesOfATask = 16;

struct Work {
  std::span<const Bytes> pieces;
  std::vector<PieceHash> hashes;
};

void HashPieces(const void* context, std::int64_t begin, std::int64_t end, ThreadPool::Share) {
  auto& work = *static_cast<Work*>(const_cast<void*>(context));  // Ranges are disjoint.
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    work.hashes[i] = HashOf(work.pieces[i]);
  }
}

}  // namespace

PieceHash HashOf(Bytes piece) {
  static const auto hash_piece = __builtin_cpu_supports("avx2") ? HashPieceAvx2 : HashPiece;
  PieceHash hash;
  hash_piece(piece.data(), piece.size(), hash.data());
  return hash;
}

std::vector<Bytes> PiecesOf(std::span<const Bytes> regions) {
  std::vector<Bytes> pieces;
  for (const Bytes region : regions) {
    for (std::size_t at = 0; at < region.size(); at += kPieceBytes) {
      pieces.push_back(region.subspan(at, std::min(kPieceBytes, region.size() - at)));
    }
  }
  return pieces;
}

std::int64_t HashTasksOf(std::span<const Bytes> regions) {
  std::size_t bytes = 0;
  for (const Bytes region : regions) bytes += region.size();
  return static_cast<std::int64_t>(bytes / kPieceBytes) / kPiecesOfATask;
}

std::vector<PieceHash> HashesOf(std::span<const Bytes> pieces, ThreadPool::Team& team) {
  Work work{pieces, std::vector<PieceHash>(pieces.size())};
  team.Run(static_cast<std::int64_t>(pieces.size()), {kPiecesOfATask}, &work, HashPieces);
  return std::move(work.hashes);
}

Digest ContentDigest(std::span<const Bytes> regions, std::span<const PieceHash> hashes) {
  ByteWriter out;
  out.U64(regions.size());
  for (const Bytes region : regions) out.U64(region.size());
  for (const PieceHash& hash : hashes) out.Raw({hash.data(), hash.size()});
  return Sha256Of(out.str());
}

Digest ContentDigest(std::span<const Bytes> regions, ThreadPool::Team& team) {
  return ContentDigest(regions, HashesOf(PiecesOf(regions), team));
}

}  // namespace stoker::cpu
