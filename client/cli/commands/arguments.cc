#include "client/cli/commands/arguments.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "client/cli/output/format.h"
#include "stoker/stoker.hpp"

namespace stoker::cli {
namespace {

// `parse` gives nothing for what is none of `expected`.
template <typename Parse>
CLI::Validator Parsed(std::string expected, std::string description, Parse parse) {
  return CLI::Validator(
      [expected = std::move(expected), parse](std::string& text) -> std::string {
        const auto number = parse(text);
        if (!number) return fmt::format("'{}' is not {}.", Printable(text), expected);
        text = fmt::format("{}", *number);
        return "";
      },
      std::move(description));
}

template <typename Number>
std::optional<Number> Within(std::optional<Number> number, Number least, Number most) {
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

}  // namespace

CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most) {
  return Parsed(fmt::format("a whole number from {} to {}", least, most), "",
                [=](const std::string& text) { return Within(ParseWhole(text), least, most); });
}

CLI::Validator DecimalNumber(double least, double most) {
  return Parsed(fmt::format("a number from {} to {}", least, most), "",
                [=](const std::string& text) { return Within(ParseNumber(text), least, most); });
}

CLI::Validator ByteCount() {
  return Parsed("a number of bytes, such as 500MiB or 10GiB, at most 1PiB", "SIZE", ParseBytes);
}

CLI::Validator Age() {
  return Parsed("an age with its unit, such as 90s, 10m, 12h, 30d or 4w", "AGE", ParseAge);
}

CLI::Validator NamespaceName() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        try {
          detail::Check(stoker_check_namespace(text.c_str()));
          return "";
        } catch (const Error& error) {
          return error.what();
        }
      },
      "NAMESPACE");
}

CLI::Validator Duration() {
  return Parsed("a duration: 90s, 15min, 1h, 7d", "DURATION", ParseDuration);
}

}  // namespace stoker::cli
