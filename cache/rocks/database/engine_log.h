// What RocksDB says of itself. It goes where all else is said: its own log file is on the cache's
// disk, and a message that finds this disk full ends the process (RocksDB 7.8, built with
// assertions).
#pragma once

#include <rocksdb/env.h>

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace stoker {

// Errors only, and each kind of them once a minute: on a full disk they come every few seconds.
// Thread-safe.
class EngineLog : public rocksdb::Logger {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit EngineLog(std::function<void(std::string_view)> log,
                     Clock clock = std::chrono::steady_clock::now);

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

 private:
  bool IsDue(const char* format);

  const std::function<void(std::string_view)> log_;  // May be empty.
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point> said_;  // By format.
};

}  // namespace stoker
