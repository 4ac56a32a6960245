#include "cache/rocks/database/space_reclaimer.h"

namespace stoker {

SpaceReclaimer::SpaceReclaimer(std::uint64_t threshold_bytes,
                               std::function<bool(std::atomic<bool>&)> compact)
    : threshold_bytes_(threshold_bytes), compact_(std::move(compact)), thread_([this] { Run(); }) {}

SpaceReclaimer::~SpaceReclaimer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SpaceReclaimer::AddGarbage(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  garbage_bytes_ += bytes;
  owed_bytes_ += bytes;
  if (garbage_bytes_ < threshold_bytes_) return;
  requested_ = true;
  changed_.notify_one();
}

void SpaceReclaimer::Request() {
  const std::lock_guard lock(mutex_);
  requested_ = true;
  changed_.notify_one();
}

std::uint64_t SpaceReclaimer::owed_bytes() const {
  const std::lock_guard lock(mutex_);
  return owed_bytes_;
}

void SpaceReclaimer::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return requested_ || stopping_; });
    if (stopping_) return;
    requested_ = false;
    garbage_bytes_ = 0;
    const std::uint64_t owed_bytes = owed_bytes_;
    lock.unlock();
    const bool is_given_back = compact_(stopping_);
    lock.lock();
    if (is_given_back) owed_bytes_ -= owed_bytes;
  }
}

}  // namespace stoker
