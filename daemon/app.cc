#include "daemon/app.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <thread>

#include "cache/stack.h"
#include "daemon/admin/admin_pages.h"
#include "daemon/admin/bazel_cache.h"
#include "daemon/admin/captures_api.h"
#include "daemon/admin/http_api.h"
#include "daemon/admin/version.h"
#include "daemon/folder_claim.h"
#include "daemon/housekeeper.h"
#include "daemon/net/listener.h"
#include "daemon/service/cache_counters.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics.h"

namespace stoker {
namespace {

namespace asio = boost::asio;

constexpr int kNetworkThreads = 2;
constexpr int kBlockingThreads = 4;
// For a daemon that drains: less than a client waits for the one it started.
constexpr std::chrono::seconds kHandOverPatience{8};

void SetUpLog(const Config& config) {
  spdlog::sink_ptr sink;
  if (config.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(config.log_file);
  }
  auto logger = std::make_shared<spdlog::logger>("stokerd", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(config.log_level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

StackConfig StackConfigOf(const Config& config) {
  StackConfig stack;
  stack.path = config.cache_dir + "/store";
  stack.max_bytes = static_cast<std::uint64_t>(config.max_cache_bytes);
  stack.memory_bytes = static_cast<std::uint64_t>(config.memory_cache_bytes);
  stack.log = [](std::string_view message) { spdlog::warn("cache: {}", message); };
  return stack;
}

ServiceConfig ServiceConfigOf(const Config& config) {
  ServiceConfig service;
  service.queue_limit = static_cast<int>(config.queue_limit);
  service.worker.max_workers = static_cast<int>(config.workers);
  service.worker.time_limit = std::chrono::seconds(config.compile_timeout_s);
  service.worker.program.memory_limit_mib = static_cast<std::uint64_t>(config.compile_memory_mib);
  service.log.info = [](std::string_view message) { spdlog::info("{}", message); };
  service.log.warn = [](std::string_view message) { spdlog::warn("{}", message); };
  return service;
}

}  // namespace

Status RunApp(const Config& config) {
  SetUpLog(config);
  std::error_code code;
  std::filesystem::create_directories(config.cache_dir, code);
  if (code) {
    return FailedPrecondition("Cache folder '" + config.cache_dir +
                              "' cannot be made: " + code.message() + ".");
  }
  STOKER_TRY(const std::unique_ptr<FolderClaim> claim,
             FolderClaim::Take(config.cache_dir, kHandOverPatience));
  STOKER_TRY(const std::unique_ptr<CacheStack> stack,
             CacheStack::Open(StackConfigOf(config), nullptr));
  STOKER_TRY(const std::unique_ptr<Statistics> statistics, Statistics::Open(stack->counters()));

  asio::io_context io(kNetworkThreads);
  asio::thread_pool blocking(kBlockingThreads);
  CacheCounters cache_counters(*stack, *statistics);
  CompileService service(io.get_executor(), blocking, *stack, *statistics, ServiceConfigOf(config));
  AdminPages pages(blocking, *statistics, cache_counters, service,
                   static_cast<std::uint64_t>(config.max_cache_bytes));
  BazelCache bazel(blocking, *stack, *statistics);
  std::function<void()> quit;
  CapturesApi captures(blocking, *stack, *statistics);
  HttpApi api(service, pages, bazel, captures, [&quit] { quit(); });
  net::Server server(io.get_executor(), api, net::ServerLimits{});
  Housekeeper housekeeper(io, blocking, config, *claim, *stack, *statistics, cache_counters,
                          service, pages, server);
  quit = [&housekeeper] { housekeeper.Drain("asked to quit"); };

  // The first signal drains; the second stops at once.
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code failed, int number) {
    if (failed) return;
    housekeeper.Drain("signal " + std::to_string(number));
    signals.async_wait([&io](boost::system::error_code again, int) {
      if (!again) io.stop();
    });
  });
  for (const std::string& text : config.listen) {
    STOKER_TRY(const net::ListenAddress address, net::ListenAddress::Parse(text));
    STOKER_TRY(const net::ListenAddress bound, server.Listen(address));
    spdlog::info("stokerd {} listens on {}", kDaemonVersion, bound.ToString());
  }
  housekeeper.Start();

  std::vector<std::thread> threads;
  for (int i = 1; i < kNetworkThreads; ++i) threads.emplace_back([&io] { io.run(); });
  io.run();
  for (std::thread& thread : threads) thread.join();
  blocking.join();
  cache_counters.Fold();
  if (const Status status = statistics->Flush(); !status.ok()) {
    spdlog::warn("statistics: {}", status.error().message);
  }
  spdlog::info("stopped");
  return Ok();
}

}  // namespace stoker
