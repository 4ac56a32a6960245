// Captures: inspect CAPTURE, and explain: why starts were or were not warm.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/explain.h"
#include "client/cli/output/format.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMaxShown = 1000000;

struct FreeCaptures {
  void operator()(stoker_captures* captures) const { stoker_captures_free(captures); }
};

std::string Text(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

// A node of the tree of source expressions: [parent, step, argument].
std::string ExpressionOf(const json::array& nodes, std::size_t place) {
  const json::array& node = nodes.at(place).as_array();
  const std::string_view step = node.at(1).as_string();
  const json::value& argument = node.at(2);
  const std::int64_t parent = node.at(0).as_int64();
  const std::string base =
      parent < 0 ? std::string() : ExpressionOf(nodes, static_cast<std::size_t>(parent));
  std::string text = Text(argument);
  if (argument.is_object() && argument.as_object().contains("node")) {
    text = ExpressionOf(nodes, argument.at("node").to_number<std::size_t>());
  }
  if (parent < 0) return step == "builtins" ? "builtins" : text;
  if (step == "attr" || step == "generic") return base + "." + text;
  if (step == "type") return "type(" + base + ")";
  if (step == "typedict") return "vars(" + base + ")";
  if (step == "key") return "list(" + base + ")[" + text + "]";
  if (step == "default") return base + ".__defaults__[" + text + "]";
  if (step == "keyword") return base + ".__kwdefaults__[" + text + "]";
  return base + "[" + text + "]";
}

void PrintGuards(const json::object& record) {
  const json::array& nodes = record.at("nodes").as_array();
  const json::array& guards = record.at("guards").as_array();
  fmt::print("==== guards ({}) ====\n", guards.size());
  for (const json::value& value : guards) {
    const json::array& guard = value.as_array();
    const std::string_view kind = guard.at(1).as_string();
    std::string expected = kind == "same"
                               ? ExpressionOf(nodes, guard.at(2).to_number<std::size_t>())
                               : json::serialize(guard.at(2));
    const std::string_view line = guard.at(3).as_string();
    fmt::print("{}  {} {}{}{}\n", ExpressionOf(nodes, guard.at(0).to_number<std::size_t>()), kind,
               expected, line.empty() ? "" : "  # ", line);
  }
  for (const json::value& shape : record.at("shapes").as_array()) {
    fmt::print("{}\n", std::string_view(shape.as_string()));
  }
}

// [[name, words], ...]
void PrintPairs(const json::value& pairs) {
  for (const json::value& value : pairs.as_array()) {
    fmt::print("{}  {}\n", std::string_view(value.at(0).as_string()), Text(value.at(1)));
  }
}

void PrintCode(const json::object& record) {
  const json::value& facts = record.at("facts");
  fmt::print("==== code ====\n");
  PrintPairs(facts.at("codes"));
  for (const json::value& value : facts.at("chains").as_array()) {
    std::string name(value.at(0).as_string());
    for (const json::value& part : value.at(1).as_array()) {
      name += "." + std::string(part.as_string());
    }
    fmt::print("{}  {}\n", name, json::serialize(value.at(2)));
  }
  fmt::print("==== classes ====\n");
  PrintPairs(facts.at("classes"));
  fmt::print("==== environment ====\n");
  PrintPairs(record.at("environment").at("variables"));
}

void PrintProgram(const json::value& program) {
  for (const json::value& step : program.at("steps").as_array()) {
    const std::string_view kind = step.at(0).as_string();
    if (kind == "segment") {
      fmt::print("segment  request key {}, {} inputs, {} outputs\n",
                 std::string_view(step.at(1).at("key").as_string()),
                 step.at(1).at("inputs").as_array().size(),
                 step.at(1).at("outputs").as_array().size());
    } else {
      fmt::print("{}  {}\n", kind,
                 kind == "eager" ? json::serialize(step.at(1).at("target")) : std::string());
    }
  }
}

void PrintBackward(const json::value& graph) {
  fmt::print("==== backward graph ====\n");
  PrintProgram(ParseReply(graph.at("eager").as_string(), Texts::kLines));
  fmt::print("what it was compiled to has keys of its own\n");
}

void PrintGraphs(const json::object& record) {
  for (const json::value& graph : record.at("graphs").as_array()) {
    fmt::print("==== graph ====\n");
    if (graph.as_object().contains("program")) {
      PrintProgram(graph.at("program"));
    } else {
      fmt::print(
          "symbolic sizes  inputs {}; what was compiled for which sizes has keys of its own\n",
          json::serialize(graph.at("symbolic")));
    }
    fmt::print("runtime  {}\n", json::serialize(graph.at("runtime")));
    if (const json::value* backward = graph.as_object().if_contains("backward")) {
      PrintBackward(*backward);
    }
  }
}

void PrintCapture(std::string_view content) {
  const json::value parsed = ParseReply({content.data(), content.size()}, Texts::kLines);
  const json::object& record = parsed.as_object();
  for (const json::value& field : record.at("key").as_array()) {
    fmt::print("{}: {}\n", std::string_view(field.at(0).as_string()),
               std::string_view(field.at(1).as_string()));
  }
  if (!record.contains("graphs")) {  // One set of sizes of a graph with symbolic ones.
    fmt::print("==== graph ====\n");
    PrintProgram(record.at("program"));
    return;
  }
  fmt::print("state: {}\n", json::serialize(record.at("state")));
  PrintGuards(record);
  PrintCode(record);
  PrintGraphs(record);
}

// The full key of the only capture key that starts with `prefix`; empty if there is none.
std::string FindCaptureKey(Client& client, const std::string& prefix) {
  char* text = nullptr;
  detail::Check(stoker_client_list(client.get(), nullptr, "capture", 0, &text));
  const json::value parsed = ParseReply(detail::TakeText(text));
  std::string found;
  for (const json::value& entry : parsed.as_array()) {
    const std::string key(entry.at("key").as_string());
    if (!key.starts_with(prefix)) continue;
    if (!found.empty() && found != key) {
      throw Error(STOKER_INVALID_ARGUMENT, "Several capture keys start with '" + prefix + "'.");
    }
    found = key;
  }
  return found;
}

int RunExplain(Client& client, bool as_json, std::size_t limit) {
  const std::string body = client.Get("/v1/captures/notes");
  if (as_json) {
    fmt::print("{}\n", body);
    return 0;
  }
  const json::value parsed = ParseReply(body);
  if (parsed.as_array().empty()) {
    fmt::print("No start has been noted since the daemon started.\n");
    return 0;
  }
  for (const json::value& note : parsed.as_array()) {
    if (limit-- == 0) break;
    const auto text_of = [&](const char* key) { return std::string(note.at(key).as_string()); };
    fmt::print("{:<14} {:<9} {}{}{}\n", FormatAge(note.at("unix_s").to_number<double>()),
               text_of("outcome"), text_of("entry"), text_of("reason").empty() ? "" : ": ",
               text_of("reason"));
    if (!text_of("detail").empty()) fmt::print("    {}\n", text_of("detail"));
  }
  return 0;
}

}  // namespace

bool InspectCaptures(Client& client, const std::string& prefix) {
  const std::string key = FindCaptureKey(client, prefix);
  if (key.empty()) return false;
  stoker_captures* handle = nullptr;
  detail::Check(stoker_client_find_captures(client.get(), key.c_str(), nullptr, &handle));
  const std::unique_ptr<stoker_captures, FreeCaptures> captures(handle);
  const std::size_t count = stoker_captures_count(handle);
  if (count == 0) fmt::print("{}\n", stoker_captures_miss_reason(handle));
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t size = 0;
    const char* data = stoker_captures_data(handle, i, &size);
    fmt::print("capture {} ({} of {}, {}, by {})\n", stoker_captures_digest(handle, i), i + 1,
               count, FormatBytes(static_cast<double>(size)), stoker_captures_writer(handle, i));
    if (data == nullptr) {
      fmt::print("Its writer did not sign it for this key.\n");
      continue;
    }
    PrintCapture({data, size});
  }
  return true;
}

void AddExplain(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "explain", "Why requests missed; without KEY or JOB, why starts were or were not warm");
  auto what = std::make_shared<std::string>();
  sub->add_option("what", *what,
                  "A request key or its first digits (8 or more), or a job: its latest misses");
  auto as_json = std::make_shared<bool>(false);
  auto limit = std::make_shared<std::size_t>(20);
  sub->add_flag("--json", *as_json, "All that is remembered, as JSON");
  sub->add_option("--limit", *limit, "Show so many (default: 20)")
      ->transform(WholeNumber(1, kMaxShown));
  sub->callback([&command, what, as_json, limit] {
    command = [what, as_json, limit](Client& client) {
      return what->empty() ? RunExplain(client, *as_json, *limit)
                           : ExplainMisses(client, *what, *as_json, *limit);
    };
  });
}

}  // namespace stoker::cli
