// LandedArtifact: what a flight brings. All who waited are sent the same bytes, which are encoded
// once. Safe from any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/service/store/artifact_store.h"
#include "protocol/base/digest.h"

namespace stoker {

class LandedArtifact {
 public:
  // Of callers who hold different blobs; for more than so many sets each is encoded by itself.
  static constexpr std::size_t kMaxKeptFrames = 4;

  explicit LandedArtifact(StoredArtifact artifact) : artifact_(std::move(artifact)) {}

  double compile_seconds() const { return artifact_.compile_seconds; }
  const std::string& tier() const { return artifact_.tier; }
  // Why it could not be stored; empty: it is.
  const std::string& unstored() const { return artifact_.unstored; }

  // The event, framed, for a caller who holds these blobs and is told this source. Copies blobs,
  // which may be many megabytes.
  std::shared_ptr<const std::string> FrameFor(const std::vector<Digest>& held,
                                              std::string_view source) const;
  // The same, if it was made for another caller; else null. Neither waits nor copies.
  std::shared_ptr<const std::string> KeptFrameFor(const std::vector<Digest>& held,
                                                  std::string_view source) const;

 private:
  // What the caller holds of the artifact's own blobs, and the source.
  using Kind = std::pair<std::set<Digest>, std::string>;

  Kind KindOf(const std::vector<Digest>& held, std::string_view source) const;
  std::shared_ptr<const std::string> Encode(const Kind& kind) const;

  const StoredArtifact artifact_;
  mutable std::mutex
      mutex_;  // Guards what follows; held while a frame is made: nobody makes a second.
  mutable std::map<Kind, std::shared_ptr<const std::string>> frames_;
};

}  // namespace stoker
