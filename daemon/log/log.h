// The daemon's log: a line an event, to standard error or to a file.
//
// As text: "2026-01-02T03:04:05.678Z info compiled request=7f3a graph='my net' seconds=1.5"; as
// JSON:
// {"time":"...","level":"info","message":"compiled","request":"7f3a",...}. Either way a line is a
// line, whatever clients put into their names.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/service/log_fields.h"

namespace stoker {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Hands a line to spdlog's default logger, whose headers cost every file that includes them
// seconds.
void WriteLine(LogLevel level, std::string_view line);

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  WriteLine(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  WriteLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  WriteLine(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  WriteLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

class Log {
 public:
  // Becomes spdlog's default logger. `file` empty: standard error. Throws what spdlog throws when
  // the file cannot be opened.
  Log(const std::string& file, const std::string& level, LogFormat format);

  // Opens the file anew, which somebody may have moved aside: what logrotate expects of SIGHUP.
  void Reopen();

 private:
  struct State;
  const std::string file_;
  const LogFormat format_;
  const std::shared_ptr<State> state_;
};

// What spdlog is handed of a message with fields, for Log's formats.
std::string LogPayload(std::string_view message, const LogFields& fields);

// A line's message and fields, from LogPayload or any other text.
std::string TextOfPayload(std::string_view payload);
std::string JsonOfPayload(std::string_view payload);  // `"message":"...","name":"..."`

}  // namespace stoker
