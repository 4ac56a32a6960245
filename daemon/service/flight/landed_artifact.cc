#include "daemon/service/flight/landed_artifact.h"

#include "protocol/wire/framing.h"
#include "protocol/wire/messages.h"

namespace stoker {

LandedArtifact::Kind LandedArtifact::KindOf(const std::vector<Digest>& held,
                                            std::string_view source) const {
  Kind kind;
  kind.second = source;
  for (const Digest& digest : held) {
    if (artifact_.blobs.contains(digest)) kind.first.insert(digest);
  }
  return kind;
}

std::shared_ptr<const std::string> LandedArtifact::KeptFrameFor(const std::vector<Digest>& held,
                                                                std::string_view source) const {
  const Kind kind = KindOf(held, source);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;  // One is being made.
  const auto it = frames_.find(kind);
  return it == frames_.end() ? nullptr : it->second;
}

std::shared_ptr<const std::string> LandedArtifact::FrameFor(const std::vector<Digest>& held,
                                                            std::string_view source) const {
  Kind kind = KindOf(held, source);
  const std::lock_guard lock(mutex_);
  if (const auto it = frames_.find(kind); it != frames_.end()) return it->second;
  auto frame = Encode(kind);
  if (frames_.size() < kMaxKeptFrames) frames_.emplace(std::move(kind), frame);
  return frame;
}

std::shared_ptr<const std::string> LandedArtifact::Encode(const Kind& kind) const {
  const auto& [held, source] = kind;
  wire::Bundle bundle;
  bundle.artifact = artifact_.artifact;
  for (const auto& [digest, blob] : artifact_.blobs) {
    if (!held.contains(digest)) bundle.blobs.push_back({digest, std::string(blob.bytes())});
  }
  bundle.source = source;
  bundle.compile_seconds = artifact_.compile_seconds;
  auto frame = std::make_shared<std::string>();
  wire::AppendFrame(wire::EncodeCompileEvent(std::move(bundle)), frame.get());
  return frame;
}

}  // namespace stoker
