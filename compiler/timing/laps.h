// Laps: how long the steps of a compile take, one after the other on one thread.
//
//   Laps laps(sink, thread);
//   Fuse();   laps.End("fuse");
//   Lower();  laps.End("lower");
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace stoker {

struct CompileSpan {
  using Clock = std::chrono::steady_clock;

  std::string name;
  std::string detail;  // What it was done to; may be empty.
  int thread = 0;      // 0: the one that compiles; from 1: those that help it.
  Clock::time_point begin;
  Clock::time_point end;
};

// Called by any thread of a compile. Empty: nobody asks, and nothing is measured.
using SpanSink = std::function<void(CompileSpan)>;

class Laps {
 public:
  // `sink` must outlive it.
  explicit Laps(const SpanSink& sink, int thread = 0, std::string_view detail = "")
      : sink_(sink), thread_(thread), detail_(detail) {
    if (sink_) first_ = latest_ = CompileSpan::Clock::now();
  }
  Laps(const Laps&) = delete;
  Laps& operator=(const Laps&) = delete;

  // What was done since the last call, or the beginning.
  void End(std::string_view name) {
    if (sink_) Report(name, &latest_);
  }
  // All of it, from the beginning.
  void EndAll(std::string_view name) {
    if (sink_) Report(name, &first_);
  }

 private:
  // And begins anew.
  void Report(std::string_view name, CompileSpan::Clock::time_point* begin);

  const SpanSink& sink_;
  const int thread_;
  const std::string detail_;
  CompileSpan::Clock::time_point first_;
  CompileSpan::Clock::time_point latest_;
};

}  // namespace stoker
