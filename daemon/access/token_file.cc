#include "daemon/access/token_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include "cache/action_index.h"
#include "daemon/toml/parse.h"
#include "protocol/base/file_descriptor.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxNameBytes = 64;

std::string ErrnoText() { return std::generic_category().message(errno); }

Error Wrong(std::size_t number, std::string_view key, const std::string& expected) {
  return InvalidArgument("Token " + std::to_string(number) + ": '" + std::string(key) + "' " +
                         expected);
}

// Every element of an array of strings; nothing where it is anything else.
std::optional<std::vector<std::string>> StringsOf(const toml::node* node) {
  const toml::array* array = node == nullptr ? nullptr : node->as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> strings;
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return std::nullopt;
    strings.push_back(*text);
  }
  return strings;
}

Result<Token> ParseToken(const toml::table& entry, std::size_t number) {
  for (const auto& [key, value] : entry) {
    const std::string_view name = key.str();
    if (name != "name" && name != "sha256" && name != "scopes" && name != "namespaces") {
      return Wrong(number, name, "is no key of a token: name, sha256, scopes, namespaces.");
    }
  }
  const auto name = entry["name"].value_exact<std::string>();
  if (!name || name->empty() || name->size() > kMaxNameBytes) {
    return Wrong(number, "name", "is no string of 1 to 64 bytes.");
  }
  const auto hex = entry["sha256"].value_exact<std::string>();
  const auto digest = Digest::FromHex(hex.value_or(""));
  if (!digest.ok()) return Wrong(number, "sha256", "is no string of 64 hexadecimal digits.");
  const auto scope_names = StringsOf(entry.get("scopes"));
  if (!scope_names || scope_names->empty()) {
    return Wrong(number, "scopes", "is no list of read, write, admin.");
  }
  Scopes scopes;
  for (const std::string& scope : *scope_names) {
    const auto parsed = Scopes::Parse(scope);
    if (!parsed.ok()) return Wrong(number, "scopes", "has " + parsed.error().message);
    scopes.Add(*parsed);
  }
  std::vector<std::string> namespaces;
  if (const toml::node* node = entry.get("namespaces"); node != nullptr) {
    auto listed = StringsOf(node);
    if (!listed || listed->empty()) {
      return Wrong(number, "namespaces", "is no list of names; without it the scopes hold in all.");
    }
    for (const std::string& listed_name : *listed) {
      const Status valid = CheckNamespace(listed_name);
      if (!valid.ok()) return Wrong(number, "namespaces", "has " + valid.error().message);
    }
    namespaces = *std::move(listed);
  }
  return Token{*digest, Grant("Token '" + *name + "'", scopes, std::move(namespaces))};
}

}  // namespace

Result<std::vector<Token>> ParseTokens(std::string_view text) {
  if (text.size() > kMaxTokenFileBytes) {
    return InvalidArgument("It has " + std::to_string(text.size()) + " bytes; the limit is " +
                           std::to_string(kMaxTokenFileBytes) + ".");
  }
  STOKER_TRY(const toml::table table, ParseToml(text));
  for (const auto& [key, value] : table) {
    if (key.str() != "token") {
      return InvalidArgument("'" + std::string(key.str()) + "' is no key; [[token]] is expected.");
    }
  }
  std::vector<Token> tokens;
  const toml::node* node = table.get("token");
  if (node == nullptr) return tokens;
  const toml::array* entries = node->as_array();
  if (entries == nullptr || !entries->is_homogeneous(toml::node_type::table)) {
    return InvalidArgument("'token' is no list of tables: [[token]] is expected.");
  }
  if (entries->size() > kMaxTokens) {
    return InvalidArgument("There are " + std::to_string(entries->size()) +
                           " tokens; the limit is " + std::to_string(kMaxTokens) + ".");
  }
  std::set<Digest> seen;
  for (const toml::node& entry : *entries) {
    STOKER_TRY(Token token, ParseToken(*entry.as_table(), tokens.size() + 1));
    if (!seen.insert(token.sha256).second) {
      return Wrong(tokens.size() + 1, "sha256", "is that of an earlier token.");
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::unique_ptr<TokenFile>> TokenFile::Open(std::string path) {
  std::unique_ptr<TokenFile> file(new TokenFile(std::move(path)));
  STOKER_RETURN_IF_ERROR(file->Reload());
  return file;
}

std::optional<Grant> TokenFile::Find(std::string_view token) const {
  if (token.size() < kMinTokenBytes) return std::nullopt;
  const Digest digest = Sha256Of(token);
  const std::lock_guard lock(mutex_);
  const Token* found = nullptr;
  for (const Token& known : tokens_) {
    const bool same = CRYPTO_memcmp(known.sha256.AsBytes().data(), digest.AsBytes().data(),
                                    digest.AsBytes().size()) == 0;
    if (same) found = &known;
  }
  if (found == nullptr) return std::nullopt;
  return found->grant;
}

Status TokenFile::Reload() {
  const FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    return FailedPrecondition("Token file '" + path_ + "' cannot be read: " + ErrnoText() + ".");
  }
  const Version version{std::int64_t{status.st_ctim.tv_sec} * 1000000000 + status.st_ctim.tv_nsec,
                        status.st_ino, status.st_size};
  const std::lock_guard lock(mutex_);
  if (version == version_) return Ok();
  version_ = version;  // A wrong one is complained of once.
  const bool is_ours = status.st_uid == 0 || status.st_uid == geteuid();
  if (!S_ISREG(status.st_mode) || !is_ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPrecondition("Token file '" + path_ +
                              "' is no file that root or the daemon's user alone may write to.");
  }
  std::string text(
      std::min<std::size_t>(static_cast<std::size_t>(status.st_size), kMaxTokenFileBytes + 1),
      '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  if (got < 0) {
    return FailedPrecondition("Token file '" + path_ + "' cannot be read: " + ErrnoText() + ".");
  }
  text.resize(static_cast<std::size_t>(got));
  auto tokens = ParseTokens(text);
  if (!tokens.ok()) return tokens.error().WithContext("Token file '" + path_ + "'");
  tokens_ = *std::move(tokens);
  return Ok();
}

}  // namespace stoker
