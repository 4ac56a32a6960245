#include "daemon/admin/api/upkeep_api.h"

#include <string>

#include "daemon/admin/reply/replies.h"
#include "daemon/service/store/pins.h"
#include "daemon/service/waiting/blocking.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/upkeep_messages.h"

namespace stoker {
namespace {

constexpr std::string_view kPrefix = "/v1/cache/";

std::optional<net::HttpReply> RefusalEverywhere(const Grant& grant, Scope scope) {
  const Status allowed = grant.RequireEverywhere(scope);
  if (allowed.ok()) return std::nullopt;
  return AccessReplyOf(allowed.error(), /*is_known=*/true);
}

}  // namespace

UpkeepApi::Answer UpkeepApi::Handle(const net::HttpRequest& request, const Grant& grant,
                                    net::HttpStream& stream) {
  const std::string_view route = std::string_view(request.path).substr(kPrefix.size());
  if (request.method == "POST") {
    if (route == "gc") co_return co_await Gc(request, grant, stream);
    if (route == "purge") co_return co_await Purge(request, grant, stream);
    if (route == "verify") co_return co_await Verify(grant, stream);
    if (route == "pin") co_return co_await Pin(request, grant, /*pinned=*/true);
    if (route == "unpin") co_return co_await Pin(request, grant, /*pinned=*/false);
    if (route == "pins") co_return co_await Pins(request, grant);
  }
  co_return ReplyOf(NotFound("No route for " + request.method + " " + request.path + "."));
}

UpkeepApi::Answer UpkeepApi::Stream(net::HttpStream& stream, const Start& start) {
  bool sent = false;
  const Upkeep::Send send = [&](const wire::UpkeepEvent& event) -> boost::asio::awaitable<Status> {
    std::string frame;
    wire::AppendFrame(wire::EncodeUpkeepEvent(event), &frame);
    sent = true;
    co_return co_await stream.Send(frame);
  };
  const Status status = co_await start(send);
  if (!sent && !status.ok()) co_return ReplyOf(status.error());
  co_return std::nullopt;
}

UpkeepApi::Answer UpkeepApi::Gc(const net::HttpRequest& request, const Grant& grant,
                                net::HttpStream& stream) {
  const auto gc = wire::DecodeGcRequest(request.body);
  if (!gc.ok()) co_return ReplyOf(gc.error());
  if (auto refusal = RefusalEverywhere(grant, Scope::kAdmin)) co_return refusal;
  const Start start = [&](const Upkeep::Send& send) {
    return upkeep_.CollectGarbage(*gc, grant.who(), send);
  };
  co_return co_await Stream(stream, start);
}

UpkeepApi::Answer UpkeepApi::Purge(const net::HttpRequest& request, const Grant& grant,
                                   net::HttpStream& stream) {
  const auto purge = wire::DecodePurgeRequest(request.body);
  if (!purge.ok()) co_return ReplyOf(purge.error());
  auto refusal = purge->ns.empty() ? RefusalEverywhere(grant, Scope::kAdmin)
                                   : RefusalOf(grant, Scope::kAdmin, purge->ns);
  if (refusal) co_return refusal;
  const Start start = [&](const Upkeep::Send& send) {
    return upkeep_.Purge(*purge, grant.who(), send);
  };
  co_return co_await Stream(stream, start);
}

UpkeepApi::Answer UpkeepApi::Verify(const Grant& grant, net::HttpStream& stream) {
  if (auto refusal = RefusalEverywhere(grant, Scope::kAdmin)) co_return refusal;
  const Start start = [&](const Upkeep::Send& send) { return upkeep_.Verify(grant.who(), send); };
  co_return co_await Stream(stream, start);
}

UpkeepApi::Answer UpkeepApi::Pin(const net::HttpRequest& request, const Grant& grant, bool pinned) {
  const auto pin = wire::DecodePinRequest(request.body);
  if (!pin.ok()) co_return ReplyOf(pin.error());
  if (auto refusal = RefusalOf(grant, Scope::kWrite, pin->ns)) co_return refusal;
  const auto done = co_await RunBlocking(
      blocking_, [&] { return pinned ? PinEntry(stack_, *pin) : UnpinEntry(stack_, *pin); });
  if (done.ok()) co_return ReplyOf(wire::EncodePin(*done));
  // An entry that has lost a blob is one that is not there.
  if (done.error().code == ErrorCode::kDataLoss) co_return ReplyOf(NotFound(done.error().message));
  co_return StorageReplyOf(done.error());
}

UpkeepApi::Answer UpkeepApi::Pins(const net::HttpRequest& request, const Grant& grant) {
  const auto pins = wire::DecodePinsRequest(request.body);
  if (!pins.ok()) co_return ReplyOf(pins.error());
  auto refusal = pins->ns.empty() ? RefusalEverywhere(grant, Scope::kRead)
                                  : RefusalOf(grant, Scope::kRead, pins->ns);
  if (refusal) co_return refusal;
  co_return ReplyOf(wire::EncodePinList(
      co_await RunBlocking(blocking_, [&] { return ListPins(stack_, *pins); })));
}

}  // namespace stoker
