// Stored requests, and how each differs from the others.
#include <utility>

#include "cache/clock.h"
#include "daemon/service/store/artifact_store.h"

namespace stoker {

Result<std::vector<StoredRequest>> ArtifactStore::FindStored(const std::string& ns,
                                                             std::string_view prefix,
                                                             const Visible& visible,
                                                             std::size_t limit) {
  std::vector<StoredRequest> stored;
  std::vector<wire::LookupRequest> lookups;  // As if each were asked for now.
  STOKER_RETURN_IF_ERROR(stack_.actions().Visit(
      ns, [&](std::string_view found_in, const Digest& key, const ActionEntry& entry) {
        if (entry.kind != BlobKind::kArtifact || !visible(found_in) ||
            !key.ToHex().starts_with(prefix)) {
          return true;
        }
        StoredRequest& request = stored.emplace_back();
        request.name_space = found_in;
        request.key = key;
        request.label = entry.label;
        request.created_unix_s = static_cast<double>(entry.published_unix_ns) / kNanosPerSecond;
        wire::LookupRequest& lookup = lookups.emplace_back();
        lookup.ns = found_in;
        lookup.request_key = key;
        // One that is too large for the index is stored without its fields.
        if (const auto call = wire::DecodeCompileCall(entry.metadata); call.ok()) {
          request.target = call->target.ToString();
          lookup.fields =
              FieldsOf(call->graph_digest, call->target, call->options, call->compiler_epoch);
        }
        return stored.size() < limit;
      }));
  for (std::size_t i = 0; i < stored.size(); ++i) {
    stored[i].nearest = ExplainMiss(lookups[i]).nearest;
  }
  return stored;
}

}  // namespace stoker
