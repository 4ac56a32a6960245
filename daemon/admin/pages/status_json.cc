#include <unistd.h>

#include <boost/json.hpp>

#include "cache/clock.h"
#include "compiler/compile.h"
#include "daemon/admin/pages/admin_pages.h"
#include "daemon/admin/reply/version.h"
#include "daemon/service/worker/worker_sandbox.h"

namespace stoker {
namespace {

namespace json = boost::json;

// Counts are whole numbers, and print as such.
json::value Number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

// The counters below `prefix`, by what follows it.
json::object Below(const Counters& counters, std::string_view prefix) {
  json::object object;
  for (auto it = counters.lower_bound(prefix); it != counters.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    object[it->first.substr(prefix.size())] = Number(it->second);
  }
  return object;
}

constexpr std::size_t kMaxShownCompiles = 64;
constexpr std::size_t kMaxShownNames = 20;
constexpr std::string_view kGroupFields[] = {"hits", "misses", "compiles", "seconds_saved"};

// "<prefix><name>.<field>" counters as {name: {field: value}}. Names may hold dots.
json::object Groups(const Counters& counters, std::string_view prefix) {
  json::object groups;
  for (auto it = counters.lower_bound(prefix); it != counters.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    const std::string rest = it->first.substr(prefix.size());
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string::npos) continue;
    json::value& group = groups[rest.substr(0, dot)];
    if (group.is_null()) {
      group = json::object();
      for (std::string_view field : kGroupFields) group.as_object()[field] = 0;
      group.as_object()["bytes"] = 0;
    }
    group.as_object()[rest.substr(dot + 1)] = Number(it->second);
  }
  return groups;
}

json::object& GroupOf(json::object& groups, const std::string& name) {
  json::value& group = groups[name];
  if (group.is_null()) {
    group = json::object();
    for (std::string_view field : kGroupFields) group.as_object()[field] = 0;
  }
  return group.as_object();
}

json::object CacheOf(const StackSnapshot& snapshot, std::uint64_t max_bytes) {
  const LedgerUsage usage = LastLocalTier(snapshot).usage.value_or(LedgerUsage());
  return {{"max_bytes", max_bytes},
          {"disk_file_bytes", snapshot.disk_file_bytes},
          {"loading", snapshot.loading},
          {"reserved_bytes", usage.reserved_bytes},
          {"refused", {{"no_room", usage.refused_count}, {"disk", usage.disk_refused_count}}},
          {"pins",
           {{"count", snapshot.pins.count},
            {"bytes", snapshot.pins.bytes},
            {"limit_bytes", snapshot.pins.limit_bytes}}}};
}

json::object NamespacesOf(const Counters& counters, const StackSnapshot& snapshot) {
  json::object namespaces = Groups(counters, "ns.");
  for (const auto& [name, usage] : snapshot.namespaces) {
    json::object& group = GroupOf(namespaces, name);
    group["bytes"] = usage.bytes;
    group["limit_bytes"] = usage.limit_bytes;
    group["evicted"] = usage.evicted_count;
  }
  return namespaces;
}

json::object CapturesOf(const Counters& counters) {
  return {{"hits", Number(ValueOf(counters, "captures.hits"))},
          {"misses", Number(ValueOf(counters, "captures.misses"))},
          {"miss_reasons", Below(counters, "captures.misses.reason.")},
          {"recorded", Number(ValueOf(counters, "captures.recorded"))},
          {"local", Number(ValueOf(counters, "captures.local"))},
          {"local_reasons", Below(counters, "captures.local.reason.")},
          {"failed", Number(ValueOf(counters, "captures.failed"))},
          {"failed_reasons", Below(counters, "captures.failed.reason.")},
          {"damaged", Number(ValueOf(counters, "captures.damaged"))},
          {"audited", Number(ValueOf(counters, "captures.audited"))},
          {"differing", Number(ValueOf(counters, "captures.differing"))}};
}

json::object StatsOf(const Counters& counters, const StackSnapshot& snapshot) {
  json::object by_kind;
  std::uint64_t stored_bytes = 0;
  std::uint64_t stored_count = 0;
  const TierSnapshot* stored = &LastLocalTier(snapshot);
  json::object kinds = Groups(counters, "kind.");
  if (stored->usage) {
    stored_bytes = stored->usage->bytes;
    stored_count = stored->usage->count;
    for (const BlobKind kind : kBlobKinds) {
      const std::string name(BlobKindName(kind));
      const std::uint64_t bytes = stored->usage->Of(kind).bytes;
      by_kind[name] = bytes;
      if (bytes != 0) GroupOf(kinds, name)["bytes"] = bytes;
    }
  }
  return {{"hits",
           {{"total", Number(ValueOf(counters, "hits"))},
            {"memory", Number(ValueOf(counters, "hits.memory"))},
            {"disk", Number(ValueOf(counters, "hits.disk"))},
            {"shared", Number(ValueOf(counters, "hits.shared"))},
            {"joined", Number(ValueOf(counters, "hits.joined"))}}},
          {"misses",
           {{"total", Number(ValueOf(counters, "misses"))},
            {"reasons", Below(counters, "misses.reason.")}}},
          {"compiles", Number(ValueOf(counters, "compiles"))},
          {"compile_failures", Number(ValueOf(counters, "compile_failures"))},
          {"compile_failure_classes", Below(counters, "compile_failures.class.")},
          {"diagnostics_served", Number(ValueOf(counters, "diagnostics_served"))},
          {"compile_seconds", Number(ValueOf(counters, "compile_seconds"))},
          {"seconds_saved", Number(ValueOf(counters, "seconds_saved"))},
          {"kernels",
           {{"compiled", Number(ValueOf(counters, "kernels.compiled"))},
            {"reused", Number(ValueOf(counters, "kernels.reused"))}}},
          {"prepared",
           {{"found", Number(ValueOf(counters, wire::kPreparedFound))},
            {"made", Number(ValueOf(counters, wire::kPreparedMade))}}},
          {"captures", CapturesOf(counters)},
          {"fallback_ops", Below(counters, "fallback_ops.")},
          {"client", Below(counters, "client.")},
          {"publish_failures", Number(ValueOf(counters, "publish_failures"))},
          {"quarantined", Number(ValueOf(counters, "quarantined"))},
          {"databases_set_aside", Number(ValueOf(counters, "databases_set_aside"))},
          {"incomplete", Number(ValueOf(counters, "incomplete"))},
          {"evicted", Number(ValueOf(counters, "evicted"))},
          {"bytes",
           {{"stored", stored_bytes},
            {"entries", stored_count},
            {"on_disk", snapshot.disk_file_bytes},
            {"by_kind", std::move(by_kind)}}},
          {"namespaces", NamespacesOf(counters, snapshot)},
          {"kinds", std::move(kinds)}};
}

json::object WorkersOf(const WorkerPool& pool) {
  json::object restarts;
  for (std::size_t i = 0; i < kWorkerEndCount; ++i) {
    restarts[Name(static_cast<WorkerEnd>(i))] = pool.metrics().ends[i].load();
  }
  const auto ready = pool.ready();
  if (!ready) return {{"restarts", std::move(restarts)}};  // None is up yet.
  return {{"restarts", std::move(restarts)},
          {"target_kinds", json::value_from(ready->target_kinds)},
          {"protections", json::value_from(ready->protections)},
          {"missing_protections", json::value_from(MissingProtections(ready->protections))}};
}

json::array ActiveOf(const ActiveCompiles::Snapshot& active) {
  json::array list;
  for (const ActiveCompile& compile : active.compiles) {
    json::object& shown = list.emplace_back(json::object()).as_object();
    shown = {{"key", compile.key.ToHex()},    {"namespace", compile.name_space},
             {"model", compile.model},        {"job", compile.job},
             {"request", compile.request_id}, {"stage", compile.stage},
             {"done", compile.done},          {"total", compile.total},
             {"waited_s", compile.waited_s},  {"running_s", nullptr}};
    if (compile.running_s) shown["running_s"] = *compile.running_s;
  }
  return list;
}

json::array BusiestOf(const Activity& activity, const Visible& visible) {
  json::array list;
  for (const Activity::Row& row : activity.Busiest(visible, kMaxShownNames)) {
    list.push_back(json::object{{"name", row.name},
                                {"namespace", row.name_space},
                                {"hits", row.counts.hits},
                                {"misses", row.counts.misses},
                                {"compiles", row.counts.compiles},
                                {"compile_seconds", row.counts.compile_seconds}});
  }
  return list;
}

json::object ConnectionsOf(const net::ConnectionCounts& counts) {
  json::object by_state;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    by_state[net::Name(static_cast<net::ConnectionState>(i))] = counts[i];
  }
  return by_state;
}

}  // namespace

std::string AdminPages::StatusJson(std::optional<std::int64_t> since_s, const Grant& grant) {
  const StackSnapshot snapshot = cache_counters_.Fold();
  const double uptime =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const Counters totals = statistics_.Totals();
  const std::int64_t now_s = SystemUnixNanos() / kNanosPerSecond;
  History::Row window;
  if (since_s) window = history_.Since(now_s - *since_s, now_s, totals);
  const Observations& seen = service_.observations();
  const net::ServerCounts server = server_();
  const Visible visible = [&](std::string_view ns) { return grant.Allows(Scope::kRead, ns); };
  const ActiveCompiles::Snapshot active = seen.compiles.Take(visible, kMaxShownCompiles);
  json::object status{
      {"version", kDaemonVersion},
      {"pid", static_cast<std::int64_t>(getpid())},
      {"uptime_s", uptime},
      {"compiler_epoch", CompilerEpoch()},
      {"ready", NotReady().empty()},
      {"not_ready", std::string(NotReady())},
      {"insecure", json::array(insecure_.begin(), insecure_.end())},
      {"requests", requests_.load()},
      {"queue",
       {{"running", service_.running()},
        {"waiting", std::max(0, service_.jobs() - service_.running())},
        {"limit", service_.queue_limit()},
        {"oldest_waiting_s", active.oldest_waiting_s}}},
      {"active", ActiveOf(active)},
      {"connections", ConnectionsOf(server.connections)},
      {"kept_uploads",
       {{"count", server.kept_uploads.count}, {"bytes", server.kept_uploads.bytes}}},
      {"busy",
       {{"minutes", Activity::kMinutes},
        {"jobs", BusiestOf(seen.jobs, visible)},
        {"models", BusiestOf(seen.models, visible)}}},
      {"workers", WorkersOf(service_.workers())},
      {"cache", CacheOf(snapshot, max_cache_bytes_)},
      {"stats", StatsOf(since_s ? window.added : totals, snapshot)}};
  if (since_s) status["window"] = {{"begin", window.begin_s}, {"end", window.end_s}};
  return json::serialize(status);
}

}  // namespace stoker
