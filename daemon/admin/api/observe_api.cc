#include "daemon/admin/api/observe_api.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <utility>

#include "daemon/admin/api/trace_json.h"
#include "daemon/admin/reply/query.h"
#include "daemon/admin/reply/replies.h"
#include "protocol/wire/header/job_name.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kTraces = "/v1/traces/";
constexpr std::string_view kLatest = "latest";
constexpr std::size_t kKeyDigits = 64;

Visible VisibleTo(const Grant& grant) {
  return [&grant](std::string_view ns) { return grant.Allows(Scope::kRead, ns); };
}

Status CheckKey(const std::string& key) {
  const bool is_hex = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (is_hex && key.size() >= ObserveApi::kMinKeyDigits && key.size() <= kKeyDigits) return Ok();
  return InvalidArgument("'" + key + "' is no key: " + std::to_string(ObserveApi::kMinKeyDigits) +
                         " to " + std::to_string(kKeyDigits) +
                         " lower-case hexadecimal digits are expected.");
}

json::value NearestJson(const std::optional<NearestRequest>& nearest) {
  if (!nearest) return nullptr;
  return json::object{{"key", nearest->key.ToHex()},
                      {"field", nearest->field},
                      {"theirs", nearest->theirs},
                      {"ours", nearest->ours}};
}

json::array MissesJson(const std::vector<Miss>& misses) {
  json::array list;
  for (const Miss& miss : misses) {
    list.push_back(json::object{{"unix_s", miss.unix_s},
                                {"times", miss.times},
                                {"namespace", miss.name_space},
                                {"job", miss.job},
                                {"key", miss.key.ToHex()},
                                {"reason", miss.reason},
                                {"detail", miss.text},
                                {"nearest", NearestJson(miss.nearest)}});
  }
  return list;
}

json::array StoredJson(const std::vector<StoredRequest>& stored) {
  json::array list;
  for (const StoredRequest& request : stored) {
    list.push_back(json::object{{"key", request.key.ToHex()},
                                {"namespace", request.name_space},
                                {"label", request.label},
                                {"target", request.target},
                                {"created_unix_s", request.created_unix_s},
                                {"nearest", NearestJson(request.nearest)}});
  }
  return list;
}

Error NoTrace(const std::string& key) {
  return NotFound((key == kLatest
                       ? "No trace of a compile is kept."
                       : "No trace of a compile whose key starts with '" + key + "' is kept.") +
                  " The daemon keeps those of its last " + std::to_string(TraceStore::kMaxTraces) +
                  " compiles.");
}

}  // namespace

asio::awaitable<net::HttpReply> ObserveApi::Misses(const net::HttpRequest& request,
                                                   const Grant& grant) {
  const auto query = Query::Parse(request.query, {"key", "job"});
  if (!query.ok()) co_return ReplyOf(query.error());
  if (query->Has("key") == query->Has("job")) {
    co_return ReplyOf(InvalidArgument("Query 'key=...' or 'job=...' is expected."));
  }
  const Visible visible = VisibleTo(grant);
  const MissMemory& memory = service_.observations().misses;
  if (query->Has("job")) {
    const std::string job = query->Text("job");
    if (!wire::IsJobName(job)) {
      co_return ReplyOf(InvalidArgument("Query 'job=" + job + "' is no job's name."));
    }
    const std::vector<std::string> jobs = memory.Jobs(visible);
    co_return JsonReply(
        json::serialize(json::object{{"misses", MissesJson(memory.OfJob(job, visible))},
                                     {"jobs", json::array(jobs.begin(), jobs.end())}}));
  }
  const std::string key = query->Text("key");
  if (const Status status = CheckKey(key); !status.ok()) co_return ReplyOf(status.error());
  const std::vector<Miss> misses = memory.OfKey(key, visible);
  const auto stored = co_await service_.FindStored("", key, visible, kMaxCandidates);
  if (!stored.ok()) co_return ReplyOf(stored.error());
  std::set<std::string> keys;
  for (const Miss& miss : misses) keys.insert(miss.key.ToHex());
  for (const StoredRequest& each : *stored) keys.insert(each.key.ToHex());
  co_return JsonReply(json::serialize(json::object{{"keys", json::array(keys.begin(), keys.end())},
                                                   {"misses", MissesJson(misses)},
                                                   {"stored", StoredJson(*stored)}}));
}

asio::awaitable<net::HttpReply> ObserveApi::Trace(const net::HttpRequest& request,
                                                  const Grant& grant) {
  const auto query = Query::Parse(request.query, {"namespace", "anew"});
  if (!query.ok()) co_return ReplyOf(query.error());
  const std::string key = request.path.substr(kTraces.size());
  const std::string ns = query->Text("namespace");
  const bool is_latest = key == kLatest;
  if (!is_latest) {
    if (const Status status = CheckKey(key); !status.ok()) co_return ReplyOf(status.error());
  }
  if (!ns.empty()) {
    if (auto refusal = RefusalOf(grant, Scope::kRead, ns)) co_return *std::move(refusal);
  }
  if (query->Has("anew")) {
    if (is_latest) {
      co_return ReplyOf(InvalidArgument("Query 'anew' needs a key: 'latest' is none."));
    }
    co_return co_await TraceAnew(request, grant, ns, key);
  }
  const TraceStore& traces = service_.observations().traces;
  const Visible visible = VisibleTo(grant);
  if (is_latest) {
    const auto trace = traces.Latest(ns, visible);
    co_return trace == nullptr ? ReplyOf(NoTrace(key)) : JsonReply(TraceJson(*trace));
  }
  const auto found = traces.Find(key, ns, visible);
  if (found.empty()) co_return ReplyOf(NoTrace(key));
  std::set<std::string> keys;
  for (const auto& trace : found) keys.insert(trace->key.ToHex());
  if (keys.size() > 1) {
    std::string list;
    for (const std::string& each : keys) list += (list.empty() ? "" : ", ") + each;
    co_return ReplyOf(InvalidArgument("Several keys start with '" + key + "': " + list + "."));
  }
  co_return JsonReply(TraceJson(*found.front()));
}

asio::awaitable<net::HttpReply> ObserveApi::TraceAnew(const net::HttpRequest& request,
                                                      const Grant& grant, const std::string& ns,
                                                      const std::string& key) {
  // The namespace is that in which the request is found, if the sender may read it.
  const auto stored = co_await service_.FindStored(ns, key, VisibleTo(grant), kMaxCandidates);
  if (!stored.ok()) co_return ReplyOf(stored.error());
  if (stored->empty()) {
    co_return ReplyOf(NotFound("No stored request key starts with '" + key + "'."));
  }
  const std::string found_in = stored->front().name_space;
  if (auto refusal = RefusalOf(grant, Scope::kWrite, found_in)) co_return *std::move(refusal);
  const auto trace = co_await service_.TraceAnew(found_in, key, {request.id, request.job});
  co_return trace.ok() ? JsonReply(TraceJson(*trace)) : ReplyOf(trace.error());
}

}  // namespace stoker
