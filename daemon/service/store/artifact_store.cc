#include "daemon/service/store/artifact_store.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "cache/clock.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

// Entries that are looked at for those that a miss is compared with: once in a namespace.
constexpr std::size_t kMaxVisitedEntries = 4096;
// Nearest requests of which a miss finds that they were evicted, before it gives up explaining.
constexpr int kMaxNearest = 8;

// Requests are stored as the call that made them, without the graph: its digest names the blob.
// A request beyond the index's limit is stored without: it is found, but cannot be inspected.
std::string MetadataOf(const wire::CompileCall& call) {
  wire::CompileCall kept;
  kept.ns = call.ns;
  kept.request_key = call.request_key;
  kept.graph_digest = call.graph_digest;
  kept.graph_name = call.graph_name;
  kept.target = call.target;
  kept.options = call.options;
  kept.compiler_epoch = call.compiler_epoch;
  std::string metadata = wire::EncodeCompileCall(kept);
  return metadata.size() <= kMaxMetadataBytes ? metadata : std::string();
}

// The key of a kernel's entry.
Digest KernelEntryKey(std::string_view ns, const Digest& kernel_key) {
  return Sha256Of("stoker.kernel-entry:" + std::string(ns) + ":" + kernel_key.ToHex());
}

std::vector<KeyField> FieldsOf(const wire::CompileCall& call) {
  return stoker::FieldsOf(call.graph_digest, call.target, call.options, call.compiler_epoch);
}

wire::ListEntry ListedOf(std::string_view ns, const Digest& key, const ActionEntry& entry) {
  wire::ListEntry listed;
  listed.key = key;
  listed.artifact = entry.artifact;
  listed.ns = ns;
  listed.kind = std::string(BlobKindName(entry.kind));
  listed.label = entry.label;
  listed.size_bytes = entry.bytes;
  listed.created_unix_s = static_cast<double>(entry.published_unix_ns) / kNanosPerSecond;
  listed.compile_seconds = entry.compile_seconds;
  return listed;
}

// Of the artifact that a worker made for `call`.
Result<Artifact> DecodeManifest(const wire::CompileCall& call, const std::string& artifact) {
  auto manifest = DecodeArtifact(artifact);
  if (!manifest.ok()) {
    return Internal("The compile worker's artifact does not decode: " + manifest.error().message);
  }
  if (manifest->request_key != call.request_key) {
    return Internal("The compile worker made an artifact of request " +
                    manifest->request_key.ToHex() + " for " + call.request_key.ToHex() + ".");
  }
  if (manifest->target != call.target || manifest->compiler_epoch != call.compiler_epoch) {
    return Internal("The compile worker made an artifact for " + manifest->target.ToString() +
                    " by '" + manifest->compiler_epoch + "', which was not asked for.");
  }
  return manifest;
}

}  // namespace

Error ArtifactStore::Refuse(std::string_view ns, const Digest& request_key, const Digest& artifact,
                            const std::string& why) {
  const std::string reason = "Artifact " + artifact.ToHex() + " is refused: " + why;
  // Either may be gone already, which is what is wanted.
  (void)stack_.blobs().Quarantine(artifact, reason);
  (void)stack_.actions().Remove(ns, request_key);
  requests_.Remove(std::string(ns), request_key);
  return DataLoss(reason);
}

Result<std::string> ArtifactStore::Vouched(std::string_view ns, const Digest& request_key,
                                           const ActionEntry& entry, const Blob& artifact) {
  const auto state = signer_.StateOf(artifact.bytes());
  if (!state.ok()) return Refuse(ns, request_key, entry.artifact, state.error().message);
  switch (*state) {
    case SignatureState::kCurrent:
      return std::string(artifact.bytes());
    case SignatureState::kForeign:
      (void)stack_.actions().Remove(ns, request_key);  // It may be gone already.
      return FailedPrecondition("Artifact " + entry.artifact.ToHex() +
                                " is signed by no key of this daemon.");
    case SignatureState::kRetired:
      break;
  }
  STOKER_TRY(std::string renewed, signer_.Sign(artifact.bytes()));
  const NamedBlob blob = NamedBlob::Of(Blob(renewed, BlobKind::kArtifact));
  const BlobPin pin(stack_.blobs(), blob.digest());  // Until the entry names it.
  ActionEntry signed_entry = entry;
  signed_entry.artifact = blob.digest();
  // Where it cannot be stored, it is signed anew for the next client, too.
  if (stack_.blobs().Put(blob).ok()) {
    (void)stack_.actions().Publish(ns, request_key, signed_entry, Durability::kBuffered);
  }
  return renewed;
}

Result<StoredArtifact> ArtifactStore::Find(std::string_view ns, const Digest& request_key,
                                           const std::vector<Digest>& held) {
  STOKER_TRY(const ActionEntry entry, stack_.actions().Lookup(ns, request_key));
  if (entry.kind != BlobKind::kArtifact) {  // Somebody asks for something else under its name.
    return NotFound("Key " + request_key.ToHex() + " names something of kind '" +
                    std::string(BlobKindName(entry.kind)) + "', no artifact.");
  }
  StoredArtifact found;
  found.compile_seconds = entry.compile_seconds;
  found.label = entry.label;
  found.tier = stack_.TierOf(entry.artifact);
  const auto get = [&](const Digest& digest, std::string_view what) -> Result<Blob> {
    auto blob = stack_.blobs().Get(digest);
    if (blob.ok() || blob.error().code != ErrorCode::kNotFound) return blob;
    return DataLoss(std::string(what) + " " + digest.ToHex() + " is damaged or was evicted.");
  };
  STOKER_TRY(const Blob blob, get(entry.artifact, "Artifact"));
  const auto manifest = DecodeArtifact(blob.bytes());
  if (!manifest.ok()) return Refuse(ns, request_key, entry.artifact, manifest.error().message);
  if (manifest->request_key != request_key) {
    return Refuse(ns, request_key, entry.artifact,
                  "it belongs to request " + manifest->request_key.ToHex() + ", not to " +
                      request_key.ToHex() + ".");
  }
  STOKER_TRY(found.artifact, Vouched(ns, request_key, entry, blob));
  const std::set<Digest> skip(held.begin(), held.end());
  const auto add = [&](const Digest& digest, std::string_view what) -> Status {
    if (skip.contains(digest)) return Ok();
    STOKER_TRY(Blob bytes, get(digest, what));
    found.blobs.emplace(digest, std::move(bytes));
    return Ok();
  };
  for (const KernelRef& kernel : manifest->kernels) {
    STOKER_RETURN_IF_ERROR(add(kernel.blob, "Kernel"));
  }
  for (const ConstantRef& constant : manifest->constants) {
    STOKER_RETURN_IF_ERROR(add(constant.blob, "Constant"));
  }
  return found;
}

Result<std::string> ArtifactStore::FindGraph(const Digest& graph_digest) {
  STOKER_TRY(const Blob blob, stack_.blobs().Get(graph_digest));
  return std::string(blob.bytes());
}

bool ArtifactStore::HasGraph(const Digest& graph_digest) {
  const auto stored = stack_.blobs().Contains(graph_digest);
  return stored.ok() && *stored;
}

wire::WorkerKernelReply ArtifactStore::FindKernels(std::string_view ns,
                                                   const wire::KernelQuery& query,
                                                   ReusedKernels& reused) {
  wire::WorkerKernelReply reply;
  for (const Digest& key : query.kernel_keys) {
    wire::WorkerKernelReply::Known& known = reply.kernels.emplace_back();
    known.kernel_key = key;
    const auto entry = stack_.actions().Lookup(kKernelNamespace, KernelEntryKey(ns, key));
    if (!entry.ok() || entry->kind != BlobKind::kKernel) continue;
    BlobPin pin(stack_.blobs(), entry->artifact);
    // Read now, so that a damaged one is compiled again rather than built upon.
    auto blob = stack_.blobs().Get(entry->artifact);
    if (!blob.ok()) continue;
    known.blob = entry->artifact;
    known.size_bytes = blob->size();
    reused.pins.push_back(std::move(pin));
    reused.blobs.emplace(entry->artifact, *std::move(blob));
  }
  return reply;
}

Result<CompiledArtifact> ArtifactStore::Assemble(const wire::CompileCall& call,
                                                 wire::WorkerDone done,
                                                 const ReusedKernels& reused) {
  CompiledArtifact compiled;
  STOKER_TRY(compiled.manifest, DecodeManifest(call, done.artifact));
  std::map<Digest, Blob> at_hand = reused.blobs;
  std::set<std::pair<Digest, Digest>> named_kernels;  // Keys and blobs.
  std::set<Digest> named;
  for (const KernelRef& kernel : compiled.manifest.kernels) {
    named_kernels.emplace(kernel.key, kernel.blob);
    named.insert(kernel.blob);
  }
  for (const ConstantRef& constant : compiled.manifest.constants) named.insert(constant.blob);
  // Only what the artifact names is stored.
  const auto add = [&](std::string bytes, BlobKind kind) -> Result<Digest> {
    NamedBlob blob = NamedBlob::Of(Blob(std::move(bytes), kind));
    const Digest digest = blob.digest();
    if (!named.contains(digest)) {
      return Internal("The compile worker delivered blob " + digest.ToHex() +
                      ", which its artifact does not name.");
    }
    at_hand.insert_or_assign(digest, blob.blob());
    compiled.fresh.push_back(std::move(blob));
    return digest;
  };
  for (auto& kernel : done.kernels) {
    STOKER_TRY(const Digest blob, add(std::move(kernel.data), BlobKind::kKernel));
    if (!named_kernels.contains({kernel.kernel_key, blob})) {
      return Internal("The compile worker delivered kernel " + kernel.kernel_key.ToHex() +
                      " as blob " + blob.ToHex() + ", which its artifact does not say.");
    }
    compiled.compiled_keys.insert(kernel.kernel_key);
  }
  for (wire::Blob& constant : done.constants) {
    STOKER_RETURN_IF_ERROR(add(std::move(constant.data), BlobKind::kConstant));
  }
  for (const Digest& digest : named) {
    const auto it = at_hand.find(digest);
    if (it == at_hand.end()) {
      return Internal("The compile worker's artifact names blob " + digest.ToHex() +
                      ", which it did not deliver.");
    }
    compiled.artifact.blobs.insert(*it);
  }
  STOKER_TRY(compiled.artifact.artifact, signer_.Sign(done.artifact));
  compiled.artifact.compile_seconds = done.compile_seconds;
  compiled.artifact.tier = "compiled";
  return compiled;
}

Status ArtifactStore::Publish(const wire::CompileCall& call, const CompiledArtifact& compiled) {
  std::vector<BlobPin> pins;  // Until the entry names them.
  const auto put = [&](const NamedBlob& blob) -> Status {
    pins.emplace_back(stack_.blobs(), blob.digest());
    return stack_.blobs().Put(blob);
  };
  ActionEntry entry;
  for (const auto& [digest, blob] : compiled.artifact.blobs) {
    entry.references.push_back(digest);
    entry.bytes += blob.size();
  }
  for (const NamedBlob& blob : compiled.fresh) STOKER_RETURN_IF_ERROR(put(blob));
  for (const KernelRef& kernel : compiled.manifest.kernels) {
    if (!compiled.compiled_keys.contains(kernel.key)) continue;
    ActionEntry found_by_key;
    found_by_key.artifact = kernel.blob;
    found_by_key.kind = BlobKind::kKernel;
    found_by_key.bytes = kernel.size_bytes;
    found_by_key.published_unix_ns = SystemUnixNanos();
    STOKER_RETURN_IF_ERROR(stack_.actions().Publish(kKernelNamespace,
                                                    KernelEntryKey(call.ns, kernel.key),
                                                    found_by_key, Durability::kBuffered));
  }
  const NamedBlob graph = NamedBlob::Of(Blob(call.graph, BlobKind::kGraph));
  const NamedBlob manifest = NamedBlob::Of(Blob(compiled.artifact.artifact, BlobKind::kArtifact));
  STOKER_RETURN_IF_ERROR(put(graph));
  STOKER_RETURN_IF_ERROR(put(manifest));
  entry.references.push_back(graph.digest());
  entry.bytes += graph.blob().size() + manifest.blob().size();
  entry.artifact = manifest.digest();
  entry.kind = BlobKind::kArtifact;
  entry.compile_seconds = compiled.artifact.compile_seconds;
  entry.label = call.graph_name;
  entry.metadata = MetadataOf(call);
  entry.published_unix_ns = SystemUnixNanos();
  STOKER_RETURN_IF_ERROR(
      stack_.actions().Publish(call.ns, call.request_key, entry, Durability::kSynced));
  requests_.Add(call.ns, {call.request_key, entry.artifact, FieldsOf(call)});
  return Ok();
}

std::vector<IndexedRequest> ArtifactStore::LoadRequests(std::string_view ns) {
  std::vector<IndexedRequest> requests;
  std::size_t visited = 0;
  // What cannot be read explains nothing.
  (void)stack_.actions().Visit(
      ns, [&](std::string_view, const Digest& key, const ActionEntry& entry) {
        if (entry.kind == BlobKind::kArtifact) {
          if (const auto call = wire::DecodeCompileCall(entry.metadata); call.ok()) {
            requests.push_back({key, entry.artifact, FieldsOf(*call)});
          }
        }
        return ++visited < kMaxVisitedEntries && requests.size() < RequestIndex::kMaxRequests;
      });
  return requests;
}

MissReason ArtifactStore::ExplainMiss(const wire::LookupRequest& lookup) {
  if (lookup.fields.empty()) return {"no entry", "no entry is stored under this key"};
  for (int tries = 0; tries < kMaxNearest; ++tries) {
    const auto nearest =
        requests_.FindNearest(lookup.ns, lookup.fields, [&] { return LoadRequests(lookup.ns); });
    if (!nearest) {
      return {"namespace is empty", "no request is stored in namespace '" + lookup.ns + "'"};
    }
    if (const auto stored = stack_.blobs().Contains(nearest->artifact); !stored.ok() || !*stored) {
      requests_.Remove(lookup.ns, nearest->request_key);  // It was evicted since.
      continue;
    }
    // Only tags of ours become names: a client may send any.
    const std::string tag = nearest->tag.empty() ? "a field" : nearest->tag;
    return {tag + " is new",
            tag + " is new: the nearest stored request " +
                nearest->request_key.ToHex().substr(0, kShownKeyDigits) + " has " +
                (nearest->tag.empty() ? "nothing" : nearest->value) + ", this one " +
                lookup.fields[nearest->field].text,
            NearestRequest{nearest->request_key, lookup.fields[nearest->field].tag, nearest->value,
                           lookup.fields[nearest->field].text}};
  }
  return {"no entry", "no entry is stored under this key"};
}

Result<wire::ListReply> ArtifactStore::List(const wire::ListRequest& request) {
  std::unordered_map<Digest, std::int64_t, DigestHash> accessed;
  STOKER_RETURN_IF_ERROR(stack_.blobs().Visit([&](const BlobEntry& blob) {
    accessed.emplace(blob.digest, blob.accessed_unix_ns);
    return true;
  }));
  const std::size_t limit = request.limit == 0 ? wire::kMaxListEntries : request.limit;
  wire::ListReply reply;
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      request.ns, [&](std::string_view ns, const Digest& key, const ActionEntry& entry) {
        const std::string_view kind = BlobKindName(entry.kind);
        if (!request.kind.empty() ? request.kind != kind : ns == kKernelNamespace) return true;
        wire::ListEntry listed = ListedOf(ns, key, entry);
        if (entry.kind == BlobKind::kCapture) {
          // Captures of one writer lie under a key of their own; what lists writers is no capture.
          const auto captured = wire::DecodeCaptureQuery(entry.metadata);
          if (!captured.ok() || captured->writers.size() != 1) return true;
          listed.key = captured->capture_key;
          listed.writer = captured->writers[0].ToString();
        }
        if (const auto it = accessed.find(entry.artifact); it != accessed.end()) {
          listed.last_used_unix_s = static_cast<double>(it->second) / kNanosPerSecond;
        }
        if (const auto call = wire::DecodeCompileCall(entry.metadata); call.ok()) {
          listed.target = call->target.ToString();
        }
        reply.entries.push_back(std::move(listed));
        return reply.entries.size() < limit;
      }));
  return reply;
}

Result<wire::ListReply> ArtifactStore::ListStale(std::string_view ns,
                                                 std::string_view compiler_epoch) {
  wire::ListReply reply;
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      ns, [&](std::string_view found_in, const Digest& key, const ActionEntry& entry) {
        if (entry.kind != BlobKind::kArtifact) return true;
        const auto call = wire::DecodeCompileCall(entry.metadata);
        if (!call.ok() || call->compiler_epoch == compiler_epoch) return true;
        wire::ListEntry& listed = reply.entries.emplace_back(ListedOf(found_in, key, entry));
        listed.target = call->target.ToString();
        listed.request = entry.metadata;
        return true;
      }));
  return reply;
}

Result<std::string> ArtifactStore::FindCall(std::string_view ns, const Digest& request_key) {
  STOKER_TRY(const ActionEntry entry, stack_.actions().Lookup(ns, request_key));
  STOKER_TRY(wire::CompileCall call, wire::DecodeCompileCall(entry.metadata));
  STOKER_TRY(call.graph, FindGraph(call.graph_digest));
  return wire::EncodeCompileCall(call);
}

Result<wire::CompileCall> ArtifactStore::FindRequest(std::string_view ns, std::string_view prefix) {
  std::set<std::string> matches;  // One key may be stored in several namespaces.
  std::string metadata;
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      ns, [&](std::string_view, const Digest& key, const ActionEntry& entry) {
        const std::string hex = key.ToHex();
        if (entry.kind != BlobKind::kArtifact || !hex.starts_with(prefix)) return true;
        matches.insert(hex);
        metadata = entry.metadata;
        return matches.size() < 2;
      }));
  if (matches.empty()) {
    return NotFound("No stored request key starts with '" + std::string(prefix) + "'.");
  }
  if (matches.size() > 1) {
    return InvalidArgument("Several request keys start with '" + std::string(prefix) +
                           "': " + *matches.begin() + ", " + *matches.rbegin() + ".");
  }
  if (metadata.empty()) {
    return FailedPrecondition("Request " + *matches.begin() +
                              " is stored without its fields: they exceed " +
                              std::to_string(kMaxMetadataBytes) + " bytes.");
  }
  return wire::DecodeCompileCall(metadata);
}

Result<wire::ExplainReply> ArtifactStore::Explain(const wire::ExplainRequest& request) {
  STOKER_TRY(const wire::CompileCall a, FindRequest(request.ns, request.key_a));
  STOKER_TRY(const wire::CompileCall b, FindRequest(request.ns, request.key_b));
  const std::vector<KeyField> fields_a = FieldsOf(a);
  const std::vector<KeyField> fields_b = FieldsOf(b);
  wire::ExplainReply reply;
  for (const KeyField* difference : DifferencesOf(fields_a, fields_b)) {
    reply.differences.push_back(
        {difference->tag, TextOf(fields_a, difference->tag), difference->text});
  }
  return reply;
}

}  // namespace stoker
