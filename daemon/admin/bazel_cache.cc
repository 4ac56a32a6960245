#include "daemon/admin/bazel_cache.h"

#include "daemon/service/artifact_store.h"
#include "daemon/service/blocking.h"

namespace stoker {
namespace {

constexpr std::string_view kBlobs = "/cas/";
constexpr std::string_view kActions = "/ac/";

}  // namespace

bool BazelCache::Owns(std::string_view path) {
  return path.starts_with(kBlobs) || path.starts_with(kActions);
}

boost::asio::awaitable<Result<std::string>> BazelCache::Handle(const net::HttpRequest& request) {
  const bool is_action = request.path.starts_with(kActions);
  const std::string name = request.path.substr(is_action ? kActions.size() : kBlobs.size());
  const auto digest = Digest::FromHex(name);
  if (!digest.ok()) {
    co_return InvalidArgument("Field 'path' is '" + request.path +
                              "'; after the second slash come 64 lowercase hexadecimal digits.");
  }
  if (request.method == "GET" || request.method == "HEAD") {
    co_return co_await RunBlocking(blocking_, [&] { return Get(is_action, *digest); });
  }
  if (request.method != "PUT") {
    co_return Unimplemented("Field 'method' is '" + request.method + "'; " +
                            std::string(is_action ? kActions : kBlobs) +
                            " answers GET, HEAD and PUT.");
  }
  if (is_action && request.body.size() > kMaxActionResultBytes) {
    co_return ResourceExhausted("Field 'body' has " + std::to_string(request.body.size()) +
                                " bytes, more than the limit of " +
                                std::to_string(kMaxActionResultBytes) + " for an action result.");
  }
  co_return co_await RunBlocking(blocking_, [&]() -> Result<std::string> {
    STOKER_RETURN_IF_ERROR(Put(is_action, *digest, request.body));
    return std::string();
  });
}

Result<std::string> BazelCache::Get(bool is_action, const Digest& digest) {
  Digest name = digest;
  if (is_action) {
    const auto entry = stack_.actions().Lookup(kBazelNamespace, digest);
    statistics_.Add("ns." + std::string(kBazelNamespace) + (entry.ok() ? ".hits" : ".misses"));
    if (!entry.ok()) {
      // To Bazel a result that was lost is one that was never there.
      if (entry.error().code != ErrorCode::kDataLoss) return entry.error();
      return NotFound(entry.error().message);
    }
    name = entry->artifact;
  }
  STOKER_TRY(const Blob blob, stack_.blobs().Get(name));
  return std::string(blob.bytes());
}

Status BazelCache::Put(bool is_action, const Digest& digest, std::string body) {
  Blob blob(std::move(body), BlobKind::kOther);
  if (!is_action) {
    auto named = NamedBlob::Verify(digest, std::move(blob));
    if (!named.ok()) return InvalidArgument("Field 'body': " + named.error().message);
    return stack_.blobs().Put(*named);
  }
  const NamedBlob named = NamedBlob::Of(std::move(blob));
  const BlobPin pin(stack_.blobs(), named.digest());  // Until the entry names it.
  STOKER_RETURN_IF_ERROR(stack_.blobs().Put(named));
  ActionEntry entry;
  entry.artifact = named.digest();
  entry.kind = BlobKind::kOther;
  entry.bytes = named.blob().size();
  entry.published_unix_ns = SystemUnixNanos();
  return stack_.actions().Publish(kBazelNamespace, digest, entry, Durability::kSynced);
}

}  // namespace stoker
