#include "daemon/service/failure/diagnostic_memory.h"

namespace stoker {

void DiagnosticMemory::Remember(const std::string& name_space, const Digest& request_key,
                                Error error) {
  const Clock::time_point now = now_();
  Key key{name_space, request_key};
  const std::lock_guard lock(mutex_);
  if (const auto it = by_key_.find(key); it != by_key_.end()) {
    by_age_.erase(it->second);
    by_key_.erase(it);
  }
  while (by_age_.size() >= kMaxDiagnostics) {
    by_key_.erase(by_age_.front().key);
    by_age_.pop_front();
  }
  by_age_.push_back({key, std::move(error), now + kLifetime});
  by_key_.emplace(std::move(key), std::prev(by_age_.end()));
}

std::optional<Error> DiagnosticMemory::Find(const std::string& name_space,
                                            const Digest& request_key) {
  const Clock::time_point now = now_();
  const std::lock_guard lock(mutex_);
  const auto it = by_key_.find({name_space, request_key});
  if (it == by_key_.end()) return std::nullopt;
  if (now < it->second->end) return it->second->error;
  by_age_.erase(it->second);
  by_key_.erase(it);
  return std::nullopt;
}

}  // namespace stoker
