#include "daemon/service/artifact_store.h"

#include <algorithm>
#include <set>

#include "protocol/artifact/artifact.h"

namespace stoker {
namespace {

constexpr double kNanosPerSecond = 1e9;
// Entries that a miss is compared with at most: explaining must not cost more than compiling.
constexpr int kMaxExplainedEntries = 512;

// Requests are stored as the call that made them, without the graph: its digest names the blob.
std::string MetadataOf(wire::CompileCall call) {
  call.graph.clear();
  call.have_kernels.clear();
  return wire::EncodeCompileCall(call);
}

std::vector<KeyField> FieldsOf(const wire::CompileCall& call) {
  return stoker::FieldsOf(call.graph_digest, call.signature, call.target, call.options,
                          call.compiler_epoch);
}

std::vector<const KeyField*> DifferencesOf(const std::vector<KeyField>& from,
                                           const std::vector<KeyField>& to) {
  std::vector<const KeyField*> differences;
  for (const KeyField& field : to) {
    const auto same = std::find_if(from.begin(), from.end(), [&](const KeyField& other) {
      return other.tag == field.tag && other.digest == field.digest;
    });
    if (same == from.end()) differences.push_back(&field);
  }
  return differences;
}

const KeyField* FindField(const std::vector<KeyField>& fields, std::string_view tag) {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const KeyField& field) { return field.tag == tag; });
  return it == fields.end() ? nullptr : &*it;
}

}  // namespace

Result<StoredArtifact> ArtifactStore::Find(std::string_view ns, const Digest& request_key) {
  STOKER_TRY(const ActionEntry entry, stack_.actions().Lookup(ns, request_key));
  StoredArtifact found;
  found.tier = stack_.TierOf(entry.artifact);
  auto blob = stack_.blobs().Get(entry.artifact);
  if (!blob.ok()) {
    if (blob.error().code != ErrorCode::kNotFound) return blob.error();
    return DataLoss("Artifact " + entry.artifact.ToHex() + " is damaged or was evicted.");
  }
  found.artifact = std::string(blob->bytes());
  found.blobs = entry.references;
  found.compile_seconds = entry.compile_seconds;
  return found;
}

Result<std::vector<wire::Blob>> ArtifactStore::Blobs(const StoredArtifact& artifact,
                                                     const std::vector<Digest>& held) {
  const std::set<Digest> skip(held.begin(), held.end());
  STOKER_TRY(const Artifact manifest, DecodeArtifact(artifact.artifact));
  std::set<Digest> needed;
  for (const KernelRef& kernel : manifest.kernels) needed.insert(kernel.blob);
  for (const ConstantRef& constant : manifest.constants) needed.insert(constant.blob);
  std::vector<wire::Blob> blobs;
  for (const Digest& digest : needed) {
    if (skip.contains(digest)) {
      stack_.blobs().Touch(std::span(&digest, 1));
      continue;
    }
    auto blob = stack_.blobs().Get(digest);
    if (!blob.ok()) {
      if (blob.error().code != ErrorCode::kNotFound) return blob.error();
      return DataLoss("Kernel " + digest.ToHex() + " is damaged or was evicted.");
    }
    blobs.push_back({digest, std::string(blob->bytes())});
  }
  return blobs;
}

Result<std::string> ArtifactStore::FindGraph(const Digest& graph_digest) {
  STOKER_TRY(const Blob blob, stack_.blobs().Get(graph_digest));
  return std::string(blob.bytes());
}

bool ArtifactStore::HasGraph(const Digest& graph_digest) {
  const auto there = stack_.blobs().Contains(graph_digest);
  return there.ok() && *there;
}

wire::WorkerKernelReply ArtifactStore::FindKernels(const wire::KernelQuery& query) {
  wire::WorkerKernelReply reply;
  for (const Digest& key : query.kernel_keys) {
    wire::WorkerKernelReply::Known known;
    known.kernel_key = key;
    if (const auto entry = stack_.actions().Lookup(kKernelNamespace, key); entry.ok()) {
      known.blob = entry->artifact;
      known.size_bytes = entry->bytes;
    }
    reply.kernels.push_back(known);
  }
  return reply;
}

Result<StoredArtifact> ArtifactStore::Publish(const wire::CompileCall& call,
                                              const wire::WorkerDone& done) {
  STOKER_TRY(const Artifact manifest, DecodeArtifact(done.artifact));
  if (manifest.request_key != call.request_key) {
    return Internal("The compile worker made an artifact of request " +
                    manifest.request_key.ToHex() + " for " + call.request_key.ToHex() + ".");
  }
  std::vector<BlobPin> pins;
  const auto put = [&](std::string bytes, BlobKind kind) -> Result<Digest> {
    const NamedBlob blob = NamedBlob::Of(stoker::Blob(std::move(bytes), kind));
    pins.emplace_back(stack_.blobs(), blob.digest());
    STOKER_RETURN_IF_ERROR(stack_.blobs().Put(blob));
    return blob.digest();
  };

  ActionEntry entry;
  for (const KernelRef& kernel : manifest.kernels) {
    pins.emplace_back(stack_.blobs(), kernel.blob);
    entry.references.push_back(kernel.blob);
    entry.bytes += kernel.size_bytes;
  }
  for (const auto& compiled : done.kernels) {
    ActionEntry kernel;
    STOKER_TRY(kernel.artifact, put(compiled.data, BlobKind::kKernel));
    kernel.kind = BlobKind::kKernel;
    kernel.bytes = compiled.data.size();
    STOKER_RETURN_IF_ERROR(stack_.actions().Publish(kKernelNamespace, compiled.kernel_key, kernel,
                                                    Durability::kBuffered));
  }
  for (const wire::Blob& constant : done.constants) {
    STOKER_TRY(const Digest digest, put(constant.data, BlobKind::kConstant));
    entry.references.push_back(digest);
    entry.bytes += constant.data.size();
  }
  STOKER_TRY(const Digest graph, put(call.graph, BlobKind::kGraph));
  entry.references.push_back(graph);
  entry.bytes += call.graph.size();
  STOKER_TRY(entry.artifact, put(done.artifact, BlobKind::kArtifact));
  entry.bytes += done.artifact.size();

  entry.kind = BlobKind::kArtifact;
  entry.compile_seconds = done.compile_seconds;
  entry.label = call.graph_name;
  entry.metadata = MetadataOf(call);
  entry.published_unix_ns = SystemUnixNanos();
  STOKER_RETURN_IF_ERROR(
      stack_.actions().Publish(call.ns, call.request_key, entry, Durability::kSynced));

  StoredArtifact stored;
  stored.artifact = done.artifact;
  stored.blobs = std::move(entry.references);
  stored.compile_seconds = done.compile_seconds;
  stored.tier = "compiled";
  return stored;
}

std::string ArtifactStore::ExplainMiss(const wire::LookupRequest& lookup) {
  if (lookup.fields.empty()) return "no entry";
  std::size_t fewest = lookup.fields.size() + 1;
  std::string nearest;
  std::string first_tag;
  std::string details;
  int visited = 0;
  const Status status = stack_.actions().Visit(
      lookup.ns, [&](std::string_view, const Digest& key, const ActionEntry& entry) {
        if (entry.kind != BlobKind::kArtifact) return true;
        const auto call = wire::DecodeCompileCall(entry.metadata);
        if (!call.ok()) return true;
        const std::vector<KeyField> fields = FieldsOf(*call);
        const auto differences = DifferencesOf(fields, lookup.fields);
        if (!differences.empty() && differences.size() < fewest) {
          fewest = differences.size();
          nearest = key.ToHex().substr(0, 16);
          first_tag = differences.front()->tag;
          const KeyField* theirs = FindField(fields, first_tag);
          details = (theirs == nullptr ? "nothing" : theirs->text) + " there, " +
                    differences.front()->text + " here";
        }
        return ++visited < kMaxExplainedEntries;
      });
  if (!status.ok() || nearest.empty()) return "empty: nothing is stored in this namespace";
  return first_tag + " is new: the nearest stored request " + nearest + " has " + details;
}

Result<wire::ListReply> ArtifactStore::List(const wire::ListRequest& request) {
  wire::ListReply reply;
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      request.ns, [&](std::string_view ns, const Digest& key, const ActionEntry& entry) {
        const std::string kind(BlobKindName(entry.kind));
        if (!request.kind.empty() ? request.kind != kind : ns == kKernelNamespace) return true;
        wire::ListEntry listed;
        listed.key = key;
        listed.artifact = entry.artifact;
        listed.ns = ns;
        listed.kind = kind;
        listed.label = entry.label;
        listed.size_bytes = entry.bytes;
        listed.created_unix_s = static_cast<double>(entry.published_unix_ns) / kNanosPerSecond;
        listed.compile_seconds = entry.compile_seconds;
        if (const auto call = wire::DecodeCompileCall(entry.metadata); call.ok()) {
          listed.target = call->target.ToString();
        }
        reply.entries.push_back(std::move(listed));
        return request.limit == 0 || reply.entries.size() < request.limit;
      }));
  return reply;
}

Result<wire::CompileCall> ArtifactStore::FindRequest(std::string_view ns, std::string_view prefix) {
  std::vector<std::string> matches;
  std::string metadata;
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      ns, [&](std::string_view, const Digest& key, const ActionEntry& entry) {
        const std::string hex = key.ToHex();
        if (entry.kind != BlobKind::kArtifact || !hex.starts_with(prefix)) return true;
        matches.push_back(hex);
        metadata = entry.metadata;
        return matches.size() < 2;
      }));
  if (matches.empty()) {
    return NotFound("No stored request key starts with '" + std::string(prefix) + "'.");
  }
  if (matches.size() > 1) {
    return InvalidArgument("Several request keys start with '" + std::string(prefix) +
                           "': " + matches[0] + ", " + matches[1] + ".");
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
    const KeyField* mine = FindField(fields_a, difference->tag);
    reply.differences.push_back(
        {difference->tag, mine == nullptr ? std::string() : mine->text, difference->text});
  }
  return reply;
}

}  // namespace stoker
