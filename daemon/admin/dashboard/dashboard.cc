#include "daemon/admin/dashboard/dashboard.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <map>
#include <span>
#include <sstream>
#include <utility>

#include "cache/clock.h"
#include "daemon/admin/dashboard/dashboard_assets.h"
#include "daemon/admin/reply/query.h"
#include "daemon/admin/reply/replies.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kFolder = "/dashboard/";
constexpr std::string_view kIndex = "index.html";
constexpr std::int64_t kMaxRows = 1000;
constexpr std::size_t kShown = 10;  // Of each table.
// Nothing but what the daemon serves itself; and no other page may show this one.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

// What a chart draws: the field, and the counter behind it.
constexpr std::pair<const char*, const char*> kDrawn[] = {{"hits", "hits"},
                                                          {"misses", "misses"},
                                                          {"compiles", "compiles"},
                                                          {"compile_seconds", "compile_seconds"},
                                                          {"seconds_saved", "seconds_saved"},
                                                          {"capture_hits", "captures.hits"},
                                                          {"capture_misses", "captures.misses"}};

net::HttpReply AssetReply(std::string_view name) {
  const auto assets = DashboardAssets();
  const auto asset = std::find_if(assets.begin(), assets.end(),
                                  [&](const Asset& each) { return each.name == name; });
  if (asset == assets.end()) {
    return ReplyOf(NotFound("The dashboard has no '" + std::string(name) + "'."));
  }
  net::HttpReply reply;
  reply.content_type = asset->content_type;
  reply.body = std::string(asset->bytes);
  reply.headers = {{"Content-Security-Policy", kContentPolicy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Cache-Control", "no-cache"}};
  return reply;
}

json::object EntryJson(const wire::ListEntry& entry) {
  return {{"key", entry.key.ToHex()},  {"namespace", entry.ns},
          {"label", entry.label},      {"target", entry.target},
          {"bytes", entry.size_bytes}, {"compile_seconds", entry.compile_seconds},
          {"hits", entry.hits},        {"last_used", entry.last_used_unix_s}};
}

// The first kShown by `before`, which leaves the others in any order.
template <typename Item, typename Before>
std::span<Item> FirstBy(std::vector<Item>& items, const Before& before) {
  const std::size_t count = std::min(items.size(), kShown);
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count), items.end(),
                    before);
  return std::span(items).first(count);
}

json::array SlowestOf(std::vector<wire::ListEntry>& entries) {
  json::array slowest;
  const auto is_slower = [](const wire::ListEntry& a, const wire::ListEntry& b) {
    return a.compile_seconds > b.compile_seconds;
  };
  for (const wire::ListEntry& entry : FirstBy(entries, is_slower)) {
    slowest.push_back(EntryJson(entry));
  }
  return slowest;
}

struct Model {
  std::string label;
  std::uint64_t graphs = 0;
  std::uint64_t hits = 0;
  double seconds_saved = 0;
};

json::array ModelsOf(const std::vector<wire::ListEntry>& entries) {
  std::map<std::string, Model> by_label;
  for (const wire::ListEntry& entry : entries) {
    Model& model = by_label[entry.label];
    model.label = entry.label;
    ++model.graphs;
    model.hits += entry.hits;
    model.seconds_saved += static_cast<double>(entry.hits) * entry.compile_seconds;
  }
  std::vector<Model> models;
  for (auto& [label, model] : by_label) models.push_back(std::move(model));
  json::array most;
  const auto has_more = [](const Model& a, const Model& b) { return a.hits > b.hits; };
  for (const Model& model : FirstBy(models, has_more)) {
    most.push_back({{"label", model.label},
                    {"graphs", model.graphs},
                    {"hits", model.hits},
                    {"seconds_saved", model.seconds_saved}});
  }
  return most;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

asio::awaitable<net::HttpReply> Dashboard::Handle(const net::HttpRequest& request,
                                                  const Grant& grant) {
  const std::string_view path = request.path;
  const std::string_view name = path.starts_with(kFolder) ? path.substr(kFolder.size()) : kIndex;
  if (name == "history.json") co_return HistoryJson(request.query);
  if (name == "entries.json") co_return co_await EntriesJson(grant);
  if (name == "inspect.json") co_return co_await InspectJson(request, grant);
  co_return AssetReply(name);
}

net::HttpReply Dashboard::HistoryJson(const std::string& query) const {
  const auto asked = Query::Parse(query, {"since", "rows"});
  if (!asked.ok()) return ReplyOf(asked.error());
  const auto since_s = asked->Number("since", 1, kHistoryLongestS);
  if (!since_s.ok()) return ReplyOf(since_s.error());
  const auto count = asked->Number("rows", 1, kMaxRows);
  if (!count.ok()) return ReplyOf(count.error());
  const std::int64_t now_s = SystemUnixNanos() / kNanosPerSecond;
  json::array rows;
  for (const History::Row& row :
       history_.Rows(now_s - *since_s, now_s, *count, statistics_.Totals())) {
    json::object& shown = rows.emplace_back(json::object()).as_object();
    shown = {{"begin", row.begin_s}, {"end", row.end_s}};
    for (const auto& [field, counter] : kDrawn) {
      const auto it = row.added.find(counter);
      shown[field] = it == row.added.end() ? 0.0 : it->second;
    }
  }
  return JsonReply(json::serialize(json::object{{"rows", std::move(rows)}}));
}

asio::awaitable<net::HttpReply> Dashboard::EntriesJson(const Grant& grant) {
  auto list = co_await service_.List({.ns = "", .kind = "artifact"});
  if (!list.ok()) co_return ReplyOf(list.error());
  std::vector<wire::ListEntry> entries = std::move(list->entries);
  std::erase_if(
      entries, [&](const wire::ListEntry& entry) { return !grant.Allows(Scope::kRead, entry.ns); });
  co_return JsonReply(json::serialize(
      json::object{{"models", ModelsOf(entries)}, {"slowest", SlowestOf(entries)}}));
}

asio::awaitable<net::HttpReply> Dashboard::InspectJson(const net::HttpRequest& http,
                                                       const Grant& grant) {
  const auto asked = Query::Parse(http.query, {"namespace", "key", "sections"});
  if (!asked.ok()) co_return ReplyOf(asked.error());
  const wire::InspectRequest request{asked->Text("namespace"), asked->Text("key"),
                                     SplitAtCommas(asked->Text("sections"))};
  if (auto refusal = RefusalOf(grant, Scope::kRead, request.ns)) co_return *std::move(refusal);
  // Checked as any other that comes over the wire.
  auto checked = wire::DecodeInspectRequest(wire::EncodeInspectRequest(request));
  if (!checked.ok()) co_return ReplyOf(checked.error());
  const auto reply = co_await service_.Inspect(*std::move(checked), {http.id, http.job});
  if (!reply.ok()) co_return ReplyOf(reply.error());
  json::array sections;
  for (const wire::Section& section : reply->sections) {
    sections.push_back({{"name", section.name}, {"text", section.text}});
  }
  co_return JsonReply(json::serialize(json::object{{"sections", std::move(sections)}}));
}

}  // namespace stoker
