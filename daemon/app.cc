#include "daemon/app.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <thread>

#include "cache/stack.h"
#include "daemon/admin/admin_pages.h"
#include "daemon/admin/http_api.h"
#include "daemon/admin/version.h"
#include "daemon/net/listener.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int kNetworkThreads = 2;
constexpr int kBlockingThreads = 4;
constexpr auto kTick = 1s;
constexpr int kTicksPerMaintenance = 300;

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
  service.worker.memory_limit_mib = static_cast<std::uint64_t>(config.compile_memory_mib);
  return service;
}

// Once a second: counters to disk, housekeeping, the idle timeout and the end of draining.
class Housekeeper {
 public:
  Housekeeper(asio::io_context& io, asio::thread_pool& blocking, const Config& config,
              CacheStack& stack, Statistics& statistics, CompileService& service, AdminPages& pages,
              net::Server& server)
      : io_(io),
        blocking_(blocking),
        config_(config),
        stack_(stack),
        statistics_(statistics),
        service_(service),
        pages_(pages),
        server_(server),
        strand_(asio::make_strand(io)),
        timer_(strand_) {}

  void Start() {
    asio::post(strand_, [this] { ArmTimer(); });
  }

  // Stops accepting; the process ends when the running requests have.
  void Drain(const std::string& why) {
    asio::post(strand_, [this, why] {
      if (service_.draining()) return;
      spdlog::info("draining: {}", why);
      service_.Drain();
      server_.StopAccepting();
      drain_deadline_ =
          std::chrono::steady_clock::now() + std::chrono::seconds(config_.drain_timeout_s);
      CheckDrained();
    });
  }

 private:
  void ArmTimer() {
    timer_.expires_after(service_.draining() ? 10ms : std::chrono::milliseconds(kTick));
    timer_.async_wait([this](boost::system::error_code code) {
      if (!code) Tick();
    });
  }

  void Tick() {
    if (service_.draining()) {
      CheckDrained();
    } else {
      asio::post(blocking_, [this, maintain = ++ticks_ % kTicksPerMaintenance == 0] {
        if (const Status status = statistics_.Flush(); !status.ok()) {
          spdlog::warn("statistics: {}", status.error().message);
        }
        if (!maintain) return;
        if (const Status status = stack_.Maintain(); !status.ok()) {
          spdlog::warn("cache maintenance: {}", status.error().message);
        }
      });
      CheckIdle();
    }
    ArmTimer();
  }

  void CheckIdle() {
    const std::uint64_t requests = pages_.requests();
    if (requests != last_requests_ || service_.flights() > 0 || server_.active_requests() > 0) {
      last_requests_ = requests;
      idle_ticks_ = 0;
      return;
    }
    if (config_.idle_timeout_s > 0 && ++idle_ticks_ >= config_.idle_timeout_s) {
      Drain("idle for " + std::to_string(config_.idle_timeout_s) + " s");
    }
  }

  void CheckDrained() {
    const bool done = service_.flights() == 0 && server_.active_requests() == 0;
    if (done || std::chrono::steady_clock::now() > drain_deadline_) {
      if (!done) spdlog::warn("stopping with {} compiles running", service_.flights());
      io_.stop();
      return;
    }
    ArmTimer();
  }

  asio::io_context& io_;
  asio::thread_pool& blocking_;
  const Config& config_;
  CacheStack& stack_;
  Statistics& statistics_;
  CompileService& service_;
  AdminPages& pages_;
  net::Server& server_;
  asio::strand<asio::io_context::executor_type> strand_;  // Everything here runs on it.
  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>,
                             asio::strand<asio::io_context::executor_type>>
      timer_;
  std::chrono::steady_clock::time_point drain_deadline_;
  std::uint64_t last_requests_ = 0;
  std::int64_t idle_ticks_ = 0;
  int ticks_ = 0;
};

}  // namespace

Status RunApp(const Config& config) {
  SetUpLog(config);
  std::error_code code;
  std::filesystem::create_directories(config.cache_dir, code);
  if (code) {
    return FailedPrecondition("Cache folder '" + config.cache_dir +
                              "' cannot be made: " + code.message() + ".");
  }
  STOKER_TRY(const std::unique_ptr<CacheStack> stack,
             CacheStack::Open(StackConfigOf(config), nullptr));
  STOKER_TRY(const std::unique_ptr<Statistics> statistics, Statistics::Open(stack->counters()));

  asio::io_context io(kNetworkThreads);
  asio::thread_pool blocking(kBlockingThreads);
  CompileService service(io.get_executor(), blocking, *stack, *statistics, ServiceConfigOf(config));
  AdminPages pages(blocking, *stack, *statistics, service,
                   static_cast<std::uint64_t>(config.max_cache_bytes));
  std::function<void()> quit;
  HttpApi api(service, pages, [&quit] { quit(); });
  net::Server server(io.get_executor(), api, net::ServerLimits{});
  Housekeeper housekeeper(io, blocking, config, *stack, *statistics, service, pages, server);
  quit = [&housekeeper] { housekeeper.Drain("asked to quit"); };

  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code failed, int number) {
    if (!failed) housekeeper.Drain("signal " + std::to_string(number));
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
  if (const Status status = statistics->Flush(); !status.ok()) {
    spdlog::warn("statistics: {}", status.error().message);
  }
  spdlog::info("stopped");
  return Ok();
}

}  // namespace stoker
