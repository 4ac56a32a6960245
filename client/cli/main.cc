// stoker: the command line. Exit codes: 0, 1 runtime failure, 2 usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/standard_streams.h"
#include "stoker/stoker.hpp"

namespace {

// An argument that is given, and given nothing, is a variable that somebody forgot to set; but not
// a word of the command that `record` runs. A flag is not turned off by what might be meant so.
void RefuseOddValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() && option->get_expected_max() > 1) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      if (value.empty()) throw CLI::ValidationError(option->get_name(), "'' is no value");
      if (is_flag && value != "true") {
        throw CLI::ValidationError(option->get_name(),
                                   "it takes no value, such as '" + value + "'");
      }
    }
  }
  for (const CLI::App* sub : app.get_subcommands()) RefuseOddValues(*sub);
}

// One line, whatever the words are that it quotes.
std::string UsageError(const CLI::App* app, const CLI::Error& error) {
  std::string name = app->get_name();
  for (const CLI::App* sub : app->get_subcommands()) name += " " + sub->get_name();
  std::string message = stoker::cli::Printable(error.what());
  while (message.ends_with('.')) message.pop_back();
  return "stoker: " + message + ". See '" + name + " --help'.\n";
}

// The exit code.
int Run(int argc, char** argv) {
  CLI::App app{"Stoker: a compiler-as-a-service with a remote compile cache", "stoker"};
  app.failure_message(UsageError);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("stoker ") + stoker_version());
  std::string url;
  app.add_option("--url", url,
                 "Daemon: unix:/path, http://host:port or https://host:port (default: $STOKER_URL, "
                 "else the private "
                 "daemon of $STOKER_CACHE_DIR or ~/.cache/stoker)");

  std::function<int(stoker::Client&)> command;
  const auto add = [&](auto register_command) { register_command(app, command); };
  add(stoker::cli::AddStats);
  add(stoker::cli::AddTop);
  add(stoker::cli::AddList);
  add(stoker::cli::AddInspect);
  add(stoker::cli::AddKey);
  add(stoker::cli::AddExplain);
  add(stoker::cli::AddTrace);
  add(stoker::cli::AddRecord);
  add(stoker::cli::AddWarm);
  add(stoker::cli::AddExport);
  add(stoker::cli::AddImport);
  add(stoker::cli::AddGc);
  add(stoker::cli::AddVerify);
  add(stoker::cli::AddPurge);
  add(stoker::cli::AddPin);
  add(stoker::cli::AddUnpin);
  add(stoker::cli::AddPins);
  add(stoker::cli::AddKeys);
  add(stoker::cli::AddStop);
  add(stoker::cli::AddDoctor);
  add(stoker::cli::AddHealthcheck);

  try {
    app.parse(argc, argv);
    RefuseOddValues(app);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  stoker::Client client(url.empty() ? nullptr : url.c_str());
  return command(client);
}

}  // namespace

int main(int argc, char** argv) {
  stoker::cli::HoldStandardStreams();
  try {
    const int code = Run(argc, argv);
    stoker::cli::FlushOutput();
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stoker: %s\n", stoker::cli::PrintableLines(error.what()).c_str());
    return 1;
  }
}
