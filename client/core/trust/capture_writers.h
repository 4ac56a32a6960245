// CaptureWriters: the key that signs this user's captures, and whose captures are run.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"

namespace stoker {

struct WriterSettings {
  // The own key. Named: this file and no other, which must be there.
  std::string named_file;
  // Else the first of these that is there or can be made.
  std::vector<std::string> files;
  std::vector<PublicKey> trusted;  // Besides the own one.
};

// STOKER_WRITER_KEY, else writer.pem in $XDG_CONFIG_HOME/stoker or ~/.config/stoker, where that
// cannot be made in `cache_dir` (empty: none); STOKER_TRUSTED_WRITERS (keys, or a file of keys). An
// error names the variable and what is wrong with it.
Result<WriterSettings> WriterSettingsOfEnvironment(const std::string& cache_dir);

// Safe to call from any thread.
class CaptureWriters {
 public:
  explicit CaptureWriters(WriterSettings settings) : settings_(std::move(settings)) {}

  // Read, or made, at the first call: who only compiles needs none.
  Result<SigningKey> OwnKey();
  // Where it lies; empty where it is not known.
  std::string OwnFile();
  // The own one, if there is one, and then those that are trusted.
  std::vector<PublicKey> Trusted();

 private:
  const Result<SigningKey>& Load();

  const WriterSettings settings_;
  std::mutex mutex_;  // Guards what follows.
  std::optional<Result<SigningKey>> own_;
  std::string own_file_;
};

}  // namespace stoker
