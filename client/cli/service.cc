// stop and doctor: the daemon behind the cache.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "client/cli/commands.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

int RunStop(Client& client) {
  try {
    detail::Check(stoker_client_stop(client.get()));
  } catch (const Error& error) {
    if (error.code() != STOKER_UNAVAILABLE) throw;
    fmt::print("No daemon is running.\n");
    return 0;
  }
  fmt::print("The daemon drains and stops.\n");
  return 0;
}

// One line a check; exit code 1 when any fails.
int RunDoctor(Client& client) {
  char* text = nullptr;
  detail::Check(stoker_client_describe(client.get(), &text));
  const json::value setup = json::parse(detail::TakeText(text));
  const auto text_of = [&](const char* key) { return std::string(setup.at(key).as_string()); };
  bool healthy = true;
  const auto report = [&](bool ok, std::string_view what, std::string_view detail) {
    fmt::print("{}  {:<16} {}\n", ok ? "ok  " : "FAIL", what, detail);
    healthy &= ok;
  };
  report(true, "client", "version " + text_of("client_version"));
  report(text_of("target_error").empty(), "processor",
         text_of("target_error").empty() ? text_of("target") : text_of("target_error"));
  if (setup.at("private").as_bool()) {
    report(true, "cache folder", text_of("cache_dir"));
    report(!text_of("daemon_program").empty(), "stokerd",
           text_of("daemon_program").empty() ? "not found; set STOKER_DAEMON"
                                             : text_of("daemon_program"));
  }
  const bool reachable = setup.at("reachable").as_bool();
  if (reachable) {
    report(true, "daemon", text_of("url") + ", version " + text_of("daemon_version"));
    report(true, "compiler", text_of("compiler_epoch"));
  } else if (setup.at("private").as_bool()) {
    report(true, "daemon", "not running; it starts with the first request");
  } else {
    report(false, "daemon", text_of("error"));
  }
  return healthy ? 0 : 1;
}

}  // namespace

void AddStop(CLI::App& app, Command& command) {
  app.add_subcommand("stop", "Drain and stop the daemon")->callback([&command] {
    command = RunStop;
  });
}

void AddDoctor(CLI::App& app, Command& command) {
  app.add_subcommand("doctor", "Check the set-up: processor, cache, daemon")->callback([&command] {
    command = RunDoctor;
  });
}

}  // namespace stoker::cli
