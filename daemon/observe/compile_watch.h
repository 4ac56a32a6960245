// CompileWatch: follows one compile from when it is asked for to when it is stored. Used by one
// coroutine; its calls come in the order below.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "daemon/observe/caller.h"
#include "daemon/observe/observations.h"
#include "protocol/wire/messages.h"

namespace stoker {

class CompileWatch {
 public:
  // From here on it is among the active compiles.
  CompileWatch(std::shared_ptr<Observations> seen, const wire::CompileCall& call,
               const Caller& caller);
  ~CompileWatch();
  CompileWatch(const CompileWatch&) = delete;
  CompileWatch& operator=(const CompileWatch&) = delete;

  void OnPlace();  // Its turn has come.
  void OnSent();   // A worker has it. Again, if that one crashed.
  void OnProgress(const wire::Progress& progress);
  void OnMade(std::vector<wire::Span> spans);  // The worker has answered.
  void OnChecked();
  // It is stored, or was tried to be. Keeps the trace.
  void OnStored();

  // What there is to keep; OnChecked came.
  CompileTrace Take() &&;

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t NowUs() const;
  // A span of the daemon, since the last one.
  void Mark(std::string_view name);

  const std::shared_ptr<Observations> seen_;  // A coroutine's end may come after the service's.
  const ActiveCompiles::Id id_;
  const Clock::time_point begin_ = Clock::now();
  CompileTrace trace_;
  std::uint64_t marked_us_ = 0;
  bool was_sent_ = false;
};

}  // namespace stoker
