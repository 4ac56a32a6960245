#include "daemon/observe/compile_watch.h"

#include <string>
#include <utility>

namespace stoker {
namespace {

ActiveCompile ActiveOf(const wire::CompileCall& call, const Caller& caller) {
  ActiveCompile compile;
  compile.name_space = call.ns;
  compile.key = call.request_key;
  compile.model = call.graph_name;
  compile.job = caller.job;
  compile.request_id = caller.request_id;
  return compile;
}

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

CompileWatch::CompileWatch(std::shared_ptr<Observations> seen, const wire::CompileCall& call,
                           const Caller& caller)
    : seen_(std::move(seen)), id_(seen_->compiles.Add(ActiveOf(call, caller))) {
  trace_.name_space = call.ns;
  trace_.key = call.request_key;
  trace_.model = call.graph_name;
  trace_.job = caller.job;
  trace_.request_id = caller.request_id;
  trace_.began_unix_s = UnixSeconds();
}

CompileWatch::~CompileWatch() { seen_->compiles.Remove(id_); }

std::uint64_t CompileWatch::NowUs() const {
  return static_cast<std::uint64_t>((Clock::now() - begin_) / std::chrono::microseconds(1));
}

void CompileWatch::Mark(std::string_view name) {
  const std::uint64_t now = NowUs();
  trace_.daemon.push_back({std::string(name), "", marked_us_, now - marked_us_, 0});
  marked_us_ = now;
}

void CompileWatch::OnPlace() {
  Mark("queue");
  seen_->compiles.GivePlace(id_);
}

void CompileWatch::OnSent() {
  Mark(std::exchange(was_sent_, true) ? "worker that crashed" : "hand over");
}

void CompileWatch::OnProgress(const wire::Progress& progress) {
  seen_->compiles.Report(id_, progress);
}

void CompileWatch::OnMade(std::vector<wire::Span> spans) {
  const std::uint64_t sent_us = marked_us_;
  Mark("compile");
  trace_.worker = MovedInto(std::move(spans), sent_us, marked_us_);
  seen_->compiles.Report(id_, {"storing", 0, 1, "", 0});
}

void CompileWatch::OnChecked() {
  Mark("check");
  trace_.total_us = marked_us_;
}

void CompileWatch::OnStored() {
  Mark("store");
  trace_.total_us = marked_us_;
  seen_->traces.Keep(std::move(trace_));
}

CompileTrace CompileWatch::Take() && { return std::move(trace_); }

}  // namespace stoker
