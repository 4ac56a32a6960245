#include "daemon/access/token_file.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "cache/action_index.h"
#include "daemon/toml/parse.h"
#include "protocol/base/host/trusted_file.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxSubjectBytes = 1024;

// One entry of the file, for what is wrong with it.
struct Place {
  std::string_view kind;  // "Token", "Certificate"
  std::size_t number;     // From 1.

  Error Wrong(std::string_view key, const std::string& expected) const {
    return InvalidArgument(std::string(kind) + " " + std::to_string(number) + ": '" +
                           std::string(key) + "' " + expected);
  }
};

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

Status CheckKeys(const toml::table& entry, const Place& place,
                 std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : entry) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    std::string list;
    for (const std::string_view known : keys)
      list += (list.empty() ? "" : ", ") + std::string(known);
    return place.Wrong(key.str(), "is no key of it: " + list + ".");
  }
  return Ok();
}

Result<std::string> ParseName(const toml::table& entry, const Place& place, std::string_view key,
                              std::size_t max_bytes) {
  const auto name = entry[key].value_exact<std::string>();
  const bool is_name = name && !name->empty() && name->size() <= max_bytes;
  // It stands in messages and in the log.
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (is_name && std::none_of(name->begin(), name->end(), is_control)) return *name;
  return place.Wrong(key, "is no string of 1 to " + std::to_string(max_bytes) +
                              " bytes, without control characters.");
}

// The keys 'scopes' and 'namespaces'.
Result<Grant> ParseGrant(const toml::table& entry, const Place& place, std::string who) {
  const auto scope_names = StringsOf(entry.get("scopes"));
  if (!scope_names || scope_names->empty()) {
    return place.Wrong("scopes", "is no list of read, write, admin.");
  }
  Scopes scopes;
  for (const std::string& scope : *scope_names) {
    const auto parsed = Scopes::Parse(scope);
    if (!parsed.ok()) return place.Wrong("scopes", "has " + parsed.error().message);
    scopes.Add(*parsed);
  }
  std::vector<std::string> namespaces;
  if (const toml::node* node = entry.get("namespaces"); node != nullptr) {
    auto listed = StringsOf(node);
    if (!listed || listed->empty()) {
      return place.Wrong("namespaces", "is no list of names; without it the scopes hold in all.");
    }
    for (const std::string& listed_name : *listed) {
      const Status valid = CheckNamespace(listed_name);
      if (!valid.ok()) return place.Wrong("namespaces", "has " + valid.error().message);
    }
    namespaces = *std::move(listed);
  }
  return Grant(std::move(who), scopes, std::move(namespaces));
}

Result<Token> ParseToken(const toml::table& entry, const Place& place) {
  STOKER_RETURN_IF_ERROR(CheckKeys(entry, place, {"name", "sha256", "scopes", "namespaces"}));
  STOKER_TRY(const std::string name, ParseName(entry, place, "name", kMaxNameBytes));
  const auto hex = entry["sha256"].value_exact<std::string>();
  const auto digest = Digest::FromHex(hex.value_or(""));
  if (!digest.ok()) return place.Wrong("sha256", "is no string of 64 hexadecimal digits.");
  STOKER_TRY(Grant grant, ParseGrant(entry, place, "Token '" + name + "'"));
  return Token{*digest, std::move(grant)};
}

Result<CertificateEntry> ParseCertificate(const toml::table& entry, const Place& place) {
  STOKER_RETURN_IF_ERROR(CheckKeys(entry, place, {"subject", "scopes", "namespaces"}));
  STOKER_TRY(std::string subject, ParseName(entry, place, "subject", kMaxSubjectBytes));
  STOKER_TRY(Grant grant, ParseGrant(entry, place, "Certificate '" + subject + "'"));
  return CertificateEntry{std::move(subject), std::move(grant)};
}

// The tables [[key]]; nothing where there are none.
Result<std::vector<const toml::table*>> TablesOf(const toml::table& table, std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* node = table.get(key);
  if (node == nullptr) return tables;
  const std::string name(key);
  const toml::array* entries = node->as_array();
  if (entries == nullptr || !entries->is_homogeneous(toml::node_type::table)) {
    return InvalidArgument("'" + name + "' is no list of tables: [[" + name + "]] is expected.");
  }
  if (entries->size() > kMaxTokens) {
    return InvalidArgument("There are " + std::to_string(entries->size()) + " entries [[" + name +
                           "]]; the limit is " + std::to_string(kMaxTokens) + ".");
  }
  for (const toml::node& entry : *entries) tables.push_back(entry.as_table());
  return tables;
}

}  // namespace

Result<Credentials> ParseCredentials(std::string_view text) {
  if (text.size() > kMaxTokenFileBytes) {
    return InvalidArgument("It has " + std::to_string(text.size()) + " bytes; the limit is " +
                           std::to_string(kMaxTokenFileBytes) + ".");
  }
  STOKER_TRY(const toml::table table, ParseToml(text));
  for (const auto& [key, value] : table) {
    if (key.str() != "token" && key.str() != "certificate") {
      return InvalidArgument("'" + std::string(key.str()) +
                             "' is no key; [[token]] and [[certificate]] are expected.");
    }
  }
  Credentials credentials;
  std::set<Digest> digests;
  STOKER_TRY(const std::vector<const toml::table*> tokens, TablesOf(table, "token"));
  for (const toml::table* entry : tokens) {
    const Place place{"Token", credentials.tokens.size() + 1};
    STOKER_TRY(Token token, ParseToken(*entry, place));
    if (!digests.insert(token.sha256).second) {
      return place.Wrong("sha256", "is that of an earlier token.");
    }
    credentials.tokens.push_back(std::move(token));
  }
  std::set<std::string> subjects;
  STOKER_TRY(const std::vector<const toml::table*> certificates, TablesOf(table, "certificate"));
  for (const toml::table* entry : certificates) {
    const Place place{"Certificate", credentials.certificates.size() + 1};
    STOKER_TRY(CertificateEntry certificate, ParseCertificate(*entry, place));
    if (!subjects.insert(certificate.subject).second) {
      return place.Wrong("subject", "is that of an earlier certificate.");
    }
    credentials.certificates.push_back(std::move(certificate));
  }
  return credentials;
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
  for (const Token& known : credentials_.tokens) {
    const bool same = CRYPTO_memcmp(known.sha256.AsBytes().data(), digest.AsBytes().data(),
                                    digest.AsBytes().size()) == 0;
    if (same) found = &known;
  }
  if (found == nullptr) return std::nullopt;
  return found->grant;
}

std::optional<Grant> TokenFile::FindCertificate(std::span<const std::string> names) const {
  const std::lock_guard lock(mutex_);
  for (const CertificateEntry& entry : credentials_.certificates) {
    if (std::find(names.begin(), names.end(), entry.subject) != names.end()) return entry.grant;
  }
  return std::nullopt;
}

Result<bool> TokenFile::Reload() {
  const std::lock_guard reading(reading_);
  if (!watch_.Changed()) return false;
  return Read();
}

Result<bool> TokenFile::ReloadSettled() {
  const std::lock_guard reading(reading_);
  if (!watch_.ChangedAndSettled()) return false;
  return Read();
}

Result<bool> TokenFile::Read() {
  STOKER_TRY(const std::string text,
             ReadTrustedFile("Token file", path_, kMaxTokenFileBytes, Secrecy::kPublic));
  auto credentials = ParseCredentials(text);
  if (!credentials.ok()) return credentials.error().WithContext("Token file '" + path_ + "'");
  const std::lock_guard lock(mutex_);
  credentials_ = *std::move(credentials);
  return true;
}

std::string TokenFile::Describe() const {
  const std::lock_guard lock(mutex_);
  const auto counted = [](std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  return "Token file '" + path_ + "' names " + counted(credentials_.tokens.size(), "token") +
         " and " + counted(credentials_.certificates.size(), "certificate");
}

bool TokenFile::is_empty() const {
  const std::lock_guard lock(mutex_);
  return credentials_.tokens.empty() && credentials_.certificates.empty();
}

}  // namespace stoker
