#include "daemon/access/access_control.h"

#include <algorithm>
#include <string_view>

namespace stoker {
namespace {

constexpr std::string_view kBearer = "bearer";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "Bearer TOKEN": the scheme in any case, one space or more (RFC 9110, 11.1 and 11.4).
std::optional<std::string_view> TokenOf(std::string_view header) {
  if (header.size() <= kBearer.size() || header[kBearer.size()] != ' ' ||
      !std::equal(kBearer.begin(), kBearer.end(), header.begin(),
                  [](char a, char b) { return a == Lower(b); })) {
    return std::nullopt;
  }
  header.remove_prefix(kBearer.size());
  const std::size_t first = header.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : header.substr(first);
}

}  // namespace

Result<std::unique_ptr<AccessControl>> AccessControl::Open(AccessConfig config) {
  std::unique_ptr<AccessControl> access(new AccessControl(std::move(config)));
  if (!access->config_.token_file.empty()) {
    STOKER_TRY(access->tokens_, TokenFile::Open(access->config_.token_file));
  }
  return access;
}

Result<Grant> AccessControl::GrantOf(const net::HttpRequest& request) const {
  if (request.authorization) {
    const auto token = TokenOf(*request.authorization);
    if (!token) {
      return FailedPrecondition("Header 'Authorization' is of another scheme than Bearer.");
    }
    if (tokens_ == nullptr) return FailedPrecondition("This daemon has no tokens (--tokens).");
    auto grant = tokens_->Find(*token);
    if (!grant) return FailedPrecondition("The token is none of this daemon's.");
    return *std::move(grant);
  }
  if (!request.peer.certificate_names.empty()) {
    const std::vector<std::string>& names = request.peer.certificate_names;
    if (tokens_ != nullptr) {
      if (auto grant = tokens_->FindCertificate(names)) return *std::move(grant);
    }
    return Grant("Certificate '" + names.front() + "'", config_.certificates);
  }
  if (!request.peer.uid) {
    return Grant("A client of unknown user, without a token,",
                 config_.insecure ? config_.other_users : Scopes());
  }
  const std::uint32_t uid = *request.peer.uid;
  const std::string who = "User " + std::to_string(uid);
  if (uid == 0 || uid == config_.own_uid) return Grant(who, Scopes::All());
  return Grant(who, config_.other_users);
}

}  // namespace stoker
