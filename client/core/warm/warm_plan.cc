#include "client/core/warm/warm_plan.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "protocol/graph/graph.h"
#include "protocol/key/compile_request.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

// Nobody waits for a cache that is warmed, and the daemon may have much to do.
constexpr std::chrono::hours kBusyPatience{24};
constexpr std::string_view kTargetTag = "target";

DaemonClientOptions Patient(DaemonClientOptions options) {
  options.busy_patience = kBusyPatience;
  return options;
}

// Empty: the key does not say.
template <typename T>
std::vector<T> OrElse(const std::vector<T>& chosen, const T& own) {
  return chosen.empty() ? std::vector<T>{own} : chosen;
}

}  // namespace

WarmPlan::WarmPlan(DaemonClientOptions daemon)
    : daemon_(std::make_unique<DaemonClient>(Patient(std::move(daemon)))) {}

Status WarmPlan::Greet() {
  STOKER_TRY(const wire::Hello hello, daemon_->Hello());
  compiler_epoch_ = hello.compiler_epoch;
  return Ok();
}

Result<WarmPlan> WarmPlan::OfManifest(Manifest manifest, const WarmOptions& options,
                                      DaemonClientOptions daemon) {
  WarmPlan plan(std::move(daemon));
  STOKER_RETURN_IF_ERROR(plan.Greet());
  plan.manifest_.emplace(std::move(manifest));
  plan.AddRequests(options);
  // Behind what they refer to.
  plan.AddCaptures(options);
  return plan;
}

void WarmPlan::AddRequests(const WarmOptions& options) {
  std::set<std::pair<std::string, Digest>> keys;
  for (std::size_t i = 0; i < manifest_->requests(); ++i) {
    auto recorded = manifest_->Request(i);
    if (!recorded.ok()) {
      AddDamaged("request " + std::to_string(i), recorded.error());
      continue;
    }
    const auto graph = DecodeGraph(recorded->graph);
    STOKER_CHECK(graph.ok());  // As in Manifest::Request.
    recorded->graph.clear();
    if (!options.name_space.empty()) recorded->ns = options.name_space;
    for (const Target& target : OrElse(options.targets, recorded->target)) {
      for (const Numerics numerics : OrElse(options.numerics, recorded->options.numerics)) {
        wire::CompileCall call = *recorded;
        call.target = target;
        call.options.numerics = numerics;
        call.options = Canonical(call.options, *graph, target);
        call.compiler_epoch = compiler_epoch_;
        call.request_key =
            KeyOf(call.graph_digest, call.target, call.options, call.compiler_epoch).digest;
        if (keys.emplace(call.ns, call.request_key).second) AddCall(std::move(call), i);
      }
    }
  }
}

void WarmPlan::AddCaptures(const WarmOptions& options) {
  for (std::size_t i = 0; i < manifest_->captures(); ++i) {
    const auto put = manifest_->Capture(i);
    if (!put.ok()) {
      AddDamaged("capture " + std::to_string(i), put.error());
      continue;
    }
    const std::string compiler = TextOf(put->key.fields, kCompilerTag);
    const std::string target = TextOf(put->key.fields, kTargetTag);
    const bool is_for_target = target.empty() || options.targets.empty() ||
                               std::ranges::any_of(options.targets, [&](const Target& wanted) {
                                 return wanted.ToString() == target;
                               });
    if (!is_for_target || (!compiler.empty() && compiler != compiler_epoch_)) {
      ++skipped_captures_;
      continue;
    }
    const std::string& ns = options.name_space.empty() ? put->key.ns : options.name_space;
    steps_.push_back({{true, ns, put->key.capture_key, put->label, target}, i, std::nullopt});
  }
}

void WarmPlan::AddCall(wire::CompileCall call, std::optional<std::size_t> request) {
  call.store_only = true;
  WarmItem item{false, call.ns, call.request_key, call.graph_name, call.target.ToString()};
  steps_.push_back({std::move(item), std::move(call), request});
}

void WarmPlan::AddDamaged(std::string label, const Error& error) {
  WarmItem item;
  item.label = std::move(label);
  steps_.push_back({std::move(item), error, std::nullopt});
}

Result<WarmPlan> WarmPlan::OfStale(const std::string& name_space, std::uint32_t limit,
                                   DaemonClientOptions daemon) {
  WarmPlan plan(std::move(daemon));
  STOKER_RETURN_IF_ERROR(plan.Greet());
  wire::ListRequest request;
  request.ns = name_space;
  request.limit = limit;
  request.stale = true;
  STOKER_TRY(const wire::ListReply reply, plan.daemon_->List(request));
  std::set<std::pair<std::string, Digest>> keys;  // Of several earlier compilers there is one now.
  for (const wire::ListEntry& entry : reply.entries) {
    auto call = wire::DecodeCompileCall(entry.request);
    if (!call.ok()) {
      plan.AddDamaged(entry.label, call.error());
      continue;
    }
    call->ns = entry.ns;
    call->compiler_epoch = plan.compiler_epoch_;
    call->request_key =
        KeyOf(call->graph_digest, call->target, call->options, call->compiler_epoch).digest;
    if (keys.emplace(call->ns, call->request_key).second) {
      plan.AddCall(*std::move(call), std::nullopt);
    }
  }
  return plan;
}

Result<WarmOutcome> WarmPlan::Run(std::size_t index, bool check_only) {
  const Step& step = steps_.at(index);
  if (const auto* error = std::get_if<Error>(&step.work)) return *error;
  if (const auto* call = std::get_if<wire::CompileCall>(&step.work)) {
    return Obtain(step, *call, check_only);
  }
  STOKER_TRY(wire::CapturePut put, manifest_->Capture(std::get<std::size_t>(step.work)));
  return Store(std::move(put), step.item, check_only);
}

Result<WarmOutcome> WarmPlan::Obtain(const Step& step, wire::CompileCall call, bool check_only) {
  wire::LookupRequest lookup;
  lookup.ns = call.ns;
  lookup.request_key = call.request_key;
  lookup.graph_digest = call.graph_digest;
  lookup.probe = true;
  STOKER_TRY(const auto answer, daemon_->Lookup(lookup));
  const auto* miss = std::get_if<wire::Miss>(&answer);
  if (miss == nullptr) return WarmOutcome::kHit;
  if (check_only) return WarmOutcome::kMissing;
  const auto add_graph = [&]() -> Status {
    STOKER_TRY(wire::CompileCall recorded, manifest_->Request(*step.request));
    call.graph = std::move(recorded.graph);
    return Ok();
  };
  if (step.request && !miss->graph_known) STOKER_RETURN_IF_ERROR(add_graph());
  auto compiled = daemon_->Compile(call, nullptr);
  if (!compiled.ok() && compiled.error().code == ErrorCode::kFailedPrecondition && step.request &&
      call.graph.empty()) {  // It was evicted since.
    STOKER_RETURN_IF_ERROR(add_graph());
    compiled = daemon_->Compile(call, nullptr);
  }
  if (!compiled.ok()) return compiled.error();
  return compiled->source == "compiled" || compiled->source == "joined" ? WarmOutcome::kCompiled
                                                                        : WarmOutcome::kHit;
}

Result<WarmOutcome> WarmPlan::Store(wire::CapturePut put, const WarmItem& item, bool check_only) {
  put.key.ns = item.name_space;
  STOKER_TRY(const bool is_there, daemon_->HasCapture(put));
  if (is_there) return WarmOutcome::kHit;
  if (check_only) return WarmOutcome::kMissing;
  STOKER_RETURN_IF_ERROR(daemon_->PutCapture(put));
  return WarmOutcome::kStored;
}

}  // namespace stoker
