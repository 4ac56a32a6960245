#include "client/core/client_config.h"

#include <cstdlib>
#include <filesystem>

namespace stoker {
namespace {

std::string FirstOf(const std::string& given, const char* variable, std::string fallback = "") {
  if (!given.empty()) return given;
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') return value;
  return fallback;
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
    return config;
  }
  if (settings.cache_dir.empty()) {
    STOKER_TRY(config.cache_dir, DefaultCacheDir());
  } else {
    config.cache_dir = std::filesystem::absolute(settings.cache_dir).string();
  }
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
