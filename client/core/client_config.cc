#include "client/core/client_config.h"

#include <charconv>
#include <filesystem>

#include "client/core/settings/environment.h"
#include "protocol/base/namespace.h"

namespace stoker {
namespace {

std::string FirstOf(const std::string& given, const char* variable, std::string fallback = "") {
  if (!given.empty()) return given;
  const std::string value = Environment(variable);
  return value.empty() ? fallback : value;
}

Result<std::string> CacheDirOf(const ClientSettings& settings) {
  if (settings.cache_dir.empty()) return DefaultCacheDir();
  return std::filesystem::absolute(settings.cache_dir).string();
}

constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 32;
constexpr std::int64_t kMaxAnswerTimeoutMs = 3600000;
// A slow daemon is worse than none: the job goes on without it.
constexpr char kAnswerTimeoutMs[] = "1000";

// Of a variable, or of `fallback` where it is unset. `expected`: "a number of MiB from 0 (none)".
Result<std::int64_t> NumberIn(const char* variable, const std::string& fallback, std::int64_t min,
                              std::int64_t max, const std::string& expected) {
  const std::string text = FirstOf("", variable, fallback);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
    return value;
  }
  return InvalidArgument(std::string(variable) + " is '" + text + "'; " + expected + " to " +
                         std::to_string(max) + " is expected.");
}

// Of packed weights, in `cache_dir`.
Result<cpu::PreparedStore::Options> PreparedOptionsIn(const std::string& cache_dir) {
  STOKER_TRY(const std::int64_t mebibytes, NumberIn("STOKER_PREPARED_MIB", "4096", 0, kMaxMebibytes,
                                                    "a number of MiB from 0 (none)"));
  cpu::PreparedStore::Options options;
  options.folder = cache_dir + "/prepared";
  options.max_bytes = mebibytes << 20;
  return options;
}

}  // namespace

Result<ClientConfig> ResolveClientConfig(const ClientSettings& settings) {
  ClientConfig config;
  if (const std::string path = Environment("STOKER_RECORD"); !path.empty()) {
    std::error_code code;
    const auto absolute = std::filesystem::absolute(path, code);
    config.manifest = code ? path : absolute.string();
  }
  config.name_space =
      FirstOf(settings.name_space, "STOKER_NAMESPACE", std::string(wire::kDefaultNamespace));
  STOKER_RETURN_IF_ERROR(CheckNamespace(config.name_space));
  if (settings.connect_timeout_ms > 0) {
    config.daemon.connect_timeout = std::chrono::milliseconds(settings.connect_timeout_ms);
  }
  if (settings.compile_timeout_ms > 0) {
    config.daemon.compile_timeout = std::chrono::milliseconds(settings.compile_timeout_ms);
  }
  STOKER_TRY(const std::int64_t answer_ms,
             NumberIn("STOKER_ANSWER_TIMEOUT_MS", kAnswerTimeoutMs, 1, kMaxAnswerTimeoutMs,
                      "a number of milliseconds from 1"));
  config.daemon.answer_timeout = std::chrono::milliseconds(answer_ms);
  if (const std::string url = FirstOf(settings.url, "STOKER_URL"); !url.empty()) {
    STOKER_TRY(config.daemon.url, DaemonUrl::Parse(url));
    // A private daemon is this user's own: it knows no tokens, and its key is pinned by nobody.
    STOKER_TRY(config.daemon.trust, DaemonTrustOfEnvironment());
    // A host without a home has no place for packed weights, and needs none.
    const auto cache_dir = CacheDirOf(settings);
    if (cache_dir.ok()) {
      STOKER_TRY(config.prepared, PreparedOptionsIn(*cache_dir));
    }
    STOKER_TRY(config.writers, WriterSettingsOfEnvironment(cache_dir.ok() ? *cache_dir : ""));
    return config;
  }
  STOKER_TRY(config.cache_dir, CacheDirOf(settings));
  STOKER_TRY(config.writers, WriterSettingsOfEnvironment(config.cache_dir));
  STOKER_TRY(config.prepared, PreparedOptionsIn(config.cache_dir));
  config.daemon.url = PrivateDaemonUrl(config.cache_dir);
  PrivateDaemonOptions private_daemon{config.cache_dir, ""};
  if (auto program = FindDaemonProgram(settings.stokerd); program.ok()) {
    private_daemon.program = *program;
  } else {
    private_daemon.program = settings.stokerd;  // Starting it says what is wrong with it.
    config.program_error = program.error().message;
  }
  config.daemon.private_daemon = std::move(private_daemon);
  return config;
}

}  // namespace stoker
