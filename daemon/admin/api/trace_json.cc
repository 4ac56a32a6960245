#include "daemon/admin/api/trace_json.h"

#include <algorithm>
#include <boost/json.hpp>

namespace stoker {
namespace {

namespace json = boost::json;

// Processes of the trace; of each other's threads.
constexpr int kDaemon = 1;
constexpr int kWorker = 2;

json::object Named(const char* what, int process, std::uint32_t thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

json::object Complete(const wire::Span& span, int process, const char* category) {
  json::object event{
      {"ph", "X"},          {"name", span.name},   {"cat", category},        {"pid", process},
      {"tid", span.thread}, {"ts", span.start_us}, {"dur", span.duration_us}};
  if (!span.detail.empty()) event["args"] = {{"detail", span.detail}};
  return event;
}

}  // namespace

std::string TraceJson(const CompileTrace& trace) {
  const json::object facts{{"request_id", trace.request_id}, {"key", trace.key.ToHex()},
                           {"namespace", trace.name_space},  {"job", trace.job},
                           {"model", trace.model},           {"began_unix_s", trace.began_unix_s}};
  json::array events;
  events.push_back(Named("process_name", kDaemon, 0, "stokerd"));
  events.push_back(Named("process_name", kWorker, 0, "compile worker"));
  events.push_back(Named("thread_name", kDaemon, 0, "request"));
  std::uint32_t threads = 0;
  for (const wire::Span& span : trace.worker) threads = std::max(threads, span.thread);
  // Whoever measured them is not believed: some number of threads.
  constexpr std::uint32_t kMaxNamedThreads = 1024;
  for (std::uint32_t thread = 0; thread <= std::min(threads, kMaxNamedThreads); ++thread) {
    events.push_back(Named("thread_name", kWorker, thread, "thread " + std::to_string(thread)));
  }
  json::object whole = Complete({trace.model, "", 0, trace.total_us, 0}, kDaemon, "request");
  whole["args"] = facts;
  events.push_back(std::move(whole));
  for (const wire::Span& span : trace.daemon) events.push_back(Complete(span, kDaemon, "daemon"));
  for (const wire::Span& span : trace.worker) events.push_back(Complete(span, kWorker, "compile"));
  return json::serialize(json::object{
      {"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}, {"otherData", facts}});
}

}  // namespace stoker
