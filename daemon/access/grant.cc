#include "daemon/access/grant.h"

#include <algorithm>

namespace stoker {

bool Grant::Allows(Scope scope, std::string_view name_space) const {
  return scopes_.Has(scope) &&
         (namespaces_.empty() ||
          std::find(namespaces_.begin(), namespaces_.end(), name_space) != namespaces_.end());
}

Status Grant::Require(Scope scope) const {
  if (Allows(scope)) return Ok();
  return FailedPrecondition(who_ + " has no scope '" + std::string(ScopeName(scope)) +
                            "'; the scopes are: " + scopes_.ToString() + ".");
}

Status Grant::Require(Scope scope, std::string_view name_space) const {
  STOKER_RETURN_IF_ERROR(Require(scope));
  if (Allows(scope, name_space)) return Ok();
  return FailedPrecondition(who_ + " has no scope '" + std::string(ScopeName(scope)) +
                            "' in namespace '" + std::string(name_space) +
                            "'; the namespaces are: " + NamespacesText() + ".");
}

Status Grant::RequireEverywhere(Scope scope) const {
  STOKER_RETURN_IF_ERROR(Require(scope));
  if (namespaces_.empty()) return Ok();
  return FailedPrecondition(who_ + " has no scope '" + std::string(ScopeName(scope)) +
                            "' in all namespaces, but in: " + NamespacesText() + ".");
}

std::string Grant::NamespacesText() const {
  std::string list;
  for (const std::string& allowed : namespaces_) list += (list.empty() ? "" : ", ") + allowed;
  return list;
}

}  // namespace stoker
