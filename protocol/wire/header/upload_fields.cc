#include "protocol/wire/header/upload_fields.h"

#include <algorithm>
#include <charconv>

namespace stoker::wire {
namespace {

constexpr std::size_t kMaxDigits = 15;

// The item without its parameters.
std::string_view BareItem(std::string_view field) {
  field = field.substr(0, field.find(';'));
  const std::size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return field.substr(first, field.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::optional<bool> BooleanOf(std::string_view field) {
  const std::string_view item = BareItem(field);
  if (item == "?1") return true;
  if (item == "?0") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> NumberOf(std::string_view field) {
  const std::string_view item = BareItem(field);
  const bool is_number =
      !item.empty() && item.size() <= kMaxDigits &&
      std::all_of(item.begin(), item.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(item.data(), item.data() + item.size(), number);
  return number;
}

}  // namespace stoker::wire
