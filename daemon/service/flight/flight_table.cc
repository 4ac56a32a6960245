#include "daemon/service/flight/flight_table.h"

namespace stoker {

std::shared_ptr<Flight> FlightTable::Find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(key);
  return it == flights_.end() ? nullptr : it->second;
}

std::shared_ptr<Flight> FlightTable::Join(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (const auto it = flights_.find(key); it != flights_.end()) return it->second;
  if (awaiting_ >= kMaxAwaiting) ForgetAbandonedLocked();
  if (awaiting_ >= kMaxAwaiting) return nullptr;
  ++awaiting_;
  return flights_.emplace(key, std::make_shared<Flight>()).first->second;
}

Result<std::shared_ptr<Flight>> FlightTable::Begin(const Key& key,
                                                   const std::function<Status()>& admit,
                                                   bool* first) {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(key);
  *first = it == flights_.end() || !it->second->has_begun();
  if (!*first) return it->second;
  STOKER_RETURN_IF_ERROR(admit());
  std::shared_ptr<Flight> flight;
  if (it == flights_.end()) {
    flight = flights_.emplace(key, std::make_shared<Flight>()).first->second;
  } else {
    flight = it->second;
    --awaiting_;
  }
  flight->Begin();
  return flight;
}

void FlightTable::Remove(const Key& key) {
  const std::lock_guard lock(mutex_);
  flights_.erase(key);
}

void FlightTable::ForgetAbandonedLocked() {
  const auto now = Flight::Clock::now();
  awaiting_ -=
      std::erase_if(flights_, [&](const auto& entry) { return entry.second->IsAbandoned(now); });
}

}  // namespace stoker
