// KeyRing: the keys with which this daemon signs artifacts, and those with which it once did.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/clock.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/public_key_list.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

// One moment of a ring.
struct SigningKeys {
  std::vector<SigningKey> signing;  // At least one, the newest first: each signs every artifact.
  // What is stored, or is imported, with their signatures is signed anew: of keys that signed here
  // once, and of other daemons that are trusted.
  std::vector<PublicKey> retired;

  std::vector<PublicKey> Announced() const;  // Of `signing`, in its order.
};

struct KeyRingConfig {
  std::string folder;               // README.md says what lies there.
  std::vector<std::string> files;   // Keys that others keep; empty: the folder's own.
  std::chrono::seconds overlap{0};  // How long a key still signs after another took its place.
  // Settings (public_key_list.h) that name the keys of other daemons whose artifacts are taken.
  std::vector<std::string> trusted;
  UnixClock clock = SystemUnixNanos;
};

class KeyRing {
 public:
  // Makes the first key where there is none.
  static Result<std::unique_ptr<KeyRing>> Open(KeyRingConfig config);
  // Of one key that no file holds.
  explicit KeyRing(SigningKey key, std::vector<PublicKey> trusted = {});

  // Safe from any thread.
  std::shared_ptr<const SigningKeys> keys() const;

  // Reads the files again. After an error the keys stay as they were.
  Status Reload();

 private:
  explicit KeyRing(KeyRingConfig config) : config_(std::move(config)) {}
  Result<SigningKeys> Read() const;

  const KeyRingConfig config_;
  mutable std::mutex mutex_;  // Guards what follows.
  // Shared, because who signs goes on with the keys of its moment.
  std::shared_ptr<const SigningKeys> keys_;
};

// Makes a new key of a folder's own; the one that signed until now goes on signing for the overlap
// of whoever opens the folder, unless `overlap` is 0: then its file goes at once. A running daemon
// sees it within a second or two. Gives the new key.
Result<PublicKey> RotateKey(const std::string& folder,
                            std::chrono::seconds overlap = std::chrono::seconds::max());

}  // namespace stoker
