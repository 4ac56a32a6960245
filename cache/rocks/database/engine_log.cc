#include "cache/rocks/database/engine_log.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace stoker {
namespace {

constexpr std::size_t kMaxMessageBytes = 512;  // A longer one is cut.
constexpr std::chrono::minutes kPeriod(1);

}  // namespace

EngineLog::EngineLog(std::function<void(std::string_view)> log, Clock clock)
    : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL),
      log_(std::move(log)),
      clock_(std::move(clock)) {}

void EngineLog::Logv(const char* format, va_list arguments) {
  if (!log_ || !IsDue(format)) return;
  std::array<char, kMaxMessageBytes> text = {};
  if (std::vsnprintf(text.data(), text.size(), format, arguments) < 0) return;
  std::string message = text.data();
  while (message.ends_with('\n')) message.pop_back();
  log_("RocksDB: " + message);
}

bool EngineLog::IsDue(const char* format) {
  const auto now = clock_();
  const std::lock_guard lock(mutex_);
  const auto [said, is_new] = said_.try_emplace(format, now);
  if (!is_new && now - said->second < kPeriod) return false;
  said->second = now;
  return true;
}

}  // namespace stoker
