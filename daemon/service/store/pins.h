// Pinning entries of the cache by the first digits of their keys. Blocking.
#pragma once

#include "cache/stack/stack.h"
#include "protocol/base/result.h"
#include "protocol/wire/upkeep_messages.h"

namespace stoker {

// Pins, or unpins, the only entry of the namespace whose key starts so. NotFound: there is none, or
// none that is pinned. InvalidArgument: there are several. ResourceExhausted: limits. A capture key
// stands for what each writer has stored under it by now.
Result<wire::Pin> PinEntry(CacheStack& stack, const wire::PinRequest& request);
Result<wire::Pin> UnpinEntry(CacheStack& stack, const wire::PinRequest& request);

// Those of one namespace, or of all.
wire::PinList ListPins(CacheStack& stack, const wire::PinsRequest& request);

}  // namespace stoker
