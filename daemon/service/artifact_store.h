// ArtifactStore: requests, artifacts and kernels in terms of the cache's blobs and index. Blocking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/stack.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/wire/messages.h"

namespace stoker {

// The index namespace in which kernels are found by KernelKey.
inline constexpr std::string_view kKernelNamespace = "stoker.kernels";

// A stored artifact with everything a client may need of it.
struct StoredArtifact {
  std::string artifact;
  std::vector<Digest> blobs;  // Kernels and constants.
  double compile_seconds = 0;
  std::string tier;  // memory, disk
};

class ArtifactStore {
 public:
  explicit ArtifactStore(CacheStack& stack) : stack_(stack) {}

  // NotFound: a miss. DataLoss: a miss because what was stored is damaged or was evicted; the
  // message says which.
  Result<StoredArtifact> Find(std::string_view ns, const Digest& request_key);
  // The blobs of an artifact but those in `held`.
  Result<std::vector<wire::Blob>> Blobs(const StoredArtifact& artifact,
                                        const std::vector<Digest>& held);

  Result<std::string> FindGraph(const Digest& graph_digest);
  bool HasGraph(const Digest& graph_digest);

  wire::WorkerKernelReply FindKernels(const wire::KernelQuery& query);

  // Kernels and constants first, then graph and manifest, then the entry; durable on return.
  Result<StoredArtifact> Publish(const wire::CompileCall& call, const wire::WorkerDone& done);

  // Why `lookup` finds nothing: no entry at all, or the nearest stored request and the first field
  // that differs from it.
  std::string ExplainMiss(const wire::LookupRequest& lookup);

  Result<wire::ListReply> List(const wire::ListRequest& request);
  // The request stored under the only key that starts with `prefix`, without its graph.
  Result<wire::CompileCall> FindRequest(std::string_view ns, std::string_view prefix);
  Result<wire::ExplainReply> Explain(const wire::ExplainRequest& request);

 private:
  CacheStack& stack_;
};

}  // namespace stoker
