#include "client/core/trust/capture_writers.h"

#include <algorithm>

#include "client/core/settings/environment.h"
#include "client/core/trust/daemon_trust.h"
#include "protocol/base/signature/key_file.h"

namespace stoker {
namespace {

constexpr const char* kFileName = "/writer.pem";

}  // namespace

Result<WriterSettings> WriterSettingsOfEnvironment(const std::string& cache_dir) {
  WriterSettings settings;
  STOKER_TRY(settings.trusted, PublicKeysOfEnvironment("STOKER_TRUSTED_WRITERS"));
  settings.named_file = Environment("STOKER_WRITER_KEY");
  if (!settings.named_file.empty()) {
    const auto key = ReadSigningKey(settings.named_file);
    if (!key.ok()) return key.error().WithContext("STOKER_WRITER_KEY");
    return settings;
  }
  // Configuration rather than cache: a user stays the same when a cache is deleted, and on every
  // host of the same home.
  if (const std::string folder = Environment("XDG_CONFIG_HOME"); !folder.empty()) {
    settings.files.push_back(folder + "/stoker" + kFileName);
  } else if (const std::string home = Environment("HOME"); !home.empty()) {
    settings.files.push_back(home + "/.config/stoker" + kFileName);
  }
  if (!cache_dir.empty()) settings.files.push_back(cache_dir + kFileName);
  return settings;
}

Result<SigningKey> CaptureWriters::OwnKey() {
  const std::lock_guard lock(mutex_);
  return Load();
}

std::string CaptureWriters::OwnFile() {
  const std::lock_guard lock(mutex_);
  return Load().ok() ? own_file_ : std::string();
}

std::vector<PublicKey> CaptureWriters::Trusted() {
  std::vector<PublicKey> writers = settings_.trusted;
  const std::lock_guard lock(mutex_);
  if (const auto& own = Load(); own.ok()) {
    std::erase(writers, own->public_key());
    writers.insert(writers.begin(), own->public_key());
  }
  return writers;
}

const Result<SigningKey>& CaptureWriters::Load() {
  if (own_) return *own_;
  if (!settings_.named_file.empty()) {
    own_file_ = settings_.named_file;
    return own_.emplace(ReadSigningKey(own_file_));
  }
  own_.emplace(
      FailedPrecondition("There is no place for a key that signs captures: HOME is unset. "
                         "STOKER_WRITER_KEY names one."));
  for (const std::string& file : settings_.files) {
    own_file_ = file;
    own_.emplace(ReadOrMakeSigningKey(file));
    // A key that is there and not to be used is an error; a home that is read-only is none.
    if (own_->ok() || own_->error().code != ErrorCode::kUnavailable) break;
  }
  return *own_;
}

}  // namespace stoker
