#include "client/cli/commands/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "client/cli/output/format.h"
#include "client/cli/output/reply.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kMinKeyDigits = 8;
constexpr std::size_t kMaxKeyDigits = 64;
constexpr std::size_t kShownKeyDigits = 16;

std::string TextOf(const json::value& object, const char* key) {
  return Printable(object.at(key).as_string());
}

double NumberOf(const json::value& object, const char* key) {
  return object.at(key).to_number<double>();
}

void PrintNearest(const json::value& nearest) {
  if (nearest.is_null()) return;
  const std::string theirs = TextOf(nearest, "theirs");
  fmt::print("    nearest    {}\n", TextOf(nearest, "key").substr(0, kShownKeyDigits));
  fmt::print("    differs in {}\n", TextOf(nearest, "field"));
  fmt::print("      it has   {}\n", theirs.empty() ? "nothing" : theirs);
  fmt::print("      this one {}\n", TextOf(nearest, "ours"));
}

void PrintMiss(const json::value& miss, bool with_key) {
  const std::string job = TextOf(miss, "job");
  const double times = NumberOf(miss, "times");
  fmt::print("{:<14} {}{}{}{}\n", FormatAge(NumberOf(miss, "unix_s")),
             with_key ? TextOf(miss, "key").substr(0, kShownKeyDigits) + "  " : "",
             TextOf(miss, "reason"), times > 1 ? fmt::format(", {:.0f} times", times) : "",
             with_key || job.empty() ? "" : " (job " + job + ")");
  if (miss.at("nearest").is_null()) {
    fmt::print("    {}\n", TextOf(miss, "detail"));
  } else {
    PrintNearest(miss.at("nearest"));
  }
}

int PrintKey(const json::value& known, const std::string& key, std::size_t limit) {
  const json::array& keys = known.at("keys").as_array();
  const json::array& misses = known.at("misses").as_array();
  if (keys.empty()) {
    fmt::print(
        "No request whose key starts with '{}' is stored, and none of the misses that are "
        "remembered is of it.\n",
        key);
    return 1;
  }
  if (keys.size() > 1) {
    fmt::print("Several keys start with '{}':\n", key);
    for (const json::value& each : keys) fmt::print("  {}\n", std::string(each.as_string()));
    return 1;
  }
  fmt::print("request {}\n", std::string(keys[0].as_string()));
  for (const json::value& stored : known.at("stored").as_array()) {
    fmt::print("stored {} in namespace {}: {} for {}\n",
               FormatAge(NumberOf(stored, "created_unix_s")), TextOf(stored, "namespace"),
               TextOf(stored, "label"), TextOf(stored, "target"));
    // What is nearest now says why it missed only where the miss itself is forgotten.
    if (misses.empty()) PrintNearest(stored.at("nearest"));
  }
  if (known.at("stored").as_array().empty()) fmt::print("not stored\n");
  fmt::print("{}\n", misses.empty() ? "no miss of it is remembered" : "missed:");
  for (const json::value& miss : misses) {
    if (limit-- == 0) break;
    PrintMiss(miss, /*with_key=*/false);
  }
  return 0;
}

int PrintJob(const json::value& known, const std::string& job, std::size_t limit) {
  const json::array& misses = known.at("misses").as_array();
  if (misses.empty()) {
    std::string others;
    for (const json::value& other : known.at("jobs").as_array()) {
      others += (others.empty() ? "" : ", ") + std::string(other.as_string());
    }
    fmt::print("No miss of job '{}' is remembered.{}\n", job,
               others.empty() ? "" : " Of these jobs misses are: " + others + ".");
    return 1;
  }
  for (const json::value& miss : misses) {
    if (limit-- == 0) break;
    PrintMiss(miss, /*with_key=*/true);
  }
  return 0;
}

}  // namespace

bool IsKey(std::string_view text) {
  return text.size() >= kMinKeyDigits && text.size() <= kMaxKeyDigits &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

int ExplainMisses(Client& client, const std::string& key_or_job, bool as_json, std::size_t limit) {
  const bool is_key = IsKey(key_or_job);
  const std::string path = (is_key ? "/v1/misses?key=" : "/v1/misses?job=") + key_or_job;
  const std::string body = client.Get(path.c_str());
  const json::value known = ParseReply(body);
  if (as_json) {
    fmt::print("{}\n", body);
    const json::object& object = known.as_object();
    return object.at(is_key ? "keys" : "misses").as_array().empty() ? 1 : 0;
  }
  return is_key ? PrintKey(known, key_or_job, limit) : PrintJob(known, key_or_job, limit);
}

}  // namespace stoker::cli
