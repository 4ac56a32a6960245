#include "daemon/log/log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/nowide/utf/utf.hpp>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "protocol/base/check.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %*";
constexpr const char* kJsonPattern = "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%*}";
// Between a message and its fields in a payload: names and values alternate.
constexpr char kSeparator = '\x1f';

// Whether terminals obey it rather than show it: control characters, ends of lines, and Unicode's
// Bidi_Control, behind which the rest of a line is shown in another order.
bool Steers(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// What steers and these are escaped, as JSON has it.
std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  const std::string valid = wire::ToValidUtf8(text);
  for (auto at = valid.begin(); at != valid.end();) {
    const auto start = at;
    const std::uint32_t c = boost::nowide::utf::utf_traits<char>::decode_valid(at);
    if (Steers(c)) {
      escaped += fmt::format("\\u{:04x}", c);
      continue;
    }
    if (special.find(*start) != std::string_view::npos) escaped += '\\';
    escaped.append(start, at);
  }
  return escaped;
}

// Quoted where a reader could take it for more than one value.
std::string TextValue(std::string_view value) {
  const std::string shown = Escaped(value, "");
  const bool is_plain = !shown.empty() && shown.find_first_of(" '\"=\\") == std::string::npos;
  return is_plain ? shown : "'" + Escaped(value, "'\\") + "'";
}

std::vector<std::string_view> PartsOf(std::string_view payload) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = payload.find(kSeparator);
    parts.push_back(payload.substr(0, end));
    if (end == std::string_view::npos) return parts;
    payload.remove_prefix(end + 1);
  }
}

// %* of the patterns.
class PayloadFlag : public spdlog::custom_flag_formatter {
 public:
  explicit PayloadFlag(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    const std::string text =
        format_ == LogFormat::kJson ? JsonOfPayload(payload) : TextOfPayload(payload);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PayloadFlag>(format_);
  }

 private:
  const LogFormat format_;
};

// A pipe that nobody reads would be waited for at its opening.
void RequireNoWait(const std::string& file) {
  const FileDescriptor probe(open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!probe && errno == ENXIO) {
    throw spdlog::spdlog_ex("Log file '" + file + "' is a pipe that nobody reads.");
  }
}

spdlog::sink_ptr SinkOf(const std::string& file, LogFormat format) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    RequireNoWait(file);
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  }
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<PayloadFlag>('*', format);
  formatter->set_pattern(format == LogFormat::kJson ? kJsonPattern : kTextPattern);
  sink->set_formatter(std::move(formatter));
  return sink;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  STOKER_CHECK(false);
}

}  // namespace

void WriteLine(LogLevel level, std::string_view line) {
  spdlog::default_logger_raw()->log(SpdlogLevel(level), line);
}

std::string LogPayload(std::string_view message, const LogFields& fields) {
  std::string payload;
  const auto append = [&](std::string_view part) {
    std::string clean(part);
    std::replace(clean.begin(), clean.end(), kSeparator, '?');
    payload += clean;
  };
  append(message);
  for (const auto& [name, value] : fields) {
    payload += kSeparator;
    append(name);
    payload += kSeparator;
    append(value);
  }
  return payload;
}

std::string TextOfPayload(std::string_view payload) {
  const std::vector<std::string_view> parts = PartsOf(payload);
  std::string text = Escaped(parts[0], "");
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
    text += " " + std::string(parts[i]) + "=" + TextValue(parts[i + 1]);
  }
  return text;
}

std::string JsonOfPayload(std::string_view payload) {
  const std::vector<std::string_view> parts = PartsOf(payload);
  const auto quoted = [](std::string_view text) { return "\"" + Escaped(text, "\"\\") + "\""; };
  std::string json = "\"message\":" + quoted(parts[0]);
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) {
    json += "," + quoted(parts[i]) + ":" + quoted(parts[i + 1]);
  }
  return json;
}

// A sink whose target can be exchanged while others write to it.
struct Log::State : spdlog::sinks::dist_sink_mt {
  using spdlog::sinks::dist_sink_mt::dist_sink_mt;
};

Log::Log(const std::string& file, const std::string& level, LogFormat format)
    : file_(file), format_(format), state_(std::make_shared<State>()) {
  state_->set_sinks({SinkOf(file, format)});
  auto logger = std::make_shared<spdlog::logger>("stokerd", state_);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void Log::Reopen() {
  try {
    state_->set_sinks({SinkOf(file_, format_)});
    spdlog::info("log file opened anew");
  } catch (const spdlog::spdlog_ex& error) {
    spdlog::error("the log file cannot be opened anew: {}", error.what());
  }
}

}  // namespace stoker
