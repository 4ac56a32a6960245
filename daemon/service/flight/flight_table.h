// FlightTable: at most one flight of a key in a namespace. Safe from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/service/flight/flight.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

class FlightTable {
 public:
  using Key = std::pair<std::string, Digest>;  // Namespace and request key.

  // Of flights that await their graph; those that have begun are jobs, which are limited.
  static constexpr std::size_t kMaxAwaiting = 4096;

  // The flight of this key, whether it has begun or not; or null.
  std::shared_ptr<Flight> Find(const Key& key);
  // The flight of this key, made to await its graph unless there is one. Null: too many do.
  std::shared_ptr<Flight> Join(const Key& key);
  // The flight of this key, which has begun. `*first`: by this call, once `admit` had no objection,
  // and the caller runs it.
  Result<std::shared_ptr<Flight>> Begin(const Key& key, const std::function<Status()>& admit,
                                        bool* first);
  // It has landed, or is about to.
  void Remove(const Key& key);

 private:
  void ForgetAbandonedLocked();

  std::mutex mutex_;  // Guards what follows.
  std::map<Key, std::shared_ptr<Flight>> flights_;
  std::size_t awaiting_ = 0;
};

}  // namespace stoker
