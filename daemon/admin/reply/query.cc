#include "daemon/admin/reply/query.h"

#include <algorithm>
#include <charconv>

namespace stoker {

Result<Query> Query::Parse(std::string_view text, std::initializer_list<std::string_view> names) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('='));
    const bool is_sound = name.size() < part.size() &&
                          part.find_first_of("%+") == std::string_view::npos &&
                          std::find(names.begin(), names.end(), name) != names.end();
    if (!is_sound || !query.values_.emplace(name, part.substr(name.size() + 1)).second) {
      std::string list;
      for (const std::string_view known : names) {
        list += (list.empty() ? "" : ", ") + std::string(known) + "=...";
      }
      return InvalidArgument("Query part '" + std::string(part) + "' is none of " + list +
                             ", each once and without escapes.");
    }
  }
  return query;
}

std::string Query::Text(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? "" : it->second;
}

Result<std::int64_t> Query::Number(std::string_view name, std::int64_t min,
                                   std::int64_t max) const {
  const std::string text = Text(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
    return value;
  }
  return InvalidArgument("Query '" + std::string(name) + "=" + text +
                         "' is not a whole number from " + std::to_string(min) + " to " +
                         std::to_string(max) + ".");
}

}  // namespace stoker
