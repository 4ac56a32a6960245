// The daemon's log: a line an event, to standard error or to a file.
#pragma once

#include <memory>
#include <string>

namespace stoker {

class Log {
 public:
  // Becomes spdlog's default logger. `file` empty: standard error. Throws what spdlog throws when
  // the file cannot be opened.
  Log(const std::string& file, const std::string& level);

  // Opens the file anew, which somebody may have moved aside: what logrotate expects of SIGHUP.
  void Reopen();

 private:
  struct State;
  const std::string file_;
  const std::shared_ptr<State> state_;
};

}  // namespace stoker
