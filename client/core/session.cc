#include "client/core/session.h"

#include <chrono>

#include "protocol/artifact/artifact_signature.h"

namespace stoker {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

wire::LookupRequest LookupOf(const std::string& name_space, const Digest& key,
                             const std::map<Digest, std::shared_ptr<const std::string>>& held) {
  wire::LookupRequest request;
  request.ns = name_space;
  request.request_key = key;
  for (const auto& [digest, bytes] : held) request.have_kernels.push_back(digest);
  return request;
}

// The graph travels when the daemon asks for it: of many who need it at once, one sends it.
Result<wire::Bundle> CompileWith(DaemonClient& daemon, wire::CompileCall call, const Graph& graph,
                                 const DaemonClient::OnProgress& on_progress) {
  auto answered = daemon.Compile(call, on_progress);
  if (!answered.ok() && answered.error().code == ErrorCode::kFailedPrecondition) {
    call.graph = EncodeGraph(graph);
    answered = daemon.Compile(call, on_progress);
  }
  return answered;
}

// Such a request would fail wherever it is compiled ahead, too.
bool IsRefused(const Error& error) {
  return error.code == ErrorCode::kUnimplemented || error.code == ErrorCode::kInvalidArgument;
}

}  // namespace

Session::Session(DaemonClientOptions daemon, std::string name_space, std::string manifest)
    : daemon_(std::move(daemon)),
      name_space_(std::move(name_space)),
      recorder_(std::move(manifest)) {}

Result<Obtained> Session::Compile(const Graph& graph, const Target& target,
                                  const CompileOptions& wanted,
                                  const DaemonClient::OnProgress& on_progress) {
  auto obtained = Obtain(graph, target, wanted, on_progress);
  if (recorder_.is_on() && (obtained.ok() || !IsRefused(obtained.error()))) {
    Record(graph, target, wanted);
  }
  return obtained;
}

Status Session::RecordRequest(const Graph& graph, const Target& target,
                              const CompileOptions& options) {
  if (!recorder_.is_on()) {
    return FailedPrecondition("No manifest is written: STOKER_RECORD is not set.");
  }
  Record(graph, target, options);
  return recorder_.status();
}

void Session::Record(const Graph& graph, const Target& target, const CompileOptions& wanted) {
  // No compiler: the same request counts once, whoever compiles it.
  const Digest key = KeyOf(graph.digest(), target, wanted, "").digest;
  if (recorder_.HasRequest(key, wanted.numerics)) return;
  wire::CompileCall call;
  call.ns = name_space_;
  call.graph = EncodeGraph(graph);
  call.graph_name = graph.name();
  call.target = target;
  call.options = wanted;
  recorder_.Request(key, std::move(call));
}

void Session::RecordLoaded(const Digest& request_key, Numerics wished, const wire::Bundle& found) {
  auto call = wire::DecodeCompileCall(found.request);
  if (!call.ok()) return;  // A request that is too large for the index is kept without its fields.
  // Of a compile that does not read them, and of one that does, these are the default.
  if (call->options.numerics == Numerics::kHighest) call->options.numerics = wished;
  recorder_.Request(request_key, *std::move(call));
}

Status Session::ReportRefused() {
  wire::Report report;
  report.ns = name_space_;
  report.counters["artifacts_refused"] = 1;
  return daemon_.Report(report);
}

Result<Obtained> Session::Obtain(const Graph& graph, const Target& target,
                                 const CompileOptions& wanted,
                                 const DaemonClient::OnProgress& on_progress) {
  const Clock::time_point start = Clock::now();
  const CompileOptions options = Canonical(wanted, graph, target);
  STOKER_TRY(const wire::Hello hello, daemon_.Hello());
  Obtained obtained;
  obtained.numerics = options.numerics;
  obtained.reads_numerics = ReadsNumerics(graph, target);
  obtained.request_key = KeyOf(graph.digest(), target, options, hello.compiler_epoch).digest;
  if (auto bundle = Recall(obtained.request_key)) {
    obtained.bundle = std::move(bundle);
    obtained.source = "memory";
    obtained.lookup_seconds = SecondsSince(start);
    return obtained;
  }

  const Blobs held = HeldBlobs();
  wire::LookupRequest lookup = LookupOf(name_space_, obtained.request_key, held);
  lookup.graph_digest = graph.digest();
  lookup.fields = FieldsOf(graph.digest(), target, options, hello.compiler_epoch);
  STOKER_TRY(auto answer, daemon_.Lookup(lookup));
  obtained.lookup_seconds = SecondsSince(start);
  if (auto* found = std::get_if<wire::Bundle>(&answer)) {
    obtained.source = found->source;
    obtained.recorded_compile_seconds = found->compile_seconds;
    auto accepted = Accept(obtained.request_key, std::move(*found), held);
    if (accepted.ok()) {
      obtained.bundle = *std::move(accepted);
      return obtained;
    }
    // Refused: tell the daemon, and have it made again.
    obtained.miss_reason = "refused: " + accepted.error().message;
    STOKER_RETURN_IF_ERROR(ReportRefused());
  } else {
    obtained.miss_reason = std::get<wire::Miss>(answer).reason;
  }

  const Clock::time_point compile_start = Clock::now();
  wire::CompileCall call;
  call.ns = name_space_;
  call.request_key = obtained.request_key;
  call.graph_digest = graph.digest();
  call.graph_name = graph.name();
  call.target = target;
  call.options = options;
  call.compiler_epoch = hello.compiler_epoch;
  call.have_kernels = std::move(lookup.have_kernels);
  STOKER_TRY(wire::Bundle compiled, CompileWith(daemon_, std::move(call), graph, on_progress));
  obtained.source = compiled.source;
  obtained.recorded_compile_seconds = compiled.compile_seconds;
  STOKER_TRY(obtained.bundle, Accept(obtained.request_key, std::move(compiled), held));
  obtained.compile_seconds = SecondsSince(compile_start);
  return obtained;
}

Result<Obtained> Session::Load(const Digest& request_key, Numerics wished) {
  const Clock::time_point start = Clock::now();
  Obtained obtained;
  obtained.request_key = request_key;
  if (auto bundle = Recall(request_key)) {
    obtained.bundle = std::move(bundle);
    obtained.source = "memory";
  } else {
    const Blobs held = HeldBlobs();
    wire::LookupRequest lookup = LookupOf(name_space_, request_key, held);
    lookup.with_request = recorder_.is_on() && !recorder_.HasRequest(request_key, wished);
    STOKER_TRY(auto answer, daemon_.Lookup(lookup));
    if (const auto* miss = std::get_if<wire::Miss>(&answer)) {
      return NotFound("Nothing is stored under request key " + request_key.ToHex() + ": " +
                      miss->reason);
    }
    auto& found = std::get<wire::Bundle>(answer);
    obtained.source = found.source;
    obtained.recorded_compile_seconds = found.compile_seconds;
    if (lookup.with_request) RecordLoaded(request_key, wished, found);
    STOKER_TRY(obtained.bundle, Accept(request_key, std::move(found), held));
  }
  obtained.lookup_seconds = SecondsSince(start);
  return obtained;
}

Status Session::CheckSignature(std::string_view artifact) {
  STOKER_TRY(const std::vector<PublicKey> signers, daemon_.Signers());
  auto signer = VerifyArtifact(artifact, signers);
  if (signer.ok()) return Ok();
  // A daemon whose key was changed since this process greeted it announces another one.
  daemon_.ForgetHello();
  STOKER_TRY(const std::vector<PublicKey> now, daemon_.Signers());
  if (now != signers) signer = VerifyArtifact(artifact, now);
  return signer.ok() ? Ok() : Status(signer.error());
}

Result<std::shared_ptr<const ArtifactBundle>> Session::Accept(const Digest& request_key,
                                                              wire::Bundle bundle,
                                                              const Blobs& held) {
  auto accepted = std::make_shared<ArtifactBundle>();
  accepted->artifact_bytes = std::move(bundle.artifact);
  STOKER_RETURN_IF_ERROR(CheckSignature(accepted->artifact_bytes));
  STOKER_TRY(accepted->artifact, DecodeArtifact(accepted->artifact_bytes));
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
  // The rest must be among what this session held when it asked.
  const auto find = [&](const Digest& digest) -> Status {
    if (accepted->blobs.contains(digest)) return Ok();
    const auto it = held.find(digest);
    if (it == held.end()) {
      return DataLoss("The artifact of request " + request_key.ToHex() + " came without blob " +
                      digest.ToHex() + ".");
    }
    accepted->blobs.insert(*it);
    return Ok();
  };
  for (const KernelRef& kernel : accepted->artifact.kernels) {
    STOKER_RETURN_IF_ERROR(find(kernel.blob));
  }
  for (const ConstantRef& constant : accepted->artifact.constants) {
    STOKER_RETURN_IF_ERROR(find(constant.blob));
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

Session::Blobs Session::HeldBlobs() {
  Blobs held;
  const std::lock_guard lock(mutex_);
  for (const Held& entry : recent_) {
    held.insert(entry.bundle->blobs.begin(), entry.bundle->blobs.end());
  }
  return held;
}

}  // namespace stoker
