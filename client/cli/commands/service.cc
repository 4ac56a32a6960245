// stop, doctor and healthcheck: the daemon behind the cache.
#include <fmt/core.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// What the daemon leaves free on the disk of its cache.
constexpr std::uintmax_t kMinFreeDiskBytes = std::uintmax_t{256} << 20;

int RunStop(Client& client) {
  try {
    detail::Check(stoker_client_stop(client.get()));
  } catch (const Error& error) {
    if (error.code() != STOKER_NOT_FOUND) throw;
    fmt::print("No daemon is running.\n");
    return 0;
  }
  fmt::print("The daemon drains and stops.\n");
  return 0;
}

// One line a check.
class Report {
 public:
  void Say(bool ok, std::string_view what, std::string_view detail) {
    fmt::print("{}  {:<16} {}\n", ok ? "ok  " : "FAIL", what, detail);
    healthy_ &= ok;
  }
  bool healthy() const { return healthy_; }

 private:
  bool healthy_ = true;
};

// The folder may not be there yet: then what counts is where it would be made.
void CheckCacheFolder(Report& report, const std::string& folder) {
  fs::path place = folder;
  std::error_code code;
  while (!fs::exists(place, code) && place.has_relative_path()) place = place.parent_path();
  if (access(place.c_str(), W_OK | X_OK) != 0) {
    report.Say(false, "cache folder", folder + ": '" + place.string() + "' is not writable");
    return;
  }
  const fs::space_info space = fs::space(place, code);
  const bool enough = !code && space.available >= kMinFreeDiskBytes;
  report.Say(enough, "cache folder",
             fmt::format("{}, {} free on its disk{}", folder,
                         FormatBytes(static_cast<double>(space.available)),
                         enough ? ""
                                : "; nothing is stored below " +
                                      FormatBytes(static_cast<double>(kMinFreeDiskBytes))));
}

void CheckPackedWeights(Report& report, const json::value& setup) {
  const std::string folder(setup.at("prepared_dir").as_string());
  const auto size_of = [&](const char* key) {
    return FormatBytes(setup.at(key).to_number<double>());
  };
  report.Say(
      true, "packed weights",
      setup.at("prepared_kept").as_bool()
          ? fmt::format("{}, {} of at most {}", folder, size_of("prepared_bytes"),
                        size_of("prepared_limit_bytes"))
          : "none are kept: STOKER_PREPARED_MIB says so, or the cache folder is no local disk");
}

std::string TextOfEach(const json::array& texts) {
  std::string joined;
  for (const json::value& text : texts) {
    joined += (joined.empty() ? "" : ", ") + std::string(text.as_string());
  }
  return joined;
}

void CheckDaemon(Report& report, Client& client, const json::value& setup) {
  const auto text_of = [&](const char* key) { return std::string(setup.at(key).as_string()); };
  const bool same = text_of("daemon_version") == text_of("client_version");
  report.Say(same, "daemon",
             text_of("url") + ", version " + text_of("daemon_version") +
                 (same ? "" : "; this client has " + text_of("client_version")));
  report.Say(true, "compiler", text_of("compiler_epoch"));
  if (const std::string kinds = TextOfEach(setup.at("target_kinds").as_array()); !kinds.empty()) {
    report.Say(true, "compiles for", kinds);
  }
  const json::value status = ParseReply(client.Get("/status"));
  const bool is_ready = status.at("ready").as_bool();
  report.Say(
      is_ready, "requests",
      is_ready ? fmt::format("{} running, {} waiting", status.at("queue").at("running").as_int64(),
                             status.at("queue").at("waiting").as_int64())
               : "not taken: " + std::string(status.at("not_ready").as_string()));
  const json::value& bytes = status.at("stats").at("bytes");
  report.Say(true, "stored",
             fmt::format("{} of {}, {} blobs, {} quarantined",
                         FormatBytes(bytes.at("stored").to_number<double>()),
                         FormatBytes(status.at("cache").at("max_bytes").to_number<double>()),
                         bytes.at("entries").to_number<std::int64_t>(),
                         status.at("stats").at("quarantined").to_number<std::int64_t>()));
}

// What it can do, and what is compiled for where that is less.
std::string ProcessorOf(const json::value& setup) {
  const std::string processor(setup.at("processor").as_string());
  const std::string target(setup.at("target").as_string());
  return target == processor ? target : processor + "; STOKER_TARGET: " + target;
}

// Exit code 1 when any check fails.
int RunDoctor(Client& client) {
  char* text = nullptr;
  detail::Check(stoker_client_describe(client.get(), &text));
  const json::value setup = ParseReply(detail::TakeText(text));
  const auto text_of = [&](const char* key) { return std::string(setup.at(key).as_string()); };
  Report report;
  report.Say(true, "client", "version " + text_of("client_version"));
  const bool supported = text_of("target_error").empty();
  report.Say(supported, "processor", supported ? ProcessorOf(setup) : text_of("target_error"));
  const bool is_private = setup.at("private").as_bool();
  if (is_private) {
    CheckCacheFolder(report, text_of("cache_dir"));
    const std::string program = text_of("daemon_program");
    report.Say(!program.empty(), "stokerd",
               program.empty() ? "not found; set STOKER_DAEMON" : program);
  }
  CheckPackedWeights(report, setup);
  if (const std::string tls = text_of("tls"); !tls.empty()) report.Say(true, "encryption", tls);
  if (setup.at("reachable").as_bool()) {
    CheckDaemon(report, client, setup);
  } else {
    report.Say(is_private, "daemon",
               is_private ? "not running; it starts with the first request" : text_of("error"));
  }
  return report.healthy() ? 0 : 1;
}

// Of a daemon that runs: it starts none, and asks for nothing that needs a scope.
int RunHealthcheck(Client& client, bool ready) {
  const std::string expected = ready ? "ready\n" : "healthy\n";
  const std::string answer = client.Probe(ready ? "/-/ready" : "/-/healthy");
  if (answer != expected) throw Error(STOKER_UNAVAILABLE, "What answers there is no stokerd.");
  fmt::print("{}", answer);
  return 0;
}

}  // namespace

void AddStop(CLI::App& app, Command& command) {
  app.add_subcommand("stop", "Drain and stop the daemon")->callback([&command] {
    command = RunStop;
  });
}

void AddHealthcheck(CLI::App& app, Command& command) {
  static bool ready = false;
  CLI::App* healthcheck = app.add_subcommand(
      "healthcheck", "Exit 0 if the daemon answers, 1 if not; starts none. For containers");
  healthcheck->add_flag(
      "--ready", ready,
      "Whether it takes requests: not while it drains, nor without its cache folder");
  healthcheck->callback(
      [&command] { command = [](Client& client) { return RunHealthcheck(client, ready); }; });
}

void AddDoctor(CLI::App& app, Command& command) {
  app.add_subcommand("doctor", "Check the set-up: processor, cache, daemon")->callback([&command] {
    command = RunDoctor;
  });
}

}  // namespace stoker::cli
