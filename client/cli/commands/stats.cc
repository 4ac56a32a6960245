#include <fmt/core.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/json_number.h"
#include "client/cli/output/reply.h"
#include "client/cli/output/standard_streams.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";

void PrintCounts(std::string_view title, const json::value& stats, const char* key) {
  const json::value* counts = stats.as_object().if_contains(key);
  if (counts == nullptr || !counts->is_object() || counts->as_object().empty()) return;
  fmt::print("{}\n", title);
  for (const auto& [name, value] : counts->as_object()) {
    if (value.is_number()) {
      fmt::print("  {:<28} {:>12.0f}\n", std::string_view(name), value.to_number<double>());
    }
  }
}

void PrintGroups(std::string_view title, const json::value& stats, const char* key) {
  const json::value* groups = stats.as_object().if_contains(key);
  if (groups == nullptr || !groups->is_object() || groups->as_object().empty()) return;
  fmt::print("{:<16} {:>10} {:>10} {:>10} {:>12} {:>12}\n", title, "hits", "misses", "compiles",
             "saved", "bytes");
  for (const auto& [name, group] : groups->as_object()) {
    fmt::print("  {:<14} {:>10.0f} {:>10.0f} {:>10.0f} {:>12} {:>12}\n", std::string_view(name),
               Number(group, {"hits"}), Number(group, {"misses"}), Number(group, {"compiles"}),
               FormatSeconds(Number(group, {"seconds_saved"})),
               FormatBytes(Number(group, {"bytes"})));
  }
}

// Jobs or models, the busiest first.
void PrintBusy(std::string_view what, const json::value& busy, const char* key) {
  const json::value* rows = busy.as_object().if_contains(key);
  if (rows == nullptr || !rows->is_array() || rows->as_array().empty()) return;
  fmt::print("{:<40} {:>10} {:>10} {:>10} {:>12}\n",
             fmt::format("{}, last {:.0f} min", what, Number(busy, {"minutes"})), "hits", "misses",
             "compiles", "spent");
  for (const json::value& row : rows->as_array()) {
    const auto text = [&](const char* name) { return std::string(row.at(name).as_string()); };
    const std::string name = text("name").empty() ? "-" : text("name");
    fmt::print("  {:<38} {:>10.0f} {:>10.0f} {:>10.0f} {:>12}\n", text("namespace") + ": " + name,
               Number(row, {"hits"}), Number(row, {"misses"}), Number(row, {"compiles"}),
               FormatSeconds(Number(row, {"compile_seconds"})));
  }
}

// How much of it there was in a time that has a beginning and an end.
void PrintRates(const json::value& window, const json::value& stats) {
  const double seconds = Number(window, {"end"}) - Number(window, {"begin"});
  fmt::print("since         {}\n", FormatAge(Number(window, {"begin"})));
  if (seconds <= 0) return;
  const double requests = Number(stats, {"hits", "total"}) + Number(stats, {"misses", "total"});
  constexpr double kMinute = 60;
  fmt::print("rates         {:.2f} requests/s, {:.2f} compiles/min\n", requests / seconds,
             kMinute * Number(stats, {"compiles"}) / seconds);
}

void PrintStats(const json::value& stats) {
  const double hits = Number(stats, {"hits", "total"});
  const double misses = Number(stats, {"misses", "total"});
  const double lookups = hits + misses;
  fmt::print("hit rate      {:>6.1f} %   ({:.0f} hits, {:.0f} misses)\n",
             lookups > 0 ? 100 * hits / lookups : 0.0, hits, misses);
  fmt::print("hits from     memory {:.0f}, disk {:.0f}, shared {:.0f}, joined {:.0f}\n",
             Number(stats, {"hits", "memory"}), Number(stats, {"hits", "disk"}),
             Number(stats, {"hits", "shared"}), Number(stats, {"hits", "joined"}));
  fmt::print("compiles      {:.0f} ({:.0f} failed), {} spent, {} saved\n",
             Number(stats, {"compiles"}), Number(stats, {"compile_failures"}),
             FormatSeconds(Number(stats, {"compile_seconds"})),
             FormatSeconds(Number(stats, {"seconds_saved"})));
  fmt::print("kernels       {:.0f} compiled, {:.0f} reused\n",
             Number(stats, {"kernels", "compiled"}), Number(stats, {"kernels", "reused"}));
  fmt::print("weights       {:.0f} found packed, {:.0f} packed\n",
             Number(stats, {"prepared", "found"}), Number(stats, {"prepared", "made"}));
  fmt::print("stored        {} ({:.0f} blobs), {} on disk, {:.0f} evicted\n",
             FormatBytes(Number(stats, {"bytes", "stored"})), Number(stats, {"bytes", "entries"}),
             FormatBytes(Number(stats, {"bytes", "on_disk"})), Number(stats, {"evicted"}));
  fmt::print("damage        {:.0f} blobs quarantined, {:.0f} databases set aside\n",
             Number(stats, {"quarantined"}), Number(stats, {"databases_set_aside"}));
  if (const json::value* reasons = stats.as_object().if_contains("misses");
      reasons != nullptr && reasons->is_object()) {
    PrintCounts("misses by reason", *reasons, "reasons");
  }
  if (const json::value* captures = stats.as_object().if_contains("captures");
      captures != nullptr && captures->is_object()) {
    fmt::print("captures      {:.0f} warm starts, {:.0f} others; {:.0f} recorded, {:.0f} damaged\n",
               Number(*captures, {"hits"}), Number(*captures, {"misses"}),
               Number(*captures, {"recorded"}), Number(*captures, {"damaged"}));
    fmt::print("audits        {:.0f} captures that a new trace agreed with, {:.0f} that differed\n",
               Number(*captures, {"audited"}), Number(*captures, {"differing"}));
    PrintCounts("starts that were not warm", *captures, "miss_reasons");
    PrintCounts("captures that stay in their process", *captures, "local_reasons");
    PrintCounts("captured graphs that failed and run in eager", *captures, "failed_reasons");
  }
  PrintCounts("ops run by the host framework", stats, "fallback_ops");
  PrintGroups("namespace", stats, "namespaces");
  PrintGroups("kind", stats, "kinds");
}

struct StatsOptions {
  bool as_json = false;
  std::string since;  // Empty: of all time.
  bool watches = false;
  std::string watch;
};

void PrintOnce(Client& client, const StatsOptions& options) {
  std::string path = "/status";
  if (!options.since.empty()) {
    path += "?since=" + std::to_string(*ParseDuration(options.since));
  }
  const json::value status = ParseReply(client.Get(path.c_str()));
  const json::value* busy = status.as_object().if_contains("busy");
  if (options.as_json) {
    json::object stats = status.at("stats").as_object();
    if (busy != nullptr) stats["busy"] = *busy;
    fmt::print("{}\n", json::serialize(stats));
    return;
  }
  if (const json::value* window = status.as_object().if_contains("window")) {
    PrintRates(*window, status.at("stats"));
  }
  PrintStats(status.at("stats"));
  if (busy == nullptr) return;
  PrintBusy("job", *busy, "jobs");
  PrintBusy("model", *busy, "models");
}

int RunStats(Client& client, const StatsOptions& options) {
  PrintOnce(client, options);
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  while (options.watches) {
    FlushOutput();
    std::this_thread::sleep_for(std::chrono::seconds(*ParseDuration(options.watch)));
    if (on_terminal && !options.as_json) fmt::print("{}", kClearScreen);
    PrintOnce(client, options);
  }
  return 0;
}

}  // namespace

void AddStats(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("stats", "Hits, misses with reasons, compiles, time saved");
  auto options = std::make_shared<StatsOptions>();
  sub->add_flag("--json", options->as_json, "One JSON object");
  sub->add_option("--since", options->since, "Only what was counted in the last 90s, 15min, 1h, 7d")
      ->check(Duration());
  sub->add_option("--watch", options->watch, "Print again every 2s, or as often as this says")
      ->expected(0, 1)
      ->default_str("2s")
      ->check(Duration());
  sub->callback([&command, options, sub] {
    options->watches = sub->count("--watch") > 0;
    command = [options](Client& client) { return RunStats(client, *options); };
  });
}

}  // namespace stoker::cli
