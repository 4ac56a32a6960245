#include "client/cli/commands/top_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "client/cli/output/format.h"
#include "client/cli/output/json_number.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kShownKeyDigits = 8;
using Lines = std::vector<std::string>;

// The first characters, not bytes.
std::string Cut(const std::string& text, std::size_t columns) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_first = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (is_first && characters++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string TextOf(const json::value& object, std::string_view key) {
  const json::value* value = object.as_object().if_contains({key.data(), key.size()});
  return value != nullptr && value->is_string() ? Printable(value->as_string()) : std::string();
}

const json::array& ListAt(const json::value& root, std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const json::value* at = &root;
  for (std::string_view key : path) {
    const json::object* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains({key.data(), key.size()});
    if (at == nullptr) return kNone;
  }
  return at->is_array() ? at->as_array() : kNone;
}

std::string HitRate(double hits, double misses) {
  return hits + misses > 0 ? fmt::format("{:.1f} %", 100 * hits / (hits + misses)) : "-";
}

std::string HitRateOf(const json::value& status) {
  return HitRate(Number(status, {"stats", "hits", "total"}),
                 Number(status, {"stats", "misses", "total"}));
}

// What was added between two samples; nothing where the daemon has been restarted, or is the first.
std::optional<double> Added(const TopFrame& frame, std::initializer_list<std::string_view> path) {
  if (!frame.before) return std::nullopt;
  if (Number(frame.before->status, {"pid"}) != Number(frame.now.status, {"pid"})) {
    return std::nullopt;
  }
  return Number(frame.now.status, path) - Number(frame.before->status, path);
}

std::string HitRateNow(const TopFrame& frame) {
  const auto hits = Added(frame, {"stats", "hits", "total"});
  const auto misses = Added(frame, {"stats", "misses", "total"});
  return hits && misses ? HitRate(*hits, *misses) : "-";
}

std::string RequestsPerSecond(const TopFrame& frame) {
  const auto requests = Added(frame, {"requests"});
  const double seconds = frame.before ? frame.now.unix_s - frame.before->unix_s : 0;
  return requests && seconds > 0 ? fmt::format("{:.1f}/s", *requests / seconds) : "-";
}

std::string Connections(const json::value& status) {
  double total = 0;
  std::string states;
  for (const char* state : {"answering", "reading", "idle", "opening"}) {
    const double count = Number(status, {"connections", state});
    total += count;
    if (count > 0) states += fmt::format("{}{:.0f} {}", states.empty() ? "" : ", ", count, state);
  }
  return fmt::format("{:.0f}{}", total, states.empty() ? "" : " (" + states + ")");
}

std::string Restarts(const json::value& status) {
  std::string text;
  for (const char* reason : {"crash", "timeout", "memory", "untrusted", "worn_out", "displaced"}) {
    const double count = Number(status, {"workers", "restarts", reason});
    if (count > 0) text += fmt::format("{}{:.0f} {}", text.empty() ? "" : ", ", count, reason);
  }
  return text.empty() ? "none" : text;
}

Lines Head(const TopFrame& frame) {
  const json::value& status = frame.now.status;
  const auto number = [&](std::initializer_list<std::string_view> path) {
    return Number(status, path);
  };
  const bool is_ready =
      status.as_object().contains("ready") && status.as_object().at("ready") == json::value(true);
  const std::string why = TextOf(status, "not_ready");
  Lines lines;
  lines.push_back(fmt::format("stokerd {}, process {:.0f}, up {}{}{}", TextOf(status, "version"),
                              number({"pid"}), FormatSeconds(number({"uptime_s"})),
                              is_ready ? "" : ", NOT READY: " + why,
                              frame.is_paused ? "  [paused]" : ""));
  if (!frame.error.empty()) lines.push_back("NOT ANSWERING: " + Printable(frame.error));
  lines.push_back(fmt::format("hit rate     now {}   1 min {}   5 min {}   15 min {}",
                              HitRateNow(frame), HitRateOf(frame.now.last_minute),
                              HitRateOf(frame.now.last_five), HitRateOf(frame.now.last_fifteen)));
  lines.push_back(fmt::format("requests     {}   connections {}", RequestsPerSecond(frame),
                              Connections(status)));
  const double waiting = number({"queue", "waiting"});
  lines.push_back(fmt::format(
      "compiles     {:.0f} running, {:.0f} waiting of {:.0f}{}; 15 min: {:.0f} done, {:.0f} failed",
      number({"queue", "running"}), waiting, number({"queue", "limit"}),
      waiting > 0 ? ", oldest " + FormatSeconds(number({"queue", "oldest_waiting_s"})) : "",
      Number(frame.now.last_fifteen, {"stats", "compiles"}),
      Number(frame.now.last_fifteen, {"stats", "compile_failures"})));
  const double stored = number({"stats", "bytes", "stored"});
  const double limit = number({"cache", "max_bytes"});
  lines.push_back(fmt::format(
      "cache        {} of {} ({:.0f} %), {} on disk; evicted 15 min {:.0f}, all {:.0f}",
      FormatBytes(stored), FormatBytes(limit), limit > 0 ? 100 * stored / limit : 0.0,
      FormatBytes(number({"stats", "bytes", "on_disk"})),
      Number(frame.now.last_fifteen, {"stats", "evicted"}), number({"stats", "evicted"})));
  lines.push_back("restarts     workers: " + Restarts(status));
  return lines;
}

Lines ActiveLines(const json::value& status) {
  Lines lines;
  for (const json::value& compile : ListAt(status, {"active"})) {
    const json::value* running = compile.as_object().if_contains("running_s");
    const bool runs = running != nullptr && running->is_number();
    const double total = Number(compile, {"total"});
    const std::string steps =
        total > 0 ? fmt::format(" {:.0f}/{:.0f}", Number(compile, {"done"}), total) : "";
    lines.push_back(fmt::format(
        "{:>9}  {:<18} {:<24} {:<20} {:<12} {}",
        FormatSeconds(runs ? running->to_number<double>() : Number(compile, {"waited_s"})),
        Cut(TextOf(compile, "stage") + steps, 18), Cut(TextOf(compile, "model"), 24),
        Cut(TextOf(compile, "job"), 20), Cut(TextOf(compile, "namespace"), 12),
        TextOf(compile, "key").substr(0, kShownKeyDigits)));
  }
  return lines;
}

double RankOf(const json::value& row, TopSort sort) {
  switch (sort) {
    case TopSort::kRequests:
      return Number(row, {"hits"}) + Number(row, {"misses"});
    case TopSort::kMisses:
      return Number(row, {"misses"});
    case TopSort::kCompiles:
      return Number(row, {"compiles"});
    case TopSort::kTime:
      return Number(row, {"compile_seconds"});
  }
  return 0;
}

Lines BusyLines(const json::value& status, std::string_view what, TopSort sort) {
  // Equal ones stay in the daemon's order.
  std::multimap<double, const json::value*, std::greater<>> rows;
  for (const json::value& row : ListAt(status, {"busy", what})) {
    rows.emplace(RankOf(row, sort), &row);
  }
  Lines lines;
  for (const auto& [rank, row] : rows) {
    lines.push_back(fmt::format(
        "{:<32} {:<12} {:>8.0f} {:>8.0f} {:>8.0f} {:>10}", Cut(TextOf(*row, "name"), 32),
        Cut(TextOf(*row, "namespace"), 12), Number(*row, {"hits"}), Number(*row, {"misses"}),
        Number(*row, {"compiles"}), FormatSeconds(Number(*row, {"compile_seconds"}))));
  }
  return lines;
}

struct Table {
  std::string title;
  Lines lines;
};

std::vector<Table> TablesOf(const TopFrame& frame) {
  const json::value& status = frame.now.status;
  const auto title = [](const char* what) {
    return fmt::format("{:<32} {:<12} {:>8} {:>8} {:>8} {:>10}", what, "NAMESPACE", "HITS",
                       "MISSES", "COMPILES", "TIME");
  };
  return {{fmt::format("{:>9}  {:<18} {:<24} {:<20} {:<12} {}", "COMPILES", "STAGE", "MODEL", "JOB",
                       "NAMESPACE", "KEY"),
           ActiveLines(status)},
          {title("JOBS, 15 MIN"), BusyLines(status, "jobs", frame.sort)},
          {title("MODELS, 15 MIN"), BusyLines(status, "models", frame.sort)}};
}

// Each table gets its share of the rows that are left, and what others leave of theirs.
void Append(Lines& lines, const std::vector<Table>& tables, std::size_t rows) {
  std::size_t left = tables.size();
  for (const Table& table : tables) {
    const std::size_t room = rows > lines.size() ? (rows - lines.size()) / left : 0;
    --left;
    constexpr std::size_t kAround = 2;  // An empty line and the title.
    if (room <= kAround) continue;
    lines.emplace_back();
    lines.push_back(table.title);
    const std::size_t count = std::min(table.lines.size(), room - kAround);
    lines.insert(lines.end(), table.lines.begin(),
                 table.lines.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace

std::string_view Name(TopSort sort) {
  switch (sort) {
    case TopSort::kRequests:
      return "requests";
    case TopSort::kMisses:
      return "misses";
    case TopSort::kCompiles:
      return "compiles";
    case TopSort::kTime:
      return "time";
  }
  return "";
}

TopSort After(TopSort sort) {
  return sort == TopSort::kTime ? TopSort::kRequests
                                : static_cast<TopSort>(static_cast<int>(sort) + 1);
}

std::string RenderTop(const TopFrame& frame, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kUnlimited = 1000000;
  if (rows == 0) rows = kUnlimited;
  const std::size_t foot = frame.has_keys && rows > 1 ? 1 : 0;
  Lines lines = Head(frame);
  Append(lines, TablesOf(frame), rows - foot);
  lines.resize(std::min(lines.size(), rows - foot));
  if (foot > 0) {
    lines.push_back(fmt::format("q quit   p {}   s sort: {}", frame.is_paused ? "go on" : "pause",
                                Name(frame.sort)));
  }
  std::string text;
  for (const std::string& line : lines) text += (columns == 0 ? line : Cut(line, columns)) + "\n";
  return text;
}

}  // namespace stoker::cli
