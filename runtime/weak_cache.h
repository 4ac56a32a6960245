// WeakCache: things that are made once per digest and shared for as long as anybody uses them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/fork_mutex.h"
#include "protocol/base/result.h"

namespace stoker {

// Thread-safe. Shared ownership: the cache must not keep alive what no executable uses any more.
template <typename T>
class WeakCache {
 public:
  // What is held under `digest`, or what `make()` (a Result<std::shared_ptr<const T>>) returns.
  // Makers run one at a time, so that nothing is made twice.
  template <typename Make>
  Result<std::shared_ptr<const T>> GetOrMake(const Digest& digest, Make make) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(digest);
    if (found != entries_.end()) {
      if (std::shared_ptr<const T> alive = found->second.lock()) return alive;
    }
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
    STOKER_TRY(std::shared_ptr<const T> made, make());
    entries_[digest] = made;
    return made;
  }

  // Null where nothing is held under it.
  std::shared_ptr<const T> Find(const Digest& digest) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(digest);
    return found == entries_.end() ? nullptr : found->second.lock();
  }
  // What is held under `digest`: `value`, where nothing was.
  std::shared_ptr<const T> Add(const Digest& digest, std::shared_ptr<const T> value) {
    return *GetOrMake(digest, [&]() -> Result<std::shared_ptr<const T>> { return value; });
  }

  // From now on `digest` does not stand for `value` any more, whoever still uses it.
  void Forget(const Digest& digest, const std::shared_ptr<const T>& value) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(digest);
    if (found != entries_.end() && found->second.lock() == value) entries_.erase(found);
  }

  // Digests of what is alive, sorted.
  std::vector<Digest> Keys() const {
    const std::lock_guard lock(mutex_);
    std::vector<Digest> keys;
    for (const auto& [digest, entry] : entries_) {
      if (!entry.expired()) keys.push_back(digest);
    }
    return keys;
  }

 private:
  mutable ForkMutex mutex_;
  std::map<Digest, std::weak_ptr<const T>> entries_;
};

}  // namespace stoker
