#include "daemon/access/scope.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stoker {
namespace {

constexpr std::array kScopes = {Scope::kRead, Scope::kWrite, Scope::kAdmin};
constexpr std::string_view kNone = "none";

std::optional<Scope> ScopeNamed(std::string_view name) {
  const auto it = std::find_if(kScopes.begin(), kScopes.end(),
                               [&](Scope scope) { return ScopeName(scope) == name; });
  return it == kScopes.end() ? std::nullopt : std::optional(*it);
}

}  // namespace

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kRead:
      return "read";
    case Scope::kWrite:
      return "write";
    case Scope::kAdmin:
      return "admin";
  }
  return "";
}

Scopes Scopes::All() {
  Scopes all;
  for (const Scope scope : kScopes) all.Add(scope);
  return all;
}

Result<Scopes> Scopes::Parse(std::string_view text) {
  Scopes scopes;
  if (text == kNone) return scopes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto scope = ScopeNamed(name);
    if (!scope) {
      return InvalidArgument("'" + std::string(name) + "' is none of read, write, admin; '" +
                             std::string(kNone) + "' stands alone.");
    }
    scopes.Add(*scope);
    begin = end + 1;
  }
  return scopes;
}

std::string Scopes::ToString() const {
  std::string text;
  for (const Scope scope : kScopes) {
    if (Has(scope)) text += (text.empty() ? "" : ",") + std::string(ScopeName(scope));
  }
  return text.empty() ? std::string(kNone) : text;
}

}  // namespace stoker
