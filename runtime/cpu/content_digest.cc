#include "runtime/cpu/content_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>

#include "protocol/base/bytes.h"

namespace stoker::cpu {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Work {
  std::vector<Bytes> pieces;
  std::vector<XXH128_canonical_t> hashes;
};

void HashPieces(const void* context, std::int64_t begin, std::int64_t end, int /*thread*/) {
  auto& work = *static_cast<Work*>(const_cast<void*>(context));  // Ranges are disjoint.
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    const Bytes piece = work.pieces[i];
    XXH128_canonicalFromHash(&work.hashes[i], XXH3_128bits(piece.data(), piece.size()));
  }
}

}  // namespace

Digest ContentDigest(std::span<const Bytes> regions, ThreadPool& pool, int threads) {
  Work work;
  ByteWriter out;
  out.U64(regions.size());
  for (const Bytes region : regions) {
    out.U64(region.size());
    for (std::size_t at = 0; at < region.size(); at += kPieceBytes) {
      work.pieces.push_back(region.subspan(at, std::min(kPieceBytes, region.size() - at)));
    }
  }
  work.hashes.resize(work.pieces.size());
  pool.Run(threads, static_cast<std::int64_t>(work.pieces.size()), 1, &work, HashPieces);
  for (const XXH128_canonical_t& hash : work.hashes) {
    out.Raw({reinterpret_cast<const char*>(hash.digest), sizeof hash.digest});
  }
  return Sha256Of(out.str());
}

}  // namespace stoker::cpu
