#include "daemon/access/access_control.h"

namespace stoker {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

Result<std::unique_ptr<AccessControl>> AccessControl::Open(AccessConfig config) {
  std::unique_ptr<AccessControl> access(new AccessControl(std::move(config)));
  if (!access->config_.token_file.empty()) {
    STOKER_TRY(access->tokens_, TokenFile::Open(access->config_.token_file));
  }
  return access;
}

Result<Grant> AccessControl::GrantOf(const net::HttpRequest& request) const {
  if (!request.authorization.empty()) {
    const std::string_view header = request.authorization;
    if (!header.starts_with(kBearer)) {
      return FailedPrecondition("Header 'Authorization' is of another scheme than Bearer.");
    }
    if (tokens_ == nullptr) {
      return FailedPrecondition("This daemon has no tokens (--token-file).");
    }
    auto grant = tokens_->Find(header.substr(kBearer.size()));
    if (!grant) return FailedPrecondition("The token is none of this daemon's.");
    return *std::move(grant);
  }
  if (!request.peer.uid) return Grant::Nothing("A client of unknown user, without a token,");
  const std::uint32_t uid = *request.peer.uid;
  const std::string who = "User " + std::to_string(uid);
  if (uid == 0 || uid == config_.own_uid) return Grant(who, Scopes::All());
  return Grant(who, config_.other_users);
}

}  // namespace stoker
