#include "client/cli/output/format.h"

#include <fmt/core.h>

#include <boost/nowide/utf/utf.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

namespace stoker::cli {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 32;  // Of any unit.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

// A number without a sign at the beginning of `text`, and what stands behind it.
std::optional<std::pair<double, std::string_view>> NumberAtStart(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  return std::pair(number, std::string_view(rest, static_cast<std::size_t>(end - rest)));
}

// 1024 for "k", "KB" and "KiB", and so on.
std::optional<std::uint64_t> BytesOfUnit(std::string_view unit) {
  constexpr std::string_view kLetters = "kmgtp";
  std::string lower(unit);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower.empty() || lower == "b") return 1;
  const std::size_t at = kLetters.find(lower[0]);
  const std::string_view rest = std::string_view(lower).substr(1);
  if (at == std::string_view::npos || (rest != "" && rest != "b" && rest != "i" && rest != "ib")) {
    return std::nullopt;
  }
  return std::uint64_t{1} << (10 * (at + 1));
}

}  // namespace

std::optional<std::uint64_t> ParseWhole(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<double> ParseNumber(std::string_view text) {
  const auto number = NumberAtStart(text);
  if (!number || !number->second.empty()) return std::nullopt;
  return number->first;
}

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  const auto number = NumberAtStart(text);
  if (!number) return std::nullopt;
  const auto unit = BytesOfUnit(number->second);
  if (!unit || number->first * static_cast<double>(*unit) > static_cast<double>(kMaxBytes)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(number->first * static_cast<double>(*unit));
}

std::optional<double> ParseAge(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}};
  const auto number = NumberAtStart(text);
  if (!number || number->first > static_cast<double>(kLongest)) return std::nullopt;
  for (const auto& [name, seconds] : kUnits) {
    if (number->second == name) return number->first * seconds;
  }
  return std::nullopt;
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || count <= 0 || count > kLongest) return std::nullopt;
  for (const auto& [name, seconds] : kUnits) {
    if (std::string_view(rest, static_cast<std::size_t>(end - rest)) == name) {
      return count * seconds;
    }
  }
  return std::nullopt;
}

namespace {

// Whether terminals obey it rather than show it: control characters, ends of lines, and Unicode's
// Bidi_Control, behind which the rest of a line is shown in another order.
bool Steers(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

std::string Without(std::string_view text, bool keeps_lines) {
  namespace utf = boost::nowide::utf;
  std::string printable;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const start = at;
    const utf::code_point c = utf::utf_traits<char>::decode(at, end);
    if (c == utf::illegal || c == utf::incomplete) {
      at = start + 1;
      printable += '?';
    } else if (Steers(c) && !(keeps_lines && (c == '\n' || c == '\t'))) {
      printable += '?';
    } else {
      printable.append(start, at);
    }
  }
  return printable;
}

}  // namespace

std::string Printable(std::string_view text) { return Without(text, /*keeps_lines=*/false); }
std::string PrintableLines(std::string_view text) { return Without(text, /*keeps_lines=*/true); }

std::string FormatBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.2f} s", seconds);
  const auto minutes = static_cast<std::int64_t>(seconds / 60);
  if (minutes < 120) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string FormatAge(double unix_s) {
  if (unix_s <= 0) return "never";
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return FormatSeconds(std::max(0.0, now - unix_s)) + " ago";
}

}  // namespace stoker::cli
