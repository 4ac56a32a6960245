#include "protocol/graph/attribute.h"

#include <algorithm>
#include <array>

namespace stoker {
namespace {

struct Row {
  std::string_view name;
  AttrType type;
};

constexpr std::array kRows = {
#define STOKER_ATTR(attr, name, type) Row{name, AttrType::k##type},
#include "protocol/graph/attribute.def"
#undef STOKER_ATTR
};

}  // namespace

std::string_view Name(AttrName name) { return kRows[static_cast<std::size_t>(name)].name; }
AttrType TypeOf(AttrName name) { return kRows[static_cast<std::size_t>(name)].type; }

std::optional<AttrName> ParseAttrName(std::string_view name) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
  if (found == kRows.end()) return std::nullopt;
  return static_cast<AttrName>(found - kRows.begin());
}

std::optional<AttrName> AttrNameFromCode(std::uint16_t code) {
  if (code >= kRows.size()) return std::nullopt;
  return static_cast<AttrName>(code);
}

void Attributes::Set(AttrName name, AttrValue value) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const auto& entry, AttrName n) { return entry.first < n; });
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, name, std::move(value));
  }
}

const AttrValue* Attributes::Find(AttrName name) const {
  for (const auto& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

}  // namespace stoker
