#include "runtime/cpu/background_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace stoker::cpu {
namespace {

constexpr int kNice = 10;

}  // namespace

struct BackgroundThread::State {
  explicit State(std::chrono::milliseconds wait) : patience(wait) {}

  const std::chrono::milliseconds patience;
  std::atomic<int> waiting{0};  // How many wait for the tasks.
  std::mutex mutex;             // Guards what follows.
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // The first is under way.
  bool is_closing = false;
  std::thread thread;
};

BackgroundThread::BackgroundThread(std::chrono::milliseconds patience)
    : process_(getpid()), state_(std::make_unique<State>(patience)) {}

BackgroundThread::~BackgroundThread() {
  if (IsElsewhere()) {
    // The thread and whatever it holds are the parent's: waiting for them would never end.
    static_cast<void>(state_.release());
    return;
  }
  ++state_->waiting;
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closing = true;
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

bool BackgroundThread::IsElsewhere() const { return getpid() != process_; }
bool BackgroundThread::IsAwaited() const { return state_->waiting > 0; }

void BackgroundThread::Post(std::function<void()> task) {
  if (IsElsewhere()) return;
  const std::lock_guard lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (!state_->thread.joinable()) {
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state_->thread = std::thread([&state = *state_] { Work(state); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  state_->changed.notify_all();
}

bool BackgroundThread::Drain(std::chrono::milliseconds timeout) {
  if (IsElsewhere()) return true;
  ++state_->waiting;
  state_->changed.notify_all();
  std::unique_lock lock(state_->mutex);
  const bool is_done =
      state_->changed.wait_for(lock, timeout, [this] { return state_->tasks.empty(); });
  --state_->waiting;
  return is_done;
}

void BackgroundThread::Work(State& state) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock, [&] { return state.is_closing || !state.tasks.empty(); });
    if (state.tasks.empty()) return;
    state.changed.wait_for(lock, state.patience, [&] { return state.waiting > 0; });
    const std::function<void()>& task = state.tasks.front();  // Stays there while others come.
    lock.unlock();
    task();
    lock.lock();
    state.tasks.pop_front();
    state.changed.notify_all();
  }
}

}  // namespace stoker::cpu
