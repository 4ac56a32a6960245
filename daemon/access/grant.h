// Grant: who asks, and what they may do in which namespace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/scope.h"
#include "protocol/base/result.h"

namespace stoker {

class Grant {
 public:
  // `who` as logs and errors name them: "user 1000", "token 'ci'". `namespaces`: where the scopes
  // hold; empty: everywhere.
  Grant(std::string who, Scopes scopes, std::vector<std::string> namespaces = {})
      : who_(std::move(who)), scopes_(scopes), namespaces_(std::move(namespaces)) {}
  static Grant Nothing(std::string who) { return {std::move(who), Scopes()}; }

  const std::string& who() const { return who_; }
  // Whether there is a namespace in which they may.
  bool Allows(Scope scope) const { return scopes_.Has(scope); }
  bool Allows(Scope scope, std::string_view name_space) const;
  // FailedPrecondition says who may not do what, where.
  Status Require(Scope scope) const;
  Status Require(Scope scope, std::string_view name_space) const;
  // In every namespace: for what touches all of them.
  Status RequireEverywhere(Scope scope) const;

 private:
  std::string NamespacesText() const;

  std::string who_;
  Scopes scopes_;
  std::vector<std::string> namespaces_;
};

}  // namespace stoker
