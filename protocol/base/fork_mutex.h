// ForkMutex: a mutex that is open in a forked process, whoever held it in the first one: that
// thread is not there.
#pragma once

#include <mutex>

namespace stoker {

// What it guards is in order at every moment at which another thread may fork. Not for a condition
// variable.
class ForkMutex {
 public:
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend class ForkMutexes;
  std::mutex mutex_;
  ForkMutex* previous_ = nullptr;  // All of the process, in a list.
  ForkMutex* next_ = nullptr;
};

}  // namespace stoker
