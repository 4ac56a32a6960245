#include "protocol/base/namespace.h"

#include <algorithm>
#include <string>

namespace stoker {
namespace {

bool IsNamespaceCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Status CheckNamespace(std::string_view name_space) {
  if (name_space.empty() || name_space.size() > kMaxNamespaceBytes) {
    return InvalidArgument("Namespace has " + std::to_string(name_space.size()) +
                           " characters; 1 to " + std::to_string(kMaxNamespaceBytes) +
                           " are allowed.");
  }
  if (std::all_of(name_space.begin(), name_space.end(), IsNamespaceCharacter)) return Ok();
  std::string shown(name_space);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return InvalidArgument("Namespace '" + shown + "' holds a character outside a-z 0-9 . _ -");
}

}  // namespace stoker
