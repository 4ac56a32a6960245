#include "client/cli/format.h"

#include <fmt/core.h>

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

std::string Without(std::string_view text, bool keeps_lines) {
  std::string printable;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are C2 80 to C2 9F in UTF-8.
    const bool is_c1 =
        c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_c1) ++i;
    const bool is_kept = keeps_lines && (c == '\n' || c == '\t');
    printable += is_c1 || (c < 0x20 && !is_kept) || c == 0x7F ? '?' : text[i];
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
