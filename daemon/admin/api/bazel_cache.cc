#include "daemon/admin/api/bazel_cache.h"

#include "daemon/admin/reply/replies.h"
#include "daemon/service/store/artifact_store.h"
#include "daemon/service/waiting/blocking.h"

namespace stoker {
namespace {

constexpr std::string_view kBlobs = "/cas/";
constexpr std::string_view kActions = "/ac/";

net::HttpReply BlobReply(Blob blob) {
  net::HttpReply reply;
  reply.content_type = "application/octet-stream";
  reply.accepts_ranges = true;
  reply.body = net::Body(blob.owner(), blob.bytes());
  return reply;
}

}  // namespace

bool BazelCache::Owns(std::string_view path) {
  return path.starts_with(kBlobs) || path.starts_with(kActions);
}

boost::asio::awaitable<net::HttpReply> BazelCache::Handle(const net::HttpRequest& request) {
  const bool is_action = request.path.starts_with(kActions);
  const std::string name = request.path.substr(is_action ? kActions.size() : kBlobs.size());
  const auto digest = Digest::FromHex(name);
  if (!digest.ok()) {
    co_return ReplyOf(
        InvalidArgument("Field 'path' is '" + request.path +
                        "'; after the second slash come 64 lowercase hexadecimal digits."));
  }
  if (request.method == "GET" || request.method == "HEAD") {
    // What is in memory is answered here: another thread would cost more than the answer.
    std::optional<Blob> blob;
    if (!is_action) blob = stack_.blobs().GetNow(*digest);
    if (!blob) {
      auto found = co_await RunBlocking(blocking_, [&] { return Get(is_action, *digest); });
      if (!found.ok()) co_return ReplyOf(found.error());
      blob = *std::move(found);
    }
    co_return BlobReply(*std::move(blob));
  }
  if (request.method != "PUT") {
    co_return ReplyOf(Unimplemented("Field 'method' is '" + request.method + "'; " +
                                    std::string(is_action ? kActions : kBlobs) +
                                    " answers GET, HEAD and PUT."));
  }
  if (is_action && request.body.size() > kMaxActionResultBytes) {
    co_return ReplyOf(ResourceExhausted("Field 'body' has " + std::to_string(request.body.size()) +
                                        " bytes, more than the limit of " +
                                        std::to_string(kMaxActionResultBytes) +
                                        " for an action result."));
  }
  const Status status =
      co_await RunBlocking(blocking_, [&] { return Put(is_action, *digest, request.body); });
  if (status.ok()) co_return ReplyOf(std::string());
  // What is lost is the store's: the request was looked at before.
  const bool is_lost = status.error().code == ErrorCode::kDataLoss;
  co_return StorageReplyOf(is_lost ? Internal(status.error().message) : status.error());
}

Result<Blob> BazelCache::Get(bool is_action, const Digest& digest) {
  Digest name = digest;
  if (is_action) {
    const auto entry = stack_.actions().Lookup(kBazelNamespace, digest);
    statistics_.Add("ns." + std::string(kBazelNamespace) + (entry.ok() ? ".hits" : ".misses"));
    if (!entry.ok()) {
      // To Bazel a result that was lost is one that was never there.
      if (entry.error().code != ErrorCode::kDataLoss) return entry.error();
      return NotFound(entry.error().message);
    }
    if (entry->kind != BlobKind::kOther) return NotFound("No action result is stored there.");
    name = entry->artifact;
  }
  return stack_.blobs().Get(name);
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
