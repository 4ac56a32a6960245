// keys: whose code this client runs, in the forms that variables take.
#include <fmt/core.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "client/cli/commands/commands.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

std::string_view Text(const json::value& object, const char* key) {
  return std::string_view(object.at(key).as_string());
}

std::string Joined(const json::value& texts) {
  std::string joined;
  for (const json::value& text : texts.as_array()) {
    joined += (joined.empty() ? "" : ",") + std::string(text.as_string());
  }
  return joined;
}

void PrintDaemon(const json::value& daemon, const std::string& pinned) {
  const std::string keys = Joined(daemon.at("signing_keys"));
  fmt::print("daemon   {}\n", keys.empty() ? Text(daemon, "error") : keys);
  if (keys.empty()) return;
  const std::string_view error = Text(daemon, "error");
  const bool is_authenticated = daemon.at("is_authenticated").as_bool();
  const char* why = !pinned.empty()
                        ? "pinned by STOKER_SIGNERS"
                        : "announced by a daemon that is this user's own, root's or named";
  fmt::print("         {}, {}\n", Text(daemon, "url"), error.empty() ? why : error);
  if (pinned.empty() && !is_authenticated) return;
  fmt::print("         to pin it: STOKER_SIGNERS={}\n", keys);
}

void PrintWriters(const json::value& writer, const std::string& trusted) {
  const std::string_view error = Text(writer, "error");
  if (!error.empty()) {
    fmt::print("writer   {}\n", error);
  } else {
    fmt::print(
        "writer   {}\n         {}\n         for others to run its captures: "
        "STOKER_TRUSTED_WRITERS={}\n",
        Text(writer, "key"), Text(writer, "file"), Text(writer, "key"));
  }
  fmt::print("trusted  {}\n", trusted.empty() ? "no other writers" : trusted);
}

int RunKeys(Client& client, bool as_json) {
  char* text = nullptr;
  detail::Check(stoker_client_keys(client.get(), &text));
  const std::string body = detail::TakeText(text);
  if (as_json) {
    fmt::print("{}\n", body);
    return 0;
  }
  const json::value keys = ParseReply(body);
  PrintDaemon(keys.at("daemon"), Joined(keys.at("pinned_signers")));
  PrintWriters(keys.at("writer"), Joined(keys.at("trusted_writers")));
  return 0;
}

}  // namespace

void AddKeys(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "keys", "Whose code is run: the daemon's signing key, the own writer key, trusted writers");
  auto as_json = std::make_shared<bool>(false);
  sub->add_flag("--json", *as_json, "One JSON object");
  sub->callback([&command, as_json] {
    command = [as_json](Client& client) { return RunKeys(client, *as_json); };
  });
}

}  // namespace stoker::cli
