#include "client/core/client_config.h"

#include <charconv>
#include <filesystem>

#include "client/core/environment.h"

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

// Of packed weights, in `cache_dir`.
Result<cpu::PreparedStore::Options> PreparedOptionsIn(const std::string& cache_dir) {
  const std::string text = FirstOf("", "STOKER_PREPARED_MIB", "4096");
  std::int64_t mebibytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mebibytes);
  if (error != std::errc() || end != text.data() + text.size() || mebibytes < 0 ||
      mebibytes > kMaxMebibytes) {
    return InvalidArgument("STOKER_PREPARED_MIB is '" + text +
                           "'; a number of MiB from 0 (none) to " + std::to_string(kMaxMebibytes) +
                           " is expected.");
  }
  cpu::PreparedStore::Options options;
  options.folder = cache_dir + "/prepared";
  options.max_bytes = mebibytes << 20;
  return options;
}

}  // namespace

Result<ClientConfig> ResolveClientConfig(const ClientSettings& settings) {
  ClientConfig config;
  config.name_space =
      FirstOf(settings.name_space, "STOKER_NAMESPACE", std::string(wire::kDefaultNamespace));
  if (settings.connect_timeout_ms > 0) {
    config.daemon.connect_timeout = std::chrono::milliseconds(settings.connect_timeout_ms);
  }
  if (settings.compile_timeout_ms > 0) {
    config.daemon.compile_timeout = std::chrono::milliseconds(settings.compile_timeout_ms);
  }
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
