// ArtifactStore: requests, artifacts and kernels in terms of the cache's blobs and index. Blocking.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/stack/stack.h"
#include "daemon/observe/miss_memory.h"
#include "daemon/observe/visible.h"
#include "daemon/service/store/request_index.h"
#include "daemon/signing/artifact_signer.h"
#include "protocol/artifact/artifact.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

// The index namespace in which kernels are found, by their KernelKey within a namespace of
// requests. Requests may not use it.
inline constexpr std::string_view kKernelNamespace = "stoker.kernels";
// The index namespace of Bazel's action cache. Requests may not use it.
inline constexpr std::string_view kBazelNamespace = "bazel";

// An artifact and its blobs, out of the store or fresh from the compiler.
struct StoredArtifact {
  std::string artifact;          // Signed.
  std::map<Digest, Blob> blobs;  // Kernels and constants.
  double compile_seconds = 0;
  std::string label;     // The graph's name.
  std::string tier;      // memory, disk, shared; compiled
  std::string unstored;  // Why the store did not take what was compiled; empty: it did.
};

// Kernels that a compile found stored: pinned until their artifact is published, and at hand.
struct ReusedKernels {
  std::vector<BlobPin> pins;
  std::map<Digest, Blob> blobs;
};

// What a worker made.
struct CompiledArtifact {
  StoredArtifact artifact;
  Artifact manifest;
  std::set<Digest> compiled_keys;  // Of the kernels compiled now; the others were reused.
  std::vector<NamedBlob> fresh;    // Kernels compiled now, and constants.
};

// Why a lookup finds nothing.
struct MissReason {
  std::string name;  // Under which it is counted: without values, and one of few.
  std::string text;  // For people.
  std::optional<NearestRequest> nearest = {};
};

// A request that is stored, for who asks why it was not found before.
struct StoredRequest {
  std::string name_space;
  Digest key;
  std::string label;
  std::string target;
  double created_unix_s = 0;
  std::optional<NearestRequest> nearest;  // Of the others.
};

class ArtifactStore {
 public:
  // Both must outlive it.
  ArtifactStore(CacheStack& stack, const KeyRing& keys) : stack_(stack), signer_(keys) {}

  // The artifact with its blobs, but those in `held`, signed by every key that signs now: one with
  // signatures of earlier keys is signed anew. NotFound: a miss. DataLoss: a miss because what was
  // stored is damaged, foreign or was evicted; the message says which. What is damaged or foreign
  // has been quarantined. FailedPrecondition: a miss because none of this daemon's keys signed it;
  // the entry is gone.
  Result<StoredArtifact> Find(std::string_view ns, const Digest& request_key,
                              const std::vector<Digest>& held);

  // Whatever is stored under this digest: whether it is a graph, a worker finds out.
  Result<std::string> FindGraph(const Digest& graph_digest);
  // The stored request with its graph, encoded.
  Result<std::string> FindCall(std::string_view ns, const Digest& request_key);
  // Whether it is stored; reads nothing of it, so that FindGraph may find it damaged.
  bool HasGraph(const Digest& graph_digest);

  // The namespace's kernels that can be read, and no others; they are added to `reused`. Kernels
  // are code, whose keys nobody can recompute: one namespace does not run another's.
  wire::WorkerKernelReply FindKernels(std::string_view ns, const wire::KernelQuery& query,
                                      ReusedKernels& reused);

  // Checks that what a worker made is complete and belongs to the call, and signs it. Internal
  // otherwise.
  Result<CompiledArtifact> Assemble(const wire::CompileCall& call, wire::WorkerDone done,
                                    const ReusedKernels& reused);
  // Kernels and constants first, then graph and manifest, then the entry; durable on return.
  Status Publish(const wire::CompileCall& call, const CompiledArtifact& compiled);

  // Compares with the nearest stored request of the namespace, among those of its RequestIndex.
  MissReason ExplainMiss(const wire::LookupRequest& lookup);

  Result<wire::ListReply> List(const wire::ListRequest& request);
  // All artifacts in `ns` (empty: everywhere) of other compilers than this one, with their
  // requests.
  Result<wire::ListReply> ListStale(std::string_view ns, std::string_view compiler_epoch);
  // The request stored under the only key that starts with `prefix`, without its graph.
  Result<wire::CompileCall> FindRequest(std::string_view ns, std::string_view prefix);
  Result<wire::ExplainReply> Explain(const wire::ExplainRequest& request);
  // The stored requests in `ns` (empty: everywhere that is visible) whose keys start with `prefix`,
  // at most `limit`.
  Result<std::vector<StoredRequest>> FindStored(const std::string& ns, std::string_view prefix,
                                                const Visible& visible, std::size_t limit);

 private:
  // Takes an artifact that is not what its entry says out of service.
  Error Refuse(std::string_view ns, const Digest& request_key, const Digest& artifact,
               const std::string& why);
  // The artifact with the signatures that it has to have; an error where it is refused.
  Result<std::string> Vouched(std::string_view ns, const Digest& request_key,
                              const ActionEntry& entry, const Blob& artifact);

  // Some of a namespace.
  std::vector<IndexedRequest> LoadRequests(std::string_view ns);

  CacheStack& stack_;
  ArtifactSigner signer_;
  RequestIndex requests_;
};

}  // namespace stoker
