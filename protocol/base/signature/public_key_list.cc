#include "protocol/base/signature/public_key_list.h"

#include <algorithm>

#include "protocol/base/host/regular_file.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxFileBytes = 64 * 1024;
constexpr std::string_view kBetween = " \t\r,";

Status AddKeysOfLine(std::string_view line, std::vector<PublicKey>* keys) {
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return Ok();
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(kBetween));
    line.remove_prefix(word.size());
    STOKER_TRY(const PublicKey key, PublicKey::Parse(word));
    if (std::find(keys->begin(), keys->end(), key) != keys->end()) continue;
    if (keys->size() == kMaxListedKeys) {
      return ResourceExhausted("More than " + std::to_string(kMaxListedKeys) +
                               " public keys are listed.");
    }
    keys->push_back(key);
  }
}

}  // namespace

Result<std::vector<PublicKey>> ParsePublicKeys(std::string_view text) {
  std::vector<PublicKey> keys;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    STOKER_RETURN_IF_ERROR(AddKeysOfLine(line, &keys));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return keys;
}

Result<std::vector<PublicKey>> ReadPublicKeys(const std::string& path) {
  STOKER_TRY(const RegularFile file, RegularFile::Open("File of keys", path));
  if ((file.status().st_mode & S_IWOTH) != 0) {
    return FailedPrecondition(file.name() + " is not to be believed: everybody may write to it.");
  }
  STOKER_TRY(const std::string text, file.Read(kMaxFileBytes));
  auto keys = ParsePublicKeys(text);
  if (!keys.ok()) return keys.error().WithContext(file.name());
  return keys;
}

Result<std::vector<PublicKey>> PublicKeysOf(const std::string& value) {
  const bool is_list = value.starts_with(PublicKey::kTextPrefix);
  STOKER_TRY(std::vector<PublicKey> keys, is_list ? ParsePublicKeys(value) : ReadPublicKeys(value));
  if (!keys.empty()) return keys;
  return InvalidArgument("'" + value + "' lists no public key.");
}

std::string ListOf(std::span<const PublicKey> keys) {
  std::string list;
  for (const PublicKey& key : keys) list += (list.empty() ? "" : ", ") + key.ToString();
  return list.empty() ? "nobody" : list;
}

}  // namespace stoker
