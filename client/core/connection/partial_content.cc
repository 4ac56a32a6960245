#include "client/core/connection/partial_content.h"

#include <charconv>
#include <utility>

namespace stoker {
namespace {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size = 0;
};

// Takes a number from the beginning of `text`, and what stands behind it.
bool TakeNumber(std::string_view& text, std::string_view behind, std::uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(behind.size());
  return true;
}

// Nothing where it does not say which bytes of how many.
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  ContentRange range;
  const bool is_range = TakeNumber(text, "-", &range.first) && TakeNumber(text, "/", &range.last) &&
                        TakeNumber(text, "", &range.size) && text.empty();
  if (!is_range || range.first > range.last || range.last >= range.size) return std::nullopt;
  return range;
}

}  // namespace

void PartialContent::BeginAnew(std::optional<std::uint64_t> all, std::string tag) {
  bytes.clear();
  size = all;
  etag = std::move(tag);
}

Status PartialContent::GoOn(std::string_view content_range, std::string_view tag) {
  const auto range = ParseContentRange(content_range);
  if (range && !bytes.empty() && range->first == bytes.size() &&
      size.value_or(range->size) == range->size && (tag.empty() || etag.empty() || tag == etag)) {
    size = range->size;
    return Ok();
  }
  const std::string wanted = "the rest from byte " + std::to_string(bytes.size()) + " of " +
                             (size ? std::to_string(*size) : "*") +
                             (etag.empty() ? "" : " with ETag '" + etag + "'");
  BeginAnew(std::nullopt, "");
  return Unavailable("Content-Range '" + std::string(content_range) + "'" +
                     (tag.empty() ? "" : " with ETag '" + std::string(tag) + "'") + " is not " +
                     wanted + ".");
}

}  // namespace stoker
