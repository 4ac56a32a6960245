#include "daemon/signing/key_ring.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>

#include "cache/clock.h"
#include "protocol/artifact/artifact_signature.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/signature/key_file.h"

namespace stoker {
namespace {

// Who holds the lock does so for some milliseconds.
constexpr std::chrono::seconds kLockPatience{5};
constexpr std::chrono::milliseconds kPollInterval{5};

std::string CurrentPath(const std::string& folder) { return folder + "/signing.pem"; }
std::string PreviousPath(const std::string& folder) { return folder + "/previous.pem"; }
std::string SignersPath(const std::string& folder) { return folder + "/signers"; }

std::string ErrnoText() { return std::generic_category().message(errno); }

Status CheckKeyFolder(const std::string& folder) {
  STOKER_RETURN_IF_ERROR(MakePrivateFolder(folder));
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    return FailedPrecondition("Folder '" + folder + "' cannot be looked at: " + ErrnoText() + ".");
  }
  const bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
  if (is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Ok();
  return FailedPrecondition("Folder '" + folder +
                            "' holds keys, and other users own it or may write to it.");
}

// Held while files are made and renamed, by a daemon and by who rotates its key.
Result<FileDescriptor> LockFolder(const std::string& folder) {
  const std::string path = folder + "/lock";
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) {
      return FailedPrecondition("Lock file '" + path + "' cannot be taken: " + ErrnoText() + ".");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (lock) return lock;
  return FailedPrecondition("Lock file '" + path + "' cannot be opened: " + ErrnoText() + ".");
}

// When the file was put in its place; nothing where there is none.
std::optional<std::int64_t> PlacedUnixNanos(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * kNanosPerSecond + status.st_mtim.tv_nsec;
}

// The key that signed before, unless its time is over: then its file goes.
Status AddPrevious(const KeyRingConfig& config, std::vector<SigningKey>* keys) {
  const std::string path = PreviousPath(config.folder);
  const auto placed = PlacedUnixNanos(path);
  if (!placed) return Ok();
  const std::int64_t end =
      *placed + std::chrono::duration_cast<std::chrono::nanoseconds>(config.overlap).count();
  if (config.clock() >= end) {
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return Ok();
    return FailedPrecondition("Key '" + path +
                              "' is out of use and cannot be removed: " + ErrnoText() + ".");
  }
  STOKER_TRY(SigningKey previous, ReadSigningKey(path));
  keys->push_back(std::move(previous));
  return Ok();
}

Result<std::vector<SigningKey>> ReadSigning(const KeyRingConfig& config) {
  std::vector<SigningKey> keys;
  for (const std::string& file : config.files) {
    STOKER_TRY(SigningKey key, ReadSigningKey(file));
    keys.push_back(std::move(key));
  }
  if (!config.files.empty()) return keys;
  STOKER_TRY(SigningKey current, ReadOrMakeSigningKey(CurrentPath(config.folder)));
  keys.push_back(std::move(current));
  STOKER_RETURN_IF_ERROR(AddPrevious(config, &keys));
  return keys;
}

// Those that have ever signed what is stored, the latest first.
Result<std::vector<PublicKey>> ReadSigners(const std::string& folder) {
  const std::string path = SignersPath(folder);
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::vector<PublicKey>();
  return ReadPublicKeys(path);
}

Status WriteSigners(const std::string& folder, const std::vector<PublicKey>& signers) {
  std::string text =
      "# Keys that have signed what this cache holds. What was signed by none of these and by no "
      "key\n"
      "# that signs now is compiled anew: take a line out to disown a key.\n";
  for (const PublicKey& key : signers) text += key.ToString() + "\n";
  const std::string path = SignersPath(folder);
  const std::string draft = path + ".new";
  {
    const FileDescriptor file(
        open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || !WriteAll(file.get(), text) || fsync(file.get()) != 0) {
      return FailedPrecondition("File '" + draft + "' cannot be written: " + ErrnoText() + ".");
    }
  }
  if (rename(draft.c_str(), path.c_str()) == 0) return Ok();
  return FailedPrecondition("File '" + path + "' cannot be written: " + ErrnoText() + ".");
}

}  // namespace

std::vector<PublicKey> SigningKeys::Announced() const {
  std::vector<PublicKey> announced;
  for (const SigningKey& key : signing) announced.push_back(key.public_key());
  return announced;
}

KeyRing::KeyRing(SigningKey key, std::vector<PublicKey> trusted)
    : keys_(std::make_shared<SigningKeys>(SigningKeys{{std::move(key)}, std::move(trusted)})) {}

Result<std::unique_ptr<KeyRing>> KeyRing::Open(KeyRingConfig config) {
  std::unique_ptr<KeyRing> ring(new KeyRing(std::move(config)));
  STOKER_RETURN_IF_ERROR(ring->Reload());
  return ring;
}

std::shared_ptr<const SigningKeys> KeyRing::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

Result<SigningKeys> KeyRing::Read() const {
  STOKER_RETURN_IF_ERROR(CheckKeyFolder(config_.folder));
  STOKER_TRY(const FileDescriptor lock, LockFolder(config_.folder));
  const std::string current = CurrentPath(config_.folder);
  // A key is made at the start alone: of one that runs, clients know the key.
  if (this->keys() && config_.files.empty() && access(current.c_str(), F_OK) != 0 &&
      errno == ENOENT) {
    return FailedPrecondition("Key '" + current + "' is gone.");
  }
  SigningKeys keys;
  STOKER_TRY(keys.signing, ReadSigning(config_));
  if (keys.signing.size() > kMaxArtifactSignatures) {
    return ResourceExhausted(std::to_string(keys.signing.size()) +
                             " signing keys are named; the limit is " +
                             std::to_string(kMaxArtifactSignatures) + ".");
  }
  STOKER_TRY(const std::vector<PublicKey> known, ReadSigners(config_.folder));
  std::vector<PublicKey> signers = keys.Announced();
  for (const PublicKey& key : known) {
    if (std::find(signers.begin(), signers.end(), key) != signers.end()) continue;
    keys.retired.push_back(key);
    if (signers.size() < kMaxListedKeys) signers.push_back(key);
  }
  if (signers != known) STOKER_RETURN_IF_ERROR(WriteSigners(config_.folder, signers));
  for (const std::string& setting : config_.trusted) {
    STOKER_TRY(const std::vector<PublicKey> trusted, PublicKeysOf(setting));
    keys.retired.insert(keys.retired.end(), trusted.begin(), trusted.end());
  }
  return keys;
}

Status KeyRing::Reload() {
  if (config_.folder.empty()) return Ok();  // No file holds its key.
  STOKER_TRY(SigningKeys read, Read());
  const std::lock_guard lock(mutex_);
  // Who holds the keys of before need not notice that nothing changed.
  if (keys_ && keys_->Announced() == read.Announced() && keys_->retired == read.retired)
    return Ok();
  keys_ = std::make_shared<const SigningKeys>(std::move(read));
  return Ok();
}

Result<PublicKey> RotateKey(const std::string& folder, std::chrono::seconds overlap) {
  STOKER_RETURN_IF_ERROR(CheckKeyFolder(folder));
  struct stat status {};
  if (stat(folder.c_str(), &status) == 0 && status.st_uid != geteuid()) {
    return FailedPrecondition("Folder '" + folder + "' belongs to user " +
                              std::to_string(status.st_uid) +
                              ", who alone can make a key that their daemon may read.");
  }
  STOKER_TRY(const FileDescriptor lock, LockFolder(folder));
  const std::string current = CurrentPath(folder);
  STOKER_TRY(const SigningKey before, ReadOrMakeSigningKey(current));
  STOKER_TRY(const SigningKey made, SigningKey::Make());
  const std::string draft = current + ".new";
  unlink(draft.c_str());  // Of one who was stopped half-way.
  STOKER_RETURN_IF_ERROR(WriteSigningKey(draft, made));
  // The overlap counts from now. Stopped between the two renamings, the next start makes a new key.
  const bool placed = utimensat(AT_FDCWD, current.c_str(), nullptr, 0) == 0 &&
                      rename(current.c_str(), PreviousPath(folder).c_str()) == 0 &&
                      rename(draft.c_str(), current.c_str()) == 0;
  if (placed && overlap.count() > 0) return made.public_key();
  // Disowned at once, whatever the overlap of a daemon that runs.
  if (placed && unlink(PreviousPath(folder).c_str()) == 0) return made.public_key();
  return FailedPrecondition("Key '" + current + "' cannot be replaced: " + ErrnoText() + ".");
}

}  // namespace stoker
