// gc, verify, purge, pin, unpin, pins: work on the daemon's cache.
#include <fmt/core.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/reply.h"
#include "client/cli/output/standard_streams.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

// Blobs that no entry names may belong to somebody who is about to publish one.
constexpr double kUnnamedSeconds = 3600;

struct UpkeepOptions {
  bool as_json = false;
  std::optional<std::uint64_t> limit_bytes;
  double unnamed_seconds = kUnnamedSeconds;
  std::string name_space;
  std::string epoch;
  double unused_seconds = 0;
  bool dry_run = false;
  bool yes = false;
};

json::value Work(Client& client, const char* work, const json::object& request, bool is_quiet) {
  ProgressBar bar(is_quiet);
  char* report = nullptr;
  detail::Check(stoker_client_upkeep(client.get(), work, json::serialize(request).c_str(),
                                     ProgressBar::Callback, &bar, &report));
  return ParseReply(detail::TakeText(report));
}

std::uint64_t Count(const json::value& report, const char* name) {
  return report.at(name).to_number<std::uint64_t>();
}

std::string Bytes(const json::value& report, const char* name) {
  return FormatBytes(report.at(name).to_number<double>());
}

int RunGc(Client& client, const UpkeepOptions& options) {
  json::object request{{"unnamed_seconds", options.unnamed_seconds}};
  if (options.limit_bytes) request["limit_bytes"] = *options.limit_bytes;
  const json::value report = Work(client, "gc", request, options.as_json);
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(report));
    return 0;
  }
  fmt::print("unnamed       {} blobs, {}\n", Count(report, "unnamed_blobs"),
             Bytes(report, "unnamed_bytes"));
  fmt::print("evicted       {} blobs, {}\n", Count(report, "evicted_blobs"),
             Bytes(report, "evicted_bytes"));
  fmt::print("entries       {} removed: a blob of theirs is gone\n", Count(report, "entries"));
  fmt::print("stored        {}; on disk {}, before {}\n", Bytes(report, "stored_bytes"),
             Bytes(report, "file_bytes"), Bytes(report, "file_bytes_before"));
  return 0;
}

// Exit code 1 when something is lost.
int RunVerify(Client& client, bool as_json) {
  const json::value report = Work(client, "verify", {}, as_json);
  const std::uint64_t lost = Count(report, "damaged") - Count(report, "repaired");
  if (as_json) {
    fmt::print("{}\n", json::serialize(report));
  } else {
    fmt::print("{} blobs, {}: {} damaged, {} repaired, {} quarantined; {} entries removed\n",
               Count(report, "blobs"), Bytes(report, "bytes"), Count(report, "damaged"),
               Count(report, "repaired"), lost, Count(report, "entries"));
  }
  return lost == 0 ? 0 : 1;
}

void PrintPurge(const json::value& report, const char* verb) {
  fmt::print("{} {} entries and {} blobs that only they name, {}{}\n", verb,
             Count(report, "entries"), Count(report, "blobs"), Bytes(report, "bytes"),
             Count(report, "pinned_entries") == 0
                 ? ""
                 : fmt::format("; {} pinned entries stay", Count(report, "pinned_entries")));
}

bool IsAgreed() {
  fmt::print("Remove them? [y/N] ");
  FlushOutput();
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int RunPurge(Client& client, const UpkeepOptions& options) {
  if (!options.yes && !options.dry_run && (options.as_json || isatty(STDIN_FILENO) == 0)) {
    Tell("stoker: purge asks before it removes; where it cannot, give --yes.\n");
    return 2;
  }
  json::object request{{"namespace", options.name_space},
                       {"compiler_epoch", options.epoch},
                       {"unused_seconds", options.unused_seconds},
                       {"dry_run", true}};
  if (!options.yes) {
    const json::value report = Work(client, "purge", request, options.as_json);
    if (options.as_json) {
      fmt::print("{}\n", json::serialize(report));
      return 0;
    }
    PrintPurge(report, "There are");
    if (options.dry_run || Count(report, "entries") == 0 || !IsAgreed()) return 0;
  }
  request["dry_run"] = options.dry_run;
  const json::value report = Work(client, "purge", request, options.as_json);
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(report));
  } else {
    PrintPurge(report, options.dry_run ? "There are" : "Removed");
  }
  return 0;
}

int RunPin(Client& client, const std::string& name_space, const std::string& key, bool pinned) {
  char* text = nullptr;
  detail::Check(
      stoker_client_pin(client.get(), name_space.c_str(), key.c_str(), pinned ? 1 : 0, &text));
  const json::value pin = ParseReply(detail::TakeText(text));
  fmt::print("{} {} {} '{}' of namespace '{}', {}\n", pinned ? "Pinned" : "Unpinned",
             std::string(pin.at("kind").as_string()), std::string(pin.at("key").as_string()),
             std::string(pin.at("label").as_string()), std::string(pin.at("namespace").as_string()),
             FormatBytes(pin.at("size_bytes").to_number<double>()));
  return 0;
}

int RunPins(Client& client, const std::string& name_space, bool as_json) {
  char* text = nullptr;
  detail::Check(stoker_client_pins(client.get(), name_space.c_str(), &text));
  const std::string body = detail::TakeText(text);
  if (as_json) {
    fmt::print("{}\n", body);
    return 0;
  }
  const json::value list = ParseReply(body);
  fmt::print("{:<16} {:<9} {:<12} {:>10} {:>14}  {}\n", "KEY", "KIND", "NAMESPACE", "SIZE",
             "PINNED", "LABEL");
  for (const json::value& pin : list.at("pins").as_array()) {
    const auto text_of = [&](const char* key) { return std::string(pin.at(key).as_string()); };
    const auto bytes = pin.at("size_bytes").to_number<double>();
    fmt::print("{:<16} {:<9} {:<12} {:>10} {:>14}  {}\n", text_of("key").substr(0, 16),
               text_of("kind"), text_of("namespace"), bytes == 0 ? "gone" : FormatBytes(bytes),
               FormatAge(pin.at("pinned_unix_s").to_number<double>()), text_of("label"));
  }
  fmt::print("{} of at most {} pinned\n", FormatBytes(list.at("bytes").to_number<double>()),
             FormatBytes(list.at("limit_bytes").to_number<double>()));
  return 0;
}

void AddPinning(CLI::App& app, Command& command, const std::string& name,
                const std::string& description, bool pinned) {
  CLI::App* sub = app.add_subcommand(name, description);
  auto key = std::make_shared<std::string>();
  auto name_space = std::make_shared<std::string>();
  sub->add_option("key", *key, "Request key or capture key, or its first hexadecimal digits")
      ->required();
  sub->add_option("--namespace", *name_space, "Its namespace (default: $STOKER_NAMESPACE)")
      ->check(NamespaceName());
  sub->callback([&command, key, name_space, pinned] {
    command = [key, name_space, pinned](Client& client) {
      return RunPin(client, *name_space, *key, pinned);
    };
  });
}

}  // namespace

void AddGc(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "gc", "Remove what nothing names, evict the coldest, give the space back to the disk");
  auto options = std::make_shared<UpkeepOptions>();
  sub->add_option("--to", options->limit_bytes,
                  "Evict until so much is stored, such as 10GiB (default: the low watermark)")
      ->transform(ByteCount());
  sub->add_option("--unnamed-older-than", options->unnamed_seconds,
                  "Age of what no entry names and is removed, such as 10m (default: 1h)")
      ->transform(Age());
  sub->add_flag("--json", options->as_json, "One JSON object");
  sub->callback([&command, options] {
    command = [options](Client& client) { return RunGc(client, *options); };
  });
}

void AddVerify(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "verify", "Hash everything stored; repair what is damaged, or quarantine it (exit code 1)");
  auto as_json = std::make_shared<bool>(false);
  sub->add_flag("--json", *as_json, "One JSON object");
  sub->callback([&command, as_json] {
    command = [as_json](Client& client) { return RunVerify(client, *as_json); };
  });
}

void AddPurge(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "purge", "Remove the entries that fit all that is given, but pinned ones; asks first");
  auto options = std::make_shared<UpkeepOptions>();
  sub->add_option("--namespace", options->name_space, "Of this namespace")->check(NamespaceName());
  sub->add_option("--epoch", options->epoch, "Compiled by this compiler (see stoker doctor)");
  sub->add_option("--older-than", options->unused_seconds, "Not used for so long, such as 30d")
      ->transform(Age());
  sub->add_flag("--dry-run", options->dry_run, "Say what would be removed");
  sub->add_flag("--yes", options->yes, "Do not ask");
  sub->add_flag("--json", options->as_json, "One JSON object");
  sub->callback([&command, sub, options] {
    if (sub->count("--namespace") + sub->count("--epoch") + sub->count("--older-than") == 0) {
      throw CLI::RequiredError("One of --namespace, --epoch, --older-than");
    }
    command = [options](Client& client) { return RunPurge(client, *options); };
  });
}

void AddPin(CLI::App& app, Command& command) {
  AddPinning(app, command, "pin", "Keep an entry, and all it names, until it is unpinned", true);
}

void AddUnpin(CLI::App& app, Command& command) {
  AddPinning(app, command, "unpin", "Let a pinned entry be evicted again", false);
}

void AddPins(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("pins", "Which entries are pinned");
  auto name_space = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  sub->add_option("--namespace", *name_space, "Only this namespace")->check(NamespaceName());
  sub->add_flag("--json", *as_json, "One JSON object");
  sub->callback([&command, name_space, as_json] {
    command = [name_space, as_json](Client& client) {
      return RunPins(client, *name_space, *as_json);
    };
  });
}

}  // namespace stoker::cli
