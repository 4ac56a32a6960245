#include "daemon/service/store/entry_store.h"

#include <set>
#include <utility>

#include "protocol/artifact/trailer.h"
#include "protocol/base/signature/public_key_list.h"
#include "protocol/graph/graph.h"
#include "protocol/key/compile_request.h"

namespace stoker {
namespace {

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field 'entry." + std::string(field) + "' " + why);
}

}  // namespace

Result<wire::StoredEntry> EntryStore::Get(const wire::EntryQuery& query) {
  STOKER_TRY(const ActionEntry found, stack_.actions().Lookup(query.ns, query.key));
  if (found.kind != BlobKind::kArtifact && found.kind != BlobKind::kCapture) {
    return NotFound("Key " + query.key.ToHex() + " names something of kind '" +
                    std::string(BlobKindName(found.kind)) + "'.");
  }
  wire::StoredEntry entry;
  entry.ns = query.ns;
  entry.key = query.key;
  entry.kind = std::string(BlobKindName(found.kind));
  entry.label = found.label;
  entry.compile_seconds = found.compile_seconds;
  entry.references = found.references;
  entry.metadata = found.metadata;
  // The list of captures is each daemon's own.
  if (found.kind == BlobKind::kArtifact) entry.artifact = found.artifact;
  return entry;
}

Result<std::string> EntryStore::Vouched(std::string_view artifact) {
  STOKER_TRY(const Trailer trailer, TrailerOf(artifact));
  std::vector<PublicKey> signers;
  for (const ArtifactSignature& each : trailer.signatures) signers.push_back(each.signer);
  STOKER_TRY(const SignatureState state, signer_.StateOf(artifact));
  switch (state) {
    case SignatureState::kCurrent:
      return std::string(artifact);
    case SignatureState::kRetired:
      return signer_.Sign(artifact);
    case SignatureState::kForeign:
      break;
  }
  return FailedPrecondition("The artifact is signed by " + ListOf(signers) +
                            ", whom this daemon does not trust (--trusted-signer).");
}

Result<wire::EntryReply> EntryStore::Put(const wire::StoredEntry& entry) {
  if (entry.ns == kKernelNamespace || entry.ns == kBazelNamespace) {
    return Wrong("namespace", "is '" + entry.ns + "', which the daemon keeps for itself.");
  }
  if (entry.kind != BlobKindName(BlobKind::kArtifact)) {
    return Wrong("kind", "is '" + entry.kind + "'; 'artifact' is taken here.");
  }
  auto metadata = wire::DecodeCompileCall(entry.metadata);
  if (!metadata.ok()) return Wrong("metadata", "is no request: " + metadata.error().message);
  wire::CompileCall call = *std::move(metadata);
  call.ns = entry.ns;

  wire::EntryReply reply;
  std::map<Digest, Blob> blobs;
  const auto need = [&](const Digest& digest) {
    if (blobs.contains(digest)) return;
    if (auto blob = stack_.blobs().Get(digest); blob.ok()) {
      blobs.emplace(digest, *std::move(blob));
    } else {
      reply.missing.push_back(digest);
    }
  };
  need(entry.artifact);
  need(call.graph_digest);
  if (!blobs.contains(entry.artifact)) return reply;
  CompiledArtifact made;
  made.artifact.artifact = std::string(blobs.at(entry.artifact).bytes());
  auto manifest = DecodeArtifact(made.artifact.artifact);
  if (!manifest.ok()) return Wrong("artifact", "is none: " + manifest.error().message);
  made.manifest = *std::move(manifest);
  for (const KernelRef& kernel : made.manifest.kernels) need(kernel.blob);
  for (const ConstantRef& constant : made.manifest.constants) need(constant.blob);
  if (!reply.missing.empty()) return reply;

  call.graph = std::string(blobs.at(call.graph_digest).bytes());
  const auto graph = DecodeGraph(call.graph);
  if (!graph.ok()) return graph.error().WithContext("Field 'entry.metadata'");
  const Digest key = KeyOf(graph->digest(), call.target, call.options, call.compiler_epoch).digest;
  for (const Digest& claimed : {entry.key, call.request_key, made.manifest.request_key}) {
    if (claimed != key) {
      return Wrong("key", "is " + claimed.ToHex() + "; this request's key is " + key.ToHex() + ".");
    }
  }
  STOKER_TRY(made.artifact.artifact, Vouched(made.artifact.artifact));
  for (const KernelRef& kernel : made.manifest.kernels) {
    made.compiled_keys.insert(kernel.key);
    made.artifact.blobs.insert_or_assign(kernel.blob, blobs.at(kernel.blob));
  }
  for (const ConstantRef& constant : made.manifest.constants) {
    made.artifact.blobs.insert_or_assign(constant.blob, blobs.at(constant.blob));
  }
  made.artifact.compile_seconds = entry.compile_seconds;
  STOKER_RETURN_IF_ERROR(artifacts_.Publish(call, made));
  return reply;
}

}  // namespace stoker
