#include "client/python/guard_program/python/every_call.h"

// Set by the linker, for sections whose name is one of C.
extern "C" const char __start_stoker_every_call[], __stop_stoker_every_call[];

namespace stoker::guards {

STOKER_EVERY_CALL void PrefetchEveryCall() {
  Prefetch(__start_stoker_every_call,
           static_cast<std::size_t>(__stop_stoker_every_call - __start_stoker_every_call));
}

}  // namespace stoker::guards
