// The Prometheus text exposition format 0.0.4. Written here, because Debian has prometheus-cpp as a
// shared library only and the daemon is one self-contained program.
#include <algorithm>
#include <charconv>

#include "cache/clock.h"
#include "daemon/admin/pages/admin_pages.h"

namespace stoker {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType { kCounter, kGauge, kHistogram };

std::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

std::string NumberText(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// Backslash, quote and newline are escaped in label values.
std::string Escaped(const std::string& value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

// Metrics of one family must be added one after the other.
class Families {
 public:
  void Add(MetricType type, const std::string& name, const std::string& help, double value,
           const Labels& labels = {}) {
    Begin(type, name, help);
    AddSample(name, value, labels);
  }

  // The counter of this key.
  void AddCounter(const Counters& counters, const std::string& name, const std::string& help,
                  std::string_view key) {
    Add(MetricType::kCounter, name, help, ValueOf(counters, key));
  }

  // Seconds, in buckets that hold all that took no longer.
  void AddHistogram(const std::string& name, const std::string& help,
                    const LatencySnapshot& latency, Labels labels) {
    Begin(MetricType::kHistogram, name, help);
    std::uint64_t count = 0;
    labels.emplace_back("le", "");
    for (std::size_t bucket = 0; bucket < kLatencyBuckets; ++bucket) {
      count += latency.counts[bucket];
      const bool is_last = bucket + 1 == kLatencyBuckets;
      labels.back().second =
          is_last
              ? "+Inf"
              : NumberText(static_cast<double>(LatencyBucketLimitNanos(bucket)) / kNanosPerSecond);
      AddSample(name + "_bucket", static_cast<double>(count), labels);
    }
    labels.pop_back();
    AddSample(name + "_sum", static_cast<double>(latency.total_ns) / kNanosPerSecond, labels);
    AddSample(name + "_count", static_cast<double>(count), labels);
  }

  // One metric per counter below `prefix`, labelled with what follows it.
  void AddBelow(const Counters& counters, std::string_view prefix, const std::string& name,
                const std::string& help, const std::string& label) {
    Begin(MetricType::kCounter, name, help);
    for (auto it = counters.lower_bound(prefix); it != counters.end(); ++it) {
      if (!it->first.starts_with(prefix)) break;
      Add(MetricType::kCounter, name, help, it->second, {{label, it->first.substr(prefix.size())}});
    }
  }

  // The same of "<prefix><label>.<last>": there may be dots in a label, and none in what is
  // counted.
  void AddBetween(const Counters& counters, std::string_view prefix, std::string_view last,
                  const std::string& name, const std::string& help, const std::string& label) {
    Begin(MetricType::kCounter, name, help);
    for (auto it = counters.lower_bound(prefix); it != counters.end(); ++it) {
      if (!it->first.starts_with(prefix)) break;
      const std::string_view rest = std::string_view(it->first).substr(prefix.size());
      const std::size_t dot = rest.rfind('.');
      if (dot == std::string_view::npos || rest.substr(dot + 1) != last) continue;
      Add(MetricType::kCounter, name, help, it->second,
          {{label, std::string(rest.substr(0, dot))}});
    }
  }

  std::string Text() && { return std::move(text_); }

 private:
  void Begin(MetricType type, const std::string& name, const std::string& help) {
    if (name == last_name_) return;
    text_ +=
        "# HELP " + name + " " + help + "\n# TYPE " + name + " " + std::string(NameOf(type)) + "\n";
    last_name_ = name;
  }

  void AddSample(const std::string& name, double value, const Labels& labels) {
    text_ += name;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text_ += (i == 0 ? "{" : ",") + labels[i].first + "=\"" + Escaped(labels[i].second) + "\"";
    }
    text_ += (labels.empty() ? " " : "} ") + NumberText(value) + "\n";
  }

  std::string text_;
  std::string last_name_;
};

// What is refused, reserved, pinned, and what each namespace has.
void AddRoom(Families& families, const StackSnapshot& snapshot) {
  const LedgerUsage usage = LastLocalTier(snapshot).usage.value_or(LedgerUsage());
  const auto refused = [&](const std::string& reason, std::uint64_t count) {
    families.Add(MetricType::kCounter, "stoker_cache_refused_writes_total",
                 "Blobs that were not stored since the start, by what there was no room in",
                 static_cast<double>(count), {{"reason", reason}});
  };
  refused("cache", usage.refused_count);
  refused("disk", usage.disk_refused_count);
  const auto gauge = [&](const std::string& name, const std::string& help, std::uint64_t value) {
    families.Add(MetricType::kGauge, name, help, static_cast<double>(value));
  };
  gauge("stoker_cache_reserved_bytes", "Bytes of writes that have their room and are under way",
        usage.reserved_bytes);
  gauge("stoker_cache_loading", "1 while the records of what is stored are read",
        snapshot.loading ? 1 : 0);
  gauge("stoker_pins", "Entries that are pinned", snapshot.pins.count);
  gauge("stoker_pinned_bytes", "Bytes of the entries that are pinned", snapshot.pins.bytes);
  gauge("stoker_pinned_limit_bytes", "Bytes of entries that may be pinned",
        snapshot.pins.limit_bytes);
  const auto namespaces = [&](MetricType type, const std::string& name, const std::string& help,
                              std::uint64_t LedgerUsage::*member) {
    for (const auto& [name_space, entries] : snapshot.namespaces) {
      families.Add(type, name, help, static_cast<double>(entries.*member),
                   {{"namespace", name_space}});
    }
  };
  namespaces(MetricType::kGauge, "stoker_namespace_bytes",
             "Bytes that the entries of a namespace stand for", &LedgerUsage::bytes);
  namespaces(MetricType::kGauge, "stoker_namespace_limit_bytes", "Their quota; 0: none",
             &LedgerUsage::limit_bytes);
  namespaces(MetricType::kCounter, "stoker_namespace_evicted_total",
             "Entries that left for the quota of their namespace since the start",
             &LedgerUsage::evicted_count);
  namespaces(MetricType::kCounter, "stoker_namespace_refused_total",
             "Entries that were not stored for the quota of their namespace since the start",
             &LedgerUsage::refused_count);
}

void AddConnections(Families& families, const net::ConnectionCounts& connections) {
  for (std::size_t i = 0; i < connections.size(); ++i) {
    families.Add(MetricType::kGauge, "stoker_connections", "Connections, by what they do",
                 static_cast<double>(connections[i]),
                 {{"state", std::string(net::Name(static_cast<net::ConnectionState>(i)))}});
  }
}

void AddKeptUploads(Families& families, const net::KeptUploads& kept) {
  families.Add(MetricType::kGauge, "stoker_kept_uploads",
               "Uploads whose connection broke, and whose rest may come",
               static_cast<double>(kept.count));
  families.Add(MetricType::kGauge, "stoker_kept_upload_bytes", "Bytes that they take",
               static_cast<double>(kept.bytes));
}

// What is counted of kinds of entries and of namespaces.
void AddByKindAndNamespace(Families& families, const Counters& counters) {
  struct Counted {
    std::string name;  // Of the counter, and of the metric.
    std::string help;
  };
  const Counted kCounted[] = {{"hits", "Found"},
                              {"misses", "Not found"},
                              {"compiles", "Compiled"},
                              {"compile_seconds", "Time spent in compiles"},
                              {"seconds_saved", "Compile time that hits saved"}};
  for (const auto& [name, help] : kCounted) {
    families.AddBetween(counters, "kind.", name, "stoker_kind_" + name + "_total",
                        help + ", by kind of entry", "kind");
    families.AddBetween(counters, "ns.", name, "stoker_namespace_" + name + "_total",
                        help + ", by namespace", "namespace");
  }
}

void AddCompiles(Families& families, const Counters& counters) {
  families.AddCounter(counters, "stoker_compiles_total", "Compiles that ended in an artifact",
                      "compiles");
  families.AddCounter(counters, "stoker_compile_failures_total", "Compiles that failed",
                      "compile_failures");
  families.AddBelow(counters, "compile_failures.class.", "stoker_compile_failures_by_class_total",
                    "Compiles that failed, by what kind of failure it was", "class");
  families.AddCounter(counters, "stoker_diagnostics_served_total",
                      "Compiles that were not tried, because what is wrong with them was known",
                      "diagnostics_served");
  families.AddCounter(counters, "stoker_compile_seconds_total", "Time spent in compiles",
                      "compile_seconds");
  families.AddCounter(counters, "stoker_seconds_saved_total", "Compile time that hits saved",
                      "seconds_saved");
  families.AddCounter(counters, "stoker_kernels_compiled_total", "Kernels compiled",
                      "kernels.compiled");
  families.AddCounter(counters, "stoker_kernels_reused_total", "Kernels found while compiling",
                      "kernels.reused");
  families.AddCounter(counters, "stoker_prepared_found_total",
                      "Packed weights that clients found in files", wire::kPreparedFound);
  families.AddCounter(counters, "stoker_prepared_made_total",
                      "Packed weights that clients made, to be kept in files", wire::kPreparedMade);
  families.AddCounter(counters, "stoker_publish_failures_total",
                      "Artifacts that could not be stored", "publish_failures");
  families.AddCounter(counters, "stoker_quarantined_total", "Damaged or foreign blobs set aside",
                      "quarantined");
  families.AddCounter(counters, "stoker_databases_set_aside_total",
                      "Databases that were damaged as a whole", "databases_set_aside");
  families.AddCounter(counters, "stoker_incomplete_total",
                      "Entries removed because a blob of theirs was gone", "incomplete");
}

void AddCaptures(Families& families, const Counters& counters) {
  families.AddCounter(counters, "stoker_capture_hits_total", "Starts from a capture",
                      "captures.hits");
  families.AddBelow(counters, "captures.misses.reason.", "stoker_capture_misses_total",
                    "Starts without a capture that holds, by reason", "reason");
  families.AddBelow(counters, "captures.local.reason.", "stoker_captures_local_total",
                    "Captures that stayed in their process, by reason", "reason");
  families.AddBelow(counters, "captures.failed.reason.", "stoker_captures_failed_total",
                    "Graphs of captures that failed and run in eager, by reason", "reason");
  families.AddCounter(counters, "stoker_captures_recorded_total", "Captures stored",
                      "captures.recorded");
  families.AddCounter(counters, "stoker_captures_damaged_total", "Captures that clients refused",
                      "captures.damaged");
  families.AddCounter(counters, "stoker_captures_audited_total",
                      "Captures that a new trace agreed with", "captures.audited");
  families.AddCounter(counters, "stoker_captures_differing_total",
                      "Captures that a new trace differed from", "captures.differing");
}

void AddRequests(Families& families, const std::vector<RequestMetrics::Row>& routes) {
  for (const auto& row : routes) {
    for (const auto& [status, count] : row.by_status) {
      families.Add(MetricType::kCounter, "stoker_http_requests_total",
                   "HTTP requests since the start, by route and status", static_cast<double>(count),
                   {{"route", row.route}, {"code", std::to_string(status)}});
    }
  }
  for (const auto& row : routes) {
    families.AddHistogram("stoker_http_request_duration_seconds",
                          "Time from a request's last byte to its reply's first, by route",
                          row.latency, {{"route", row.route}});
  }
}

void AddWorkers(Families& families, const WorkerMetrics& workers) {
  families.AddHistogram("stoker_compile_queue_duration_seconds",
                        "Time that compiles waited for a worker", workers.queue.snapshot(), {});
  families.AddHistogram("stoker_compile_duration_seconds",
                        "Time that compiles took of a worker, failures included",
                        workers.run.snapshot(), {});
  for (std::size_t i = 0; i < kWorkerEndCount; ++i) {
    families.Add(MetricType::kCounter, "stoker_worker_restarts_total",
                 "Compile workers that were replaced since the start, by reason",
                 static_cast<double>(workers.ends[i].load()),
                 {{"reason", std::string(Name(static_cast<WorkerEnd>(i)))}});
  }
}

void AddTiers(Families& families, const StackSnapshot& snapshot) {
  for (const TierSnapshot& tier : snapshot.tiers) {
    if (tier.usage) {
      families.Add(MetricType::kGauge, "stoker_cache_bytes", "Bytes stored, by tier",
                   static_cast<double>(tier.usage->bytes), {{"tier", tier.name}});
    }
  }
  for (const TierSnapshot& tier : snapshot.tiers) {
    for (std::size_t r = 0; tier.usage && r < kEvictionReasonCount; ++r) {
      const std::string reason(EvictionReasonName(static_cast<EvictionReason>(r)));
      families.Add(MetricType::kCounter, "stoker_cache_evicted_total",
                   "Blobs evicted since the start, by tier and reason",
                   static_cast<double>(tier.usage->evicted_by[r]),
                   {{"tier", tier.name}, {"reason", reason}});
    }
  }
}

}  // namespace

std::string AdminPages::MetricsText() {
  const StackSnapshot snapshot = cache_counters_.Fold();
  const Counters counters = statistics_.Totals();
  Families families;
  families.AddBelow(counters, "hits.", "stoker_hits_total", "Requests found, by tier", "tier");
  families.AddBelow(counters, "misses.reason.", "stoker_misses_total",
                    "Requests not found, by reason", "reason");
  AddByKindAndNamespace(families, counters);
  AddCompiles(families, counters);
  AddCaptures(families, counters);
  families.AddBelow(counters, "fallback_ops.", "stoker_fallback_ops_total",
                    "Ops that clients ran in the host framework", "op");
  families.AddBelow(counters, "client.", "stoker_client_events_total", "What clients reported",
                    "event");
  AddRequests(families, request_metrics_.Snapshot());
  AddWorkers(families, service_.workers().metrics());
  if (const auto ready = service_.workers().ready()) {
    for (const char* kind : {"cpu", "cuda"}) {
      families.Add(MetricType::kGauge, "stoker_target_kind_available",
                   "Whether compile workers have what code for these targets takes",
                   static_cast<double>(std::ranges::count(ready->target_kinds, kind)),
                   {{"kind", kind}});
    }
  }
  families.Add(MetricType::kGauge, "stoker_compiles_running", "Compiles running",
               service_.running());
  families.Add(MetricType::kGauge, "stoker_compiles_pending", "Compiles running and waiting",
               service_.jobs());
  families.Add(MetricType::kGauge, "stoker_cache_disk_bytes", "Bytes of the cache folder",
               static_cast<double>(snapshot.disk_file_bytes));
  AddTiers(families, snapshot);
  AddRoom(families, snapshot);
  const net::ServerCounts server = server_();
  AddConnections(families, server.connections);
  AddKeptUploads(families, server.kept_uploads);
  return std::move(families).Text();
}

}  // namespace stoker
