// PreparedStore: prepared memory that outlives the process that made it.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/base/digest.h"
#include "runtime/device_memory.h"
#include "runtime/queue.h"

namespace stoker {

// Thread-safe. Nothing here fails a call: without the store it takes longer.
class PreparedStore {
 public:
  virtual ~PreparedStore() = default;

  // Is prepared memory of this size kept?
  virtual bool Takes(std::int64_t bytes) const = 0;

  // The memory kept under `key`, if it has `bytes` bytes and is whole.
  virtual std::optional<DeviceMemory> Find(const Digest& key, std::int64_t bytes, Queue& queue) = 0;

  // May go on after the call: holds the memory until it is kept.
  virtual void Keep(const Digest& key, DeviceMemory memory) = 0;
};

}  // namespace stoker
