#include "daemon/service/store/pins.h"

#include <string>
#include <string_view>
#include <vector>

#include "cache/clock.h"
#include "daemon/service/store/capture_store.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

static_assert(kMaxPins <= wire::kMaxPins);

wire::Pin PinOf(const PinnedEntry& entry) {
  return {.ns = entry.name_space,
          .key = entry.key,
          .kind = std::string(BlobKindName(entry.kind)),
          .label = entry.label,
          .size_bytes = entry.bytes,
          .pinned_unix_s = static_cast<double>(entry.pinned_unix_ns) / kNanosPerSecond};
}

// The only one of `keys`.
Result<Digest> OnlyOf(const std::vector<Digest>& keys, const wire::PinRequest& request,
                      std::string_view what) {
  if (keys.empty()) {
    return NotFound("No " + std::string(what) + " of namespace '" + request.ns + "' starts with '" +
                    request.key_prefix + "'.");
  }
  if (keys.size() == 1) return keys.front();
  return InvalidArgument("Field 'pin.key_prefix' is '" + request.key_prefix +
                         "', with which several "
                         "keys of namespace '" +
                         request.ns + "' start: " + keys[0].ToHex() + ", " + keys[1].ToHex() + ".");
}

Result<Digest> FindStored(CacheStack& stack, const wire::PinRequest& request) {
  if (request.key_prefix.size() == 2 * Digest::kSize) return Digest::FromHex(request.key_prefix);
  std::vector<Digest> keys;
  STOKER_RETURN_IF_ERROR(stack.actions().Visit(
      request.ns, [&](std::string_view, const Digest& key, const ActionEntry&) {
        if (key.ToHex().starts_with(request.key_prefix)) keys.push_back(key);
        return keys.size() < 2;
      }));
  return OnlyOf(keys, request, "stored key");
}

Result<PinnedEntry> FindPinned(CacheStack& stack, const wire::PinRequest& request) {
  std::vector<Digest> keys;
  PinnedEntry found;
  for (const PinnedEntry& pin : stack.pins().Pins()) {
    if (pin.name_space != request.ns || !pin.key.ToHex().starts_with(request.key_prefix)) continue;
    keys.push_back(pin.key);
    found = pin;
  }
  STOKER_RETURN_IF_ERROR(OnlyOf(keys, request, "pinned key"));
  return found;
}

}  // namespace

Result<wire::Pin> PinEntry(CacheStack& stack, const wire::PinRequest& request) {
  STOKER_TRY(const Digest key, FindStored(stack, request));
  STOKER_RETURN_IF_ERROR(stack.pins().Pin(request.ns, key));
  for (const Digest& list : CaptureStore(stack).ListKeys(request.ns, key)) {
    STOKER_RETURN_IF_ERROR(stack.pins().Pin(request.ns, list));
  }
  wire::PinRequest whole = request;
  whole.key_prefix = key.ToHex();
  STOKER_TRY(const PinnedEntry pinned, FindPinned(stack, whole));
  return PinOf(pinned);
}

Result<wire::Pin> UnpinEntry(CacheStack& stack, const wire::PinRequest& request) {
  STOKER_TRY(const PinnedEntry pinned, FindPinned(stack, request));
  STOKER_RETURN_IF_ERROR(stack.pins().Unpin(pinned.name_space, pinned.key));
  for (const Digest& list : CaptureStore(stack).ListKeys(request.ns, pinned.key)) {
    const Status unpinned = stack.pins().Unpin(request.ns, list);  // Written to since, perhaps.
    if (!unpinned.ok() && unpinned.error().code != ErrorCode::kNotFound) return unpinned.error();
  }
  return PinOf(pinned);
}

wire::PinList ListPins(CacheStack& stack, const wire::PinsRequest& request) {
  wire::PinList list;
  for (const PinnedEntry& pin : stack.pins().Pins()) {
    if (request.ns.empty() || pin.name_space == request.ns) list.pins.push_back(PinOf(pin));
  }
  const PinUsage usage = stack.pins().usage();
  list.bytes = usage.bytes;
  list.limit_bytes = usage.limit_bytes;
  return list;
}

}  // namespace stoker
