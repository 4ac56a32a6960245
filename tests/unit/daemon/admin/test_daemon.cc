#include "tests/unit/daemon/admin/test_daemon.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "cache/memory/memory_counter_store.h"
#include "daemon/admin/http_api.h"
#include "daemon/net/listener.h"
#include "protocol/wire/framing.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/daemon/service/coroutines.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

HttpAnswer Parse(const std::string& bytes) {
  HttpAnswer answer;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string::npos) return answer;
  answer.status = std::atoi(bytes.c_str() + 9);
  answer.head = bytes.substr(0, end + 2);
  answer.body = bytes.substr(end + 4);
  if (answer.head.find("Transfer-Encoding: chunked") == std::string::npos) return answer;
  std::string whole;
  for (std::size_t at = 0; at < answer.body.size();) {
    const std::size_t size = std::strtoul(answer.body.c_str() + at, nullptr, 16);
    if (size == 0) break;
    at = answer.body.find("\r\n", at) + 2;
    whole += answer.body.substr(at, size);
    at += size + 2;
  }
  answer.body = std::move(whole);
  return answer;
}

}  // namespace

wire::ErrorReply HttpAnswer::error() const {
  auto reply = wire::DecodeErrorReply(body);
  return reply.ok() ? *reply : wire::ErrorReply{ErrorCode::kInternal, "no ErrorReply", "?"};
}

std::vector<wire::CompileEvent> HttpAnswer::events() const {
  wire::FrameReader frames;
  frames.Feed(body);
  std::vector<wire::CompileEvent> events;
  while (auto frame = frames.Next().value()) {
    events.push_back(wire::DecodeCompileEvent(*frame).value());
  }
  return events;
}

struct TestDaemon::Parts {
  Parts(ServiceConfig config, net::ServerLimits limits, AccessConfig access_config,
        std::vector<PublicKey> trusted_signers)
      : ring(SigningKey::Make().value(), std::move(trusted_signers)) {
    setenv(kFolderVariable, folder.path().c_str(), 1);
    stack = CacheStack::Open(StackConfig{}, nullptr).value();
    statistics = Statistics::Open(counter_store).value();
    cache_counters = std::make_unique<CacheCounters>(*stack, *statistics);
    config.log.info = config.log.warn = [](std::string_view, const LogFields&) {};
    service =
        std::make_unique<CompileService>(coroutines.io().get_executor(), coroutines.blocking(),
                                         *stack, *statistics, ring, std::move(config));
    pages = std::make_unique<AdminPages>(
        coroutines.blocking(), *statistics, history, *cache_counters, *service, request_metrics,
        std::uint64_t{1} << 30, [this] {
          return net::ServerCounts{server->connections_by_state(), server->kept_uploads()};
        });
    dashboard = std::make_unique<Dashboard>(*statistics, history, *service);
    bazel = std::make_unique<BazelCache>(coroutines.blocking(), *stack, *statistics);
    captures = std::make_unique<CapturesApi>(coroutines.blocking(), *stack, *statistics);
    entries = std::make_unique<EntriesApi>(coroutines.blocking(), *stack, ring);
    upkeep = std::make_unique<Upkeep>(
        *stack, Upkeep::Config{.is_draining = [this] { return service->draining(); },
                               .log = [](std::string_view) {}});
    upkeep_api = std::make_unique<UpkeepApi>(coroutines.blocking(), *stack, *upkeep);
    access = AccessControl::Open(std::move(access_config)).value();
    api = std::make_unique<HttpApi>(*access, *service, *pages, *dashboard, *bazel, *captures,
                                    *entries, *upkeep_api, request_metrics,
                                    [this] { quits.fetch_add(1); });
    server = std::make_unique<net::Server>(*api, limits);
    net::ListenAddress address;
    address.path = socket_path();
    STOKER_CHECK(server->Listen(address).ok());
  }
  // Coroutines under way refer to everything else.
  ~Parts() {
    server->Stop();
    upkeep->Stop();
    coroutines.Stop();
  }

  std::string socket_path() const { return folder.path() + "/s"; }

  TempFolder folder;
  MemoryCounterStore counter_store;
  const KeyRing ring;
  std::unique_ptr<CacheStack> stack;
  std::unique_ptr<Statistics> statistics;
  std::unique_ptr<CacheCounters> cache_counters;
  std::atomic<int> quits{0};
  Coroutines coroutines;
  std::unique_ptr<CompileService> service;
  RequestMetrics request_metrics{HttpApi::RouteNames()};
  std::unique_ptr<AccessControl> access;
  History history{0, {}};  // Nothing is old: what is counted, is counted since.
  std::unique_ptr<AdminPages> pages;
  std::unique_ptr<Dashboard> dashboard;
  std::unique_ptr<BazelCache> bazel;
  std::unique_ptr<CapturesApi> captures;
  std::unique_ptr<Upkeep> upkeep;
  std::unique_ptr<UpkeepApi> upkeep_api;
  std::unique_ptr<EntriesApi> entries;
  std::unique_ptr<HttpApi> api;
  std::unique_ptr<net::Server> server;
};

TestDaemon::TestDaemon() : TestDaemon(Config()) {}

TestDaemon::TestDaemon(ServiceConfig config, net::ServerLimits limits, AccessConfig access,
                       std::vector<PublicKey> trusted_signers)
    : parts_(std::make_unique<Parts>(std::move(config), limits, std::move(access),
                                     std::move(trusted_signers))) {}

TestDaemon::~TestDaemon() = default;

ServiceConfig TestDaemon::Config() {
  ServiceConfig config;
  config.worker.program.path = STOKER_FAKE_WORKER;
  config.worker.program.variables.emplace_back(kFolderVariable);
  config.worker.program.memory_limit_mib = 512;
  return config;
}

std::string TestDaemon::socket_path() const { return parts_->socket_path(); }
CompileService& TestDaemon::service() { return *parts_->service; }
CacheStack& TestDaemon::stack() { return *parts_->stack; }
Statistics& TestDaemon::statistics() { return *parts_->statistics; }
int TestDaemon::quits() const { return parts_->quits; }

HttpAnswer TestDaemon::Call(std::string_view method, std::string_view path, std::string_view body,
                            const std::string& headers) {
  net::TestPeer peer(socket_path());
  peer.Send(std::string(method) + " " + std::string(path) +
            " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + headers +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  return Parse(peer.ReadAll());
}

HttpAnswer TestDaemon::Compile(const wire::CompileCall& call) {
  return Call("POST", "/v1/compile", wire::EncodeCompileCall(call));
}

}  // namespace stoker
