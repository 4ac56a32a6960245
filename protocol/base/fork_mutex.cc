#include "protocol/base/fork_mutex.h"

#include <pthread.h>

#include <new>

namespace stoker {

// Of the process. Never ends: threads may outlive the destructors of main().
class ForkMutexes {
 public:
  static ForkMutexes& Get() {
    static ForkMutexes* const all = new ForkMutexes;
    return *all;
  }

  void Add(ForkMutex& mutex) {
    const std::lock_guard lock(mutex_);
    mutex.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &mutex;
    first_ = &mutex;
  }

  void Remove(ForkMutex& mutex) {
    const std::lock_guard lock(mutex_);
    (mutex.previous_ == nullptr ? first_ : mutex.previous_->next_) = mutex.next_;
    if (mutex.next_ != nullptr) mutex.next_->previous_ = mutex.previous_;
  }

 private:
  ForkMutexes() {
    pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                   [] { Get().Renew(); });
  }

  // In a forked process, by the only thread.
  void Renew() {
    for (ForkMutex* each = first_; each != nullptr; each = each->next_) {
      new (&each->mutex_) std::mutex;
    }
    mutex_.unlock();
  }

  std::mutex mutex_;
  ForkMutex* first_ = nullptr;
};

ForkMutex::ForkMutex() { ForkMutexes::Get().Add(*this); }

ForkMutex::~ForkMutex() { ForkMutexes::Get().Remove(*this); }

}  // namespace stoker
