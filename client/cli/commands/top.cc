// top: what a daemon does, live.
#include <fmt/core.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "client/cli/commands/arguments.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/top_view.h"
#include "client/cli/output/format.h"
#include "client/cli/output/terminal.h"

namespace stoker::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

TopSample Look(Client& client) {
  // Of a daemon that runs: who looks starts none.
  const auto get = [&](const char* path) { return json::parse(client.Probe(path)); };
  TopSample sample;
  sample.status = get("/status");
  sample.unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  sample.last_minute = get("/status?since=60");
  sample.last_five = get("/status?since=300");
  sample.last_fifteen = get("/status?since=900");
  return sample;
}

// Looks at the daemon beside the thread that reads keys: one that hangs keeps nobody from leaving.
// Lives as long as the process.
class Looker {
 public:
  explicit Looker(Client& client) : client_(client), ready_(eventfd(0, EFD_CLOEXEC)) {
    std::thread([this] { Run(); }).detach();
  }

  // Can be read when an answer is there.
  int descriptor() const { return ready_; }
  // Looks once more, unless it does.
  void Ask() {
    const std::lock_guard lock(mutex_);
    is_asked_ = true;
    asked_.notify_one();
  }
  // The answer, or why there is none.
  std::pair<std::optional<TopSample>, std::string> Take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(ready_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return {std::exchange(sample_, std::nullopt), std::exchange(error_, "")};
  }

 private:
  void Run() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        asked_.wait(lock, [this] { return is_asked_; });
        is_asked_ = false;
      }
      std::optional<TopSample> sample;
      std::string error;
      try {
        sample = Look(client_);
      } catch (const std::exception& e) {
        error = e.what();
      }
      {
        const std::lock_guard lock(mutex_);
        sample_ = std::move(sample);
        error_ = std::move(error);
      }
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t n = write(ready_, &one, sizeof one);
    }
  }

  Client& client_;
  const int ready_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable asked_;
  bool is_asked_ = false;
  std::optional<TopSample> sample_;
  std::string error_;
};

int PrintOnce(Client& client, std::chrono::milliseconds interval) {
  constexpr std::chrono::milliseconds kLongest{1000};
  TopFrame frame;
  frame.has_keys = false;
  frame.before = Look(client);
  std::this_thread::sleep_for(std::min(interval, kLongest));
  frame.now = Look(client);
  fmt::print("{}", RenderTop(frame, 0, 0));
  return 0;
}

// What a key asks for; false: to leave.
bool Obey(char key, TopFrame& frame) {
  if (key == 'q') return false;
  if (key == 'p') frame.is_paused = !frame.is_paused;
  if (key == 's') frame.sort = After(frame.sort);
  return true;
}

void TakeAnswer(Looker& looker, TopFrame& frame) {
  auto [sample, error] = looker.Take();
  frame.error = std::move(error);
  if (!sample) return;
  frame.before = std::exchange(frame.now, *std::move(sample));
}

// The signal that ended it, or 0.
int Watch(Looker& looker, FullScreen& screen, TopSample first, std::chrono::milliseconds interval) {
  TopFrame frame;
  frame.now = std::move(first);
  Clock::time_point next = Clock::now() + interval;
  while (true) {
    const FullScreen::Size size = screen.size();
    screen.Show(RenderTop(frame, static_cast<std::size_t>(size.rows),
                          static_cast<std::size_t>(size.columns)));
    const auto wait = std::max(std::chrono::milliseconds(0),
                               std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()));
    const FullScreen::Happened happened =
        screen.Wait(static_cast<int>(wait.count()), looker.descriptor());
    switch (happened.event) {
      case FullScreen::Event::kEnd:
        return happened.signal;
      case FullScreen::Event::kKey:
        if (!Obey(happened.key, frame)) return 0;
        break;
      case FullScreen::Event::kDescriptor:
        TakeAnswer(looker, frame);
        break;
      case FullScreen::Event::kResized:
      case FullScreen::Event::kTime:
        break;
    }
    if (Clock::now() < next) continue;
    next = Clock::now() + interval;
    if (!frame.is_paused) looker.Ask();
  }
}

int RunTop(Client& client, std::chrono::milliseconds interval, bool once) {
  if (once || isatty(STDOUT_FILENO) == 0) return PrintOnce(client, interval);
  TopSample first = Look(client);  // Where nobody answers, that is the whole answer.
  const sigset_t signals = SignalsOfScreens();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Before there is a second thread.
  Looker looker(client);
  int number = 0;
  {
    FullScreen screen;
    number = Watch(looker, screen, std::move(first), interval);
  }
  if (number != 0) {
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(number);
  }
  std::_Exit(0);  // It may be looking still.
}

}  // namespace

void AddTop(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "top",
      "What the daemon does, live: hit rate, compiles under way, queue, cache, busiest jobs and "
      "models. Keys: q quit, p pause, s sort");
  auto interval_s = std::make_shared<double>(2);
  auto once = std::make_shared<bool>(false);
  sub->add_option("--interval", *interval_s, "Seconds between two looks")
      ->transform(DecimalNumber(0.1, 3600))
      ->capture_default_str();
  sub->add_flag("--once", *once, "Print it once, as where standard output is no terminal");
  sub->callback([&command, interval_s, once] {
    command = [interval_s, once](Client& client) {
      const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::duration<double>(*interval_s));
      return RunTop(client, interval, *once);
    };
  });
}

}  // namespace stoker::cli
