// trace: where the time of a compile went.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/explain.h"
#include "client/cli/output/format.h"
#include "client/cli/output/reply.h"
#include "client/cli/output/standard_streams.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

struct TraceOptions {
  std::string key;
  bool latest = false;
  std::string graph;  // A file.
  std::string name_space;
  bool anew = false;
  std::string output = "trace.json";
};

// Compiles the graph, unless that is stored. Its request key.
std::string Compile(Client& client, const std::string& path) {
  const Executable executable = client.Compile(Graph::Read(path));
  return std::string(ParseReply(executable.Describe()).at("request_key").as_string());
}

std::string Fetch(Client& client, const std::string& key, const std::string& name_space,
                  bool anew) {
  std::string path = "/v1/traces/" + key;
  std::string separator = "?";
  if (anew) path += std::exchange(separator, "&") + "anew=1";
  if (!name_space.empty()) path += separator + "namespace=" + name_space;
  return client.Get(path.c_str());
}

std::string FetchChosen(Client& client, const TraceOptions& options) {
  if (options.latest) return Fetch(client, "latest", options.name_space, false);
  if (options.graph.empty()) {
    return Fetch(client, options.key, options.name_space, options.anew);
  }
  const std::string key = Compile(client, options.graph);
  if (!options.anew) {
    try {
      return Fetch(client, key, options.name_space, false);
    } catch (const Error& error) {
      if (error.code() != STOKER_NOT_FOUND) throw;
    }
  }
  // It was stored, and nobody remembers how it was compiled.
  return Fetch(client, key, options.name_space, true);
}

// To standard error: the trace may go to standard output.
void Summarize(const json::value& trace, const std::string& output) {
  const json::array& events = trace.at("traceEvents").as_array();
  const json::value& facts = trace.at("otherData");
  double total_s = 0;
  std::string steps;
  std::size_t spans = 0;
  for (const json::value& event : events) {
    if (event.at("ph").as_string() != "X") continue;
    ++spans;
    const double seconds = event.at("dur").to_number<double>() / 1e6;
    const json::string& category = event.at("cat").as_string();
    if (category == "request") total_s = seconds;
    if (category != "daemon") continue;
    steps += fmt::format("{}{} {}", steps.empty() ? "" : ", ",
                         std::string(event.at("name").as_string()), FormatSeconds(seconds));
  }
  Tell("{}  {}: {} ({})\n", std::string(facts.at("key").as_string()).substr(0, 16),
       std::string(facts.at("model").as_string()), FormatSeconds(total_s), steps);
  if (output != "-") {
    Tell("{} spans in {}: open it in https://ui.perfetto.dev\n", spans, output);
  }
}

int RunTrace(Client& client, const TraceOptions& options) {
  const std::string text = FetchChosen(client, options);
  if (options.output == "-") {
    fmt::print("{}\n", text);
  } else {
    std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
    file << text << '\n';
    file.close();
    if (!file) throw Error(STOKER_UNAVAILABLE, "File '" + options.output + "' cannot be written.");
  }
  Summarize(ParseReply(text), options.output);
  return 0;
}

std::string CheckKey(const std::string& text) {
  if (IsKey(text)) return "";
  return "'" + text + "' is no request key: 8 to 64 lower-case hexadecimal digits.";
}

}  // namespace

void AddTrace(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "trace", "Where the time of one compile went, for ui.perfetto.dev and chrome://tracing");
  auto options = std::make_shared<TraceOptions>();
  CLI::Option_group* which = sub->add_option_group("which");
  which->add_option("key", options->key, "Request key of a compile, or its first digits")
      ->check(CheckKey);
  which->add_flag("--last", options->latest, "The daemon's latest compile");
  which->add_option("--graph", options->graph,
                    "Compile the graph in this file, in its readable form");
  which->require_option(1);
  sub->add_option("--namespace", options->name_space, "Only of this namespace")
      ->check(NamespaceName());
  sub->add_flag("--anew", options->anew,
                "Compile it now, every kernel, and store nothing; for what the daemon has "
                "forgotten, or found in parts");
  sub->add_option("-o,--output", options->output, "File to write; -: standard output")
      ->capture_default_str();
  sub->callback([&command, options] {
    if (options->latest && options->anew) {
      throw CLI::ValidationError("--anew", "needs a key or --graph; --last is what was compiled");
    }
    command = [options](Client& client) { return RunTrace(client, *options); };
  });
}

}  // namespace stoker::cli
