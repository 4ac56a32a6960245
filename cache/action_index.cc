#include "cache/action_index.h"

#include <algorithm>

namespace stoker {
namespace {

bool IsNamespaceCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

Status CheckLimit(std::string_view what, std::size_t value, std::size_t limit) {
  if (value <= limit) return Ok();
  return InvalidArgument("Action entry has " + std::to_string(value) + " " + std::string(what) +
                         "; the limit is " + std::to_string(limit) + ".");
}

}  // namespace

Status CheckNamespace(std::string_view name_space) {
  if (name_space.empty() || name_space.size() > kMaxNamespaceBytes) {
    return InvalidArgument("Namespace has " + std::to_string(name_space.size()) +
                           " characters; 1 to " + std::to_string(kMaxNamespaceBytes) +
                           " are allowed.");
  }
  if (!std::all_of(name_space.begin(), name_space.end(), IsNamespaceCharacter)) {
    return InvalidArgument("Namespace '" + std::string(name_space) +
                           "' holds a character outside a-z 0-9 . _ -");
  }
  return Ok();
}

Status CheckActionEntry(const ActionEntry& entry) {
  if (entry.artifact.IsZero()) return InvalidArgument("Action entry names no artifact.");
  STOKER_RETURN_IF_ERROR(CheckLimit("label bytes", entry.label.size(), kMaxLabelBytes));
  STOKER_RETURN_IF_ERROR(CheckLimit("metadata bytes", entry.metadata.size(), kMaxMetadataBytes));
  return CheckLimit("references", entry.references.size(), kMaxReferences);
}

}  // namespace stoker
