#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "daemon/admin/admin_pages.h"

namespace stoker {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<std::pair<std::string, std::string>>;

ClientMetric MetricOf(MetricType type, double value, const Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, label] : labels) metric.label.push_back({name, label});
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return metric;
}

class Families {
 public:
  void Add(MetricType type, const std::string& name, const std::string& help, double value,
           const Labels& labels = {}) {
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({name, help, type, {}});
    }
    families_.back().metric.push_back(MetricOf(type, value, labels));
  }

  // One metric per counter below `prefix`, labelled with what follows it.
  void AddBelow(const Counters& counters, std::string_view prefix, const std::string& name,
                const std::string& help, const std::string& label) {
    for (auto it = counters.lower_bound(prefix); it != counters.end(); ++it) {
      if (!it->first.starts_with(prefix)) break;
      Add(MetricType::Counter, name, help, it->second, {{label, it->first.substr(prefix.size())}});
    }
  }

  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

double ValueOf(const Counters& counters, std::string_view name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

}  // namespace

std::string AdminPages::MetricsText() {
  const Counters counters = statistics_.Totals();
  const StackSnapshot snapshot = stack_.Snapshot();
  Families families;
  families.AddBelow(counters, "hits.", "stoker_hits_total", "Requests found, by tier", "tier");
  families.AddBelow(counters, "misses.reason.", "stoker_misses_total",
                    "Requests not found, by reason", "reason");
  const auto counter = [&](const std::string& name, const std::string& help, std::string_view key) {
    families.Add(MetricType::Counter, name, help, ValueOf(counters, key));
  };
  counter("stoker_compiles_total", "Compiles that ended in an artifact", "compiles");
  counter("stoker_compile_failures_total", "Compiles that failed", "compile_failures");
  counter("stoker_compile_seconds_total", "Time spent in compiles", "compile_seconds");
  counter("stoker_seconds_saved_total", "Compile time that hits saved", "seconds_saved");
  counter("stoker_kernels_compiled_total", "Kernels compiled", "kernels.compiled");
  counter("stoker_kernels_reused_total", "Kernels found while compiling", "kernels.reused");
  families.AddBelow(counters, "fallback_ops.", "stoker_fallback_ops_total",
                    "Ops that clients ran in the host framework", "op");
  families.AddBelow(counters, "client.", "stoker_client_events_total", "What clients reported",
                    "event");
  families.Add(MetricType::Counter, "stoker_requests_total", "HTTP requests since the start",
               static_cast<double>(requests_.load()));
  families.Add(MetricType::Gauge, "stoker_compiles_running", "Compiles running",
               service_.running());
  families.Add(MetricType::Gauge, "stoker_compiles_pending", "Compiles running and waiting",
               service_.flights());
  families.Add(MetricType::Counter, "stoker_quarantined_total",
               "Damaged blobs set aside since the start",
               static_cast<double>(snapshot.quarantined_count));
  families.Add(MetricType::Gauge, "stoker_cache_disk_bytes", "Bytes of the cache folder",
               static_cast<double>(snapshot.disk_file_bytes));
  for (const TierSnapshot& tier : snapshot.tiers) {
    if (tier.usage) {
      families.Add(MetricType::Gauge, "stoker_cache_bytes", "Bytes stored, by tier",
                   static_cast<double>(tier.usage->bytes), {{"tier", tier.name}});
    }
  }
  for (const TierSnapshot& tier : snapshot.tiers) {
    if (tier.usage) {
      families.Add(MetricType::Counter, "stoker_cache_evicted_total", "Blobs evicted, by tier",
                   static_cast<double>(tier.usage->evicted_count), {{"tier", tier.name}});
    }
  }
  return families.Text();
}

}  // namespace stoker
