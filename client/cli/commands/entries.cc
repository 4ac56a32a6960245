// ls, inspect and key: looking at what is stored.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/output/format.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

struct ListOptions {
  bool as_json = false;
  bool captures = false;
  std::string name_space;
  std::string kind;
  std::uint32_t limit = 0;
};

int RunList(Client& client, const ListOptions& options) {
  char* text = nullptr;
  const std::string kind = options.captures ? "capture" : options.kind;
  detail::Check(stoker_client_list(client.get(), options.name_space.c_str(), kind.c_str(),
                                   options.limit, &text));
  json::value entries = json::parse(detail::TakeText(text));
  if (kind.empty()) {  // Captures are many and small: they show when they are asked for.
    json::array others;
    for (json::value& entry : entries.as_array()) {
      if (entry.at("kind").as_string() != "capture") others.push_back(std::move(entry));
    }
    entries = std::move(others);
  }
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(entries));
    return 0;
  }
  MakePrintable(entries);
  fmt::print("{:<16} {:<9} {:<12} {:>10} {:>8} {:>6} {:>14}  {}\n", "KEY", "KIND", "NAMESPACE",
             "SIZE", "COMPILE", "HITS", "USED", "LABEL");
  for (const json::value& entry : entries.as_array()) {
    const auto text_of = [&](const char* key) { return std::string(entry.at(key).as_string()); };
    const auto number_of = [&](const char* key) { return entry.at(key).to_number<double>(); };
    fmt::print("{:<16} {:<9} {:<12} {:>10} {:>8} {:>6.0f} {:>14}  {} {}\n",
               text_of("key").substr(0, 16), text_of("kind"), text_of("namespace"),
               FormatBytes(number_of("size_bytes")), FormatSeconds(number_of("compile_seconds")),
               number_of("hits"), FormatAge(number_of("last_used_unix_s")), text_of("label"),
               text_of("target"));
  }
  return 0;
}

int RunInspect(Client& client, const std::string& key, const std::vector<std::string>& sections) {
  std::string joined;
  for (const std::string& section : sections) joined += (joined.empty() ? "" : ",") + section;
  char* text = nullptr;
  try {
    detail::Check(stoker_client_inspect(client.get(), key.c_str(),
                                        joined.empty() ? nullptr : joined.c_str(), &text));
  } catch (const Error& error) {
    if (error.code() != STOKER_NOT_FOUND || !InspectCaptures(client, key)) throw;
    return 0;
  }
  const json::value parsed = ParseReply(detail::TakeText(text), Texts::kLines);
  for (const json::value& section : parsed.as_array()) {
    fmt::print("==== {} ====\n{}\n", std::string(section.at("name").as_string()),
               std::string(section.at("text").as_string()));
  }
  return 0;
}

int RunExplain(Client& client, const std::string& a, const std::string& b) {
  char* text = nullptr;
  detail::Check(stoker_client_explain(client.get(), a.c_str(), b.c_str(), &text));
  const json::value parsed = ParseReply(detail::TakeText(text));
  if (parsed.as_array().empty()) {
    fmt::print("The two requests are the same in every field.\n");
    return 0;
  }
  fmt::print("First difference: {}\n",
             std::string(parsed.as_array().front().at("tag").as_string()));
  for (const json::value& difference : parsed.as_array()) {
    fmt::print("{}\n  a: {}\n  b: {}\n", std::string(difference.at("tag").as_string()),
               std::string(difference.at("a").as_string()),
               std::string(difference.at("b").as_string()));
  }
  return 0;
}

}  // namespace

void AddList(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("ls", "What is stored");
  auto options = std::make_shared<ListOptions>();
  sub->add_flag("--json", options->as_json, "One JSON array");
  sub->add_flag("--captures", options->captures, "Captures, in place of everything else");
  sub->add_option("--namespace", options->name_space, "Only this namespace")
      ->check(NamespaceName());
  sub->add_option("--kind", options->kind, "Only this kind: artifact, capture")
      ->check(CLI::IsMember({"artifact", "capture"}));
  sub->add_option("--limit", options->limit, "At most so many entries (0: all)")
      ->transform(WholeNumber(0, std::numeric_limits<std::uint32_t>::max()));
  sub->callback([&command, options] {
    command = [options](Client& client) { return RunList(client, *options); };
  });
}

void AddInspect(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "inspect",
      "How one request was compiled: graph, groups, loop IR, plan, LLVM IR, assembly; or what a "
      "capture holds: guards, code, graphs");
  auto key = std::make_shared<std::string>();
  auto sections = std::make_shared<std::vector<std::string>>();
  sub->add_option("key", *key, "Request key or capture key, or its first hexadecimal digits")
      ->required();
  sub->add_option("--section", *sections,
                  "graph, groups, loops, schedules, plan, llvm, asm (default: all)")
      ->check(CLI::IsMember({"graph", "groups", "loops", "schedules", "plan", "llvm", "asm"}));
  sub->callback([&command, key, sections] {
    command = [key, sections](Client& client) { return RunInspect(client, *key, *sections); };
  });
}

void AddKey(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("key", "Request keys");
  auto keys = std::make_shared<std::vector<std::string>>();
  sub->add_option("--explain", *keys, "The first field in which two stored requests differ")
      ->expected(2)
      ->required();
  sub->callback([&command, keys] {
    command = [keys](Client& client) { return RunExplain(client, (*keys)[0], (*keys)[1]); };
  });
}

}  // namespace stoker::cli
