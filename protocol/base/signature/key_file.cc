#include "protocol/base/signature/key_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "protocol/base/digest.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/host/regular_file.h"

namespace stoker {
namespace {

constexpr std::string_view kBegin = "-----BEGIN PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END PRIVATE KEY-----";
// PKCS#8 (RFC 8410) of a key without attributes: these bytes and the seed.
constexpr std::string_view kDerPrefix(
    "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", 16);
constexpr std::size_t kDerBytes = kDerPrefix.size() + SigningKey::kSeedSize;
constexpr std::size_t kBase64Bytes = kDerBytes / 3 * 4;
constexpr std::size_t kMaxFileBytes = 4096;

std::string ErrnoText() { return std::generic_category().message(errno); }

const std::uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

std::string PemOf(const SigningKey& key) {
  std::string der(kDerPrefix);
  der += key.seed();
  std::array<std::uint8_t, kBase64Bytes + 1> base64;
  EVP_EncodeBlock(base64.data(), Bytes(der), static_cast<int>(der.size()));
  OPENSSL_cleanse(der.data(), der.size());
  std::string pem(kBegin);
  pem += "\n";
  pem.append(reinterpret_cast<const char*>(base64.data()), kBase64Bytes);
  pem += "\n";
  pem += kEnd;
  pem += "\n";
  return pem;
}

std::optional<SigningKey> KeyOfPem(std::string_view pem) {
  const std::size_t begin = pem.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  pem.remove_prefix(begin + kBegin.size());
  const std::size_t end = pem.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  std::string base64;
  for (const char c : pem.substr(0, end)) {
    if (c != '\n' && c != '\r' && c != ' ') base64.push_back(c);
  }
  if (base64.size() != kBase64Bytes) return std::nullopt;
  std::array<std::uint8_t, kDerBytes> der;
  const int size = EVP_DecodeBlock(der.data(), Bytes(base64), static_cast<int>(base64.size()));
  OPENSSL_cleanse(base64.data(), base64.size());
  const std::string_view bytes(reinterpret_cast<const char*>(der.data()), der.size());
  std::optional<SigningKey> key;
  if (size == static_cast<int>(der.size()) && bytes.starts_with(kDerPrefix)) {
    auto made = SigningKey::FromSeed(bytes.substr(kDerPrefix.size()));
    if (made.ok()) key = *std::move(made);
  }
  OPENSSL_cleanse(der.data(), der.size());
  return key;
}

// As Postgres takes the key of its certificate.
Status CheckOwnerAndMode(const std::string& path, const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return FailedPrecondition("Key '" + path + "' belongs to user " +
                              std::to_string(status.st_uid) + ", who is neither root nor user " +
                              std::to_string(geteuid()) + ".");
  }
  constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;
  const mode_t allowed = status.st_uid == 0 ? S_IRGRP : 0;
  if ((status.st_mode & kForOthers & ~allowed) == 0) return Ok();
  return FailedPrecondition("Key '" + path +
                            "' may be read or written by other users: chmod 600 makes it private.");
}

Result<SigningKey> KeyIn(const RegularFile& file, const std::string& path) {
  STOKER_RETURN_IF_ERROR(CheckOwnerAndMode(path, file.status()));
  STOKER_TRY(std::string text, file.Read(kMaxFileBytes));
  const auto key = KeyOfPem(text);
  OPENSSL_cleanse(text.data(), text.size());
  if (key) return *key;
  return InvalidArgument(file.name() +
                         " holds no Ed25519 key in PEM, as `openssl genpkey "
                         "-algorithm ed25519` writes it.");
}

// Where it fails, errno says why.
bool WriteNewFile(const std::string& path, std::string_view text) {
  const FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && WriteAll(file.get(), text) && fsync(file.get()) == 0;
}

// So that the name survives a power failure. Not all file systems can.
void SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const FileDescriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file) (void)fsync(file.get());
}

}  // namespace

Result<SigningKey> ReadSigningKey(const std::string& path) {
  STOKER_TRY(const RegularFile file, RegularFile::Open("Key", path));
  return KeyIn(file, path);
}

Status WriteSigningKey(const std::string& path, const SigningKey& key) {
  // Nobody else makes this name: it is of the key's own.
  const std::string draft = path + "." + Sha256Of(key.public_key().AsBytes()).ToHex().substr(0, 16);
  std::string pem = PemOf(key);
  const bool written = WriteNewFile(draft, pem);
  OPENSSL_cleanse(pem.data(), pem.size());
  // A link, unlike a renaming, never replaces what somebody else has put there.
  const bool named = written && link(draft.c_str(), path.c_str()) == 0;
  const int failure = errno;
  unlink(draft.c_str());
  if (named) {
    SyncFolderOf(path);
    return Ok();
  }
  if (written && failure == EEXIST) return FailedPrecondition("Key '" + path + "' exists.");
  return Unavailable("Key '" + path +
                     "' cannot be made: " + std::generic_category().message(failure) + ".");
}

Status MakePrivateFolder(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return Ok();
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty() && parent != path) STOKER_RETURN_IF_ERROR(MakePrivateFolder(parent));
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return Ok();
  return Unavailable("Folder '" + path + "' cannot be made: " + ErrnoText() + ".");
}

Result<SigningKey> ReadOrMakeSigningKey(const std::string& path) {
  for (bool made = false;; made = true) {
    if (FileDescriptor found = OpenToRead(path, O_NOFOLLOW)) {
      STOKER_TRY(const RegularFile file, RegularFile::Of("Key", path, std::move(found)));
      return KeyIn(file, path);
    }
    if (errno == ELOOP) return FailedPrecondition("Key '" + path + "' is a link.");
    if (errno != ENOENT || made) {
      return Unavailable("Key '" + path + "' cannot be read: " + ErrnoText() + ".");
    }
    STOKER_RETURN_IF_ERROR(MakePrivateFolder(std::filesystem::path(path).parent_path().string()));
    STOKER_TRY(const SigningKey key, SigningKey::Make());
    const Status written = WriteSigningKey(path, key);
    // Of somebody who was faster, theirs is read.
    if (!written.ok() && written.error().code != ErrorCode::kFailedPrecondition) {
      return written.error();
    }
  }
}

}  // namespace stoker
