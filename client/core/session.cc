#include "client/core/session.h"

#include <chrono>
#include <set>

namespace stoker {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

wire::LookupRequest LookupOf(const std::string& name_space, const Digest& key,
                             std::vector<Digest> held) {
  wire::LookupRequest request;
  request.ns = name_space;
  request.request_key = key;
  request.have_kernels = std::move(held);
  return request;
}

}  // namespace

Session::Session(DaemonClientOptions daemon, std::string name_space)
    : daemon_(std::move(daemon)), name_space_(std::move(name_space)) {}

Result<Obtained> Session::Compile(const Graph& graph, const ShapeSignature& signature,
                                  const Target& target, const CompileOptions& options,
                                  const DaemonClient::OnProgress& on_progress) {
  const Clock::time_point start = Clock::now();
  STOKER_TRY(const wire::Hello hello, daemon_.Hello());
  Obtained obtained;
  obtained.request_key =
      KeyOf(graph.digest(), signature, target, options, hello.compiler_epoch).digest;
  if (auto bundle = Recall(obtained.request_key)) {
    obtained.bundle = std::move(bundle);
    obtained.source = "memory";
    obtained.lookup_seconds = SecondsSince(start);
    return obtained;
  }

  wire::LookupRequest lookup = LookupOf(name_space_, obtained.request_key, HeldBlobs());
  lookup.graph_digest = graph.digest();
  lookup.fields = FieldsOf(graph.digest(), signature, target, options, hello.compiler_epoch);
  STOKER_TRY(auto answer, daemon_.Lookup(lookup));
  obtained.lookup_seconds = SecondsSince(start);
  bool graph_known = false;
  if (auto* found = std::get_if<wire::Bundle>(&answer)) {
    obtained.source = found->source;
    obtained.recorded_compile_seconds = found->compile_seconds;
    auto accepted = Accept(obtained.request_key, std::move(*found));
    if (accepted.ok()) {
      obtained.bundle = *std::move(accepted);
      return obtained;
    }
    // Refused: tell the daemon, and have it made again.
    obtained.miss_reason = "refused: " + accepted.error().message;
    wire::Report report;
    report.ns = name_space_;
    report.counters["artifacts_refused"] = 1;
    if (Status status = daemon_.Report(report); !status.ok()) return status.error();
  } else {
    const auto& miss = std::get<wire::Miss>(answer);
    obtained.miss_reason = miss.reason;
    graph_known = miss.graph_known;
  }

  const Clock::time_point compile_start = Clock::now();
  wire::CompileCall call;
  call.ns = name_space_;
  call.request_key = obtained.request_key;
  call.graph_digest = graph.digest();
  if (!graph_known) call.graph = EncodeGraph(graph);
  call.graph_name = graph.name();
  call.signature = signature;
  call.target = target;
  call.options = options;
  call.compiler_epoch = hello.compiler_epoch;
  call.have_kernels = std::move(lookup.have_kernels);
  STOKER_TRY(wire::Bundle compiled, daemon_.Compile(call, on_progress));
  obtained.source = compiled.source;
  obtained.recorded_compile_seconds = compiled.compile_seconds;
  STOKER_TRY(obtained.bundle, Accept(obtained.request_key, std::move(compiled)));
  obtained.compile_seconds = SecondsSince(compile_start);
  return obtained;
}

Result<Obtained> Session::Load(const Digest& request_key) {
  const Clock::time_point start = Clock::now();
  Obtained obtained;
  obtained.request_key = request_key;
  if (auto bundle = Recall(request_key)) {
    obtained.bundle = std::move(bundle);
    obtained.source = "memory";
  } else {
    STOKER_TRY(auto answer, daemon_.Lookup(LookupOf(name_space_, request_key, HeldBlobs())));
    if (const auto* miss = std::get_if<wire::Miss>(&answer)) {
      return NotFound("Nothing is stored under request key " + request_key.ToHex() + ": " +
                      miss->reason);
    }
    auto& found = std::get<wire::Bundle>(answer);
    obtained.source = found.source;
    obtained.recorded_compile_seconds = found.compile_seconds;
    STOKER_TRY(obtained.bundle, Accept(request_key, std::move(found)));
  }
  obtained.lookup_seconds = SecondsSince(start);
  return obtained;
}

Result<std::shared_ptr<const ArtifactBundle>> Session::Accept(const Digest& request_key,
                                                              wire::Bundle bundle) {
  auto accepted = std::make_shared<ArtifactBundle>();
  STOKER_TRY(accepted->artifact, DecodeArtifact(bundle.artifact));
  if (accepted->artifact.request_key != request_key) {
    return DataLoss("The artifact belongs to request " + accepted->artifact.request_key.ToHex() +
                    "; " + request_key.ToHex() + " was asked for.");
  }
  for (wire::Blob& blob : bundle.blobs) {
    const Digest actual = Sha256Of(blob.data);
    if (actual != blob.digest) {
      return DataLoss("Blob " + blob.digest.ToHex() + " has digest " + actual.ToHex() + ".");
    }
    accepted->blobs.emplace(actual, std::make_shared<const std::string>(std::move(blob.data)));
  }
  // The rest must be among what this session holds.
  std::set<Digest> missing;
  for (const KernelRef& kernel : accepted->artifact.kernels) {
    if (!accepted->blobs.contains(kernel.blob)) missing.insert(kernel.blob);
  }
  for (const ConstantRef& constant : accepted->artifact.constants) {
    if (!accepted->blobs.contains(constant.blob)) missing.insert(constant.blob);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const Held& held : recent_) {
      for (const auto& [digest, bytes] : held.bundle->blobs) {
        if (missing.erase(digest) != 0) accepted->blobs.emplace(digest, bytes);
      }
    }
  }
  if (!missing.empty()) {
    return DataLoss("The artifact of request " + request_key.ToHex() + " came without blob " +
                    missing.begin()->ToHex() + ".");
  }
  Remember(request_key, accepted);
  return std::shared_ptr<const ArtifactBundle>(std::move(accepted));
}

std::shared_ptr<const ArtifactBundle> Session::Recall(const Digest& request_key) {
  const std::lock_guard lock(mutex_);
  for (auto it = recent_.begin(); it != recent_.end(); ++it) {
    if (it->request_key == request_key) {
      recent_.splice(recent_.begin(), recent_, it);
      return it->bundle;
    }
  }
  return nullptr;
}

void Session::Remember(const Digest& request_key, std::shared_ptr<const ArtifactBundle> bundle) {
  std::uint64_t bytes = 0;
  for (const auto& [digest, data] : bundle->blobs) bytes += data->size();
  const std::lock_guard lock(mutex_);
  recent_.push_front({request_key, std::move(bundle), bytes});
  held_bytes_ += bytes;
  while (held_bytes_ > kMemoryBytes && recent_.size() > 1) {
    held_bytes_ -= recent_.back().bytes;
    recent_.pop_back();
  }
}

std::vector<Digest> Session::HeldBlobs() {
  std::set<Digest> held;
  const std::lock_guard lock(mutex_);
  for (const Held& entry : recent_) {
    for (const auto& [digest, bytes] : entry.bundle->blobs) held.insert(digest);
  }
  return {held.begin(), held.end()};
}

}  // namespace stoker
