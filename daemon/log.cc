#include "daemon/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace stoker {
namespace {

constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v";

spdlog::sink_ptr SinkOf(const std::string& file) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  }
  sink->set_pattern(kPattern);
  return sink;
}

}  // namespace

// A sink whose target can be exchanged while others write to it.
struct Log::State : spdlog::sinks::dist_sink_mt {
  using spdlog::sinks::dist_sink_mt::dist_sink_mt;
};

Log::Log(const std::string& file, const std::string& level)
    : file_(file), state_(std::make_shared<State>()) {
  state_->set_sinks({SinkOf(file)});
  auto logger = std::make_shared<spdlog::logger>("stokerd", state_);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void Log::Reopen() {
  try {
    state_->set_sinks({SinkOf(file_)});
    spdlog::info("log file opened anew");
  } catch (const spdlog::spdlog_ex& error) {
    spdlog::error("the log file cannot be opened anew: {}", error.what());
  }
}

}  // namespace stoker
