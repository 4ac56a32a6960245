// An artifact made of a number: two kernels, a manifest, an index entry, stored in that order.
#pragma once

#include <string>
#include <vector>

#include "cache/stack/stack.h"
#include "protocol/base/digest.h"

namespace stoker {

class SampleArtifact {
 public:
  // Kernel, kernel, manifest, entry.
  static constexpr int kSteps = 4;

  explicit SampleArtifact(int number) {
    for (const std::string& kernel : {Noise("kernel a", number, 60000), Noise("b", number, 3000)}) {
      blobs_.push_back(kernel);
      entry_.references.push_back(Sha256Of(kernel));
    }
    blobs_.push_back(Noise("manifest", number, 700));
    entry_.artifact = Sha256Of(blobs_.back());
    entry_.bytes = 63700;
    entry_.label = "sample " + std::to_string(number);
    key_ = Sha256Of(entry_.label);
  }

  Status Store(CacheStack& stack, int step) const {
    if (step == 3) return stack.actions().Publish("default", key_, entry_, Durability::kSynced);
    const BlobKind kind = step == 2 ? BlobKind::kArtifact : BlobKind::kKernel;
    const Result<Digest> put =
        PutBytes(stack.blobs(), blobs_[static_cast<std::size_t>(step)], kind);
    return put.ok() ? Ok() : Status(put.error());
  }
  Status StoreAll(CacheStack& stack) const {
    for (int step = 0; step < kSteps; ++step) STOKER_RETURN_IF_ERROR(Store(stack, step));
    return Ok();
  }

  const Digest& key() const { return key_; }
  const ActionEntry& entry() const { return entry_; }
  const std::vector<std::string>& blobs() const { return blobs_; }

 private:
  // Bytes that do not compress.
  static std::string Noise(const std::string& name, int number, std::size_t size) {
    std::string noise;
    for (int i = 0; noise.size() < size; ++i) {
      noise += Sha256Of(name + std::to_string(number) + "/" + std::to_string(i)).AsBytes();
    }
    noise.resize(size);
    return noise;
  }

  std::vector<std::string> blobs_;
  ActionEntry entry_;
  Digest key_;
};

}  // namespace stoker
