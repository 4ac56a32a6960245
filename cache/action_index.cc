#include "cache/action_index.h"

namespace stoker {
namespace {

Status CheckLimit(std::string_view what, std::size_t value, std::size_t limit) {
  if (value <= limit) return Ok();
  return InvalidArgument("Action entry has " + std::to_string(value) + " " + std::string(what) +
                         "; the limit is " + std::to_string(limit) + ".");
}

}  // namespace

Status CheckActionEntry(const ActionEntry& entry) {
  if (entry.artifact.IsZero()) return InvalidArgument("Action entry names no artifact.");
  STOKER_RETURN_IF_ERROR(CheckLimit("label bytes", entry.label.size(), kMaxLabelBytes));
  STOKER_RETURN_IF_ERROR(CheckLimit("metadata bytes", entry.metadata.size(), kMaxMetadataBytes));
  return CheckLimit("references", entry.references.size(), kMaxReferences);
}

}  // namespace stoker
