// TestDaemon: the whole daemon but for its process: a socket, the routes, the service, a cache in
// memory, and workers with the fake compiler.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/memory/memory_counter_store.h"
#include "daemon/admin/http_api.h"
#include "daemon/net/listener.h"
#include "protocol/wire/framing.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/daemon/service/coroutines.h"
#include "tests/unit/daemon/service/fake_compiler.h"
#include "tests/unit/temp_folder.h"

namespace stoker {

// One answer, its connection closed.
struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;  // Without chunking.

  // The error in it; an answer that has none fails the test that asks.
  wire::ErrorReply error() const {
    auto reply = wire::DecodeErrorReply(body);
    return reply.ok() ? *reply : wire::ErrorReply{ErrorCode::kInternal, "no ErrorReply", "?"};
  }
  // The events of a compile.
  std::vector<wire::CompileEvent> events() const {
    wire::FrameReader frames;
    frames.Feed(body);
    std::vector<wire::CompileEvent> events;
    while (auto frame = frames.Next().value()) {
      events.push_back(wire::DecodeCompileEvent(*frame).value());
    }
    return events;
  }
};

class TestDaemon {
 public:
  explicit TestDaemon(ServiceConfig config = Config(), net::ServerLimits limits = {},
                      AccessConfig access = {.own_uid = geteuid()},
                      std::vector<PublicKey> trusted_signers = {})
      : ring_(SigningKey::Make().value(), std::move(trusted_signers)) {
    setenv(kFolderVariable, folder_.path().c_str(), 1);
    stack_ = CacheStack::Open(StackConfig{}, nullptr).value();
    statistics_ = Statistics::Open(counter_store_).value();
    cache_counters_ = std::make_unique<CacheCounters>(*stack_, *statistics_);
    config.log.info = config.log.warn = [](std::string_view, const LogFields&) {};
    service_ =
        std::make_unique<CompileService>(coroutines_.io().get_executor(), coroutines_.blocking(),
                                         *stack_, *statistics_, ring_, std::move(config));
    pages_ = std::make_unique<AdminPages>(
        coroutines_.blocking(), *statistics_, history_, *cache_counters_, *service_,
        request_metrics_, std::uint64_t{1} << 30, [this] {
          return net::ServerCounts{server_->connections_by_state(), server_->kept_uploads()};
        });
    dashboard_ = std::make_unique<Dashboard>(*statistics_, history_, *service_);
    bazel_ = std::make_unique<BazelCache>(coroutines_.blocking(), *stack_, *statistics_);
    captures_ = std::make_unique<CapturesApi>(coroutines_.blocking(), *stack_, *statistics_);
    entries_ = std::make_unique<EntriesApi>(coroutines_.blocking(), *stack_, ring_);
    upkeep_ = std::make_unique<Upkeep>(
        *stack_, Upkeep::Config{.is_draining = [this] { return service_->draining(); },
                                .log = [](std::string_view) {}});
    upkeep_api_ = std::make_unique<UpkeepApi>(coroutines_.blocking(), *stack_, *upkeep_);
    access_ = AccessControl::Open(std::move(access)).value();
    api_ = std::make_unique<HttpApi>(*access_, *service_, *pages_, *dashboard_, *bazel_, *captures_,
                                     *entries_, *upkeep_api_, request_metrics_,
                                     [this] { quits_.fetch_add(1); });
    server_ = std::make_unique<net::Server>(*api_, limits);
    net::ListenAddress address;
    address.path = socket_path();
    STOKER_CHECK(server_->Listen(address).ok());
  }
  // Coroutines under way refer to everything else.
  ~TestDaemon() {
    server_->Stop();
    upkeep_->Stop();
    coroutines_.Stop();
  }

  static ServiceConfig Config() {
    ServiceConfig config;
    config.worker.program.path = STOKER_FAKE_WORKER;
    config.worker.program.variables.emplace_back(kFolderVariable);
    config.worker.program.memory_limit_mib = 512;
    return config;
  }

  std::string socket_path() const { return folder_.path() + "/s"; }
  CompileService& service() { return *service_; }
  CacheStack& stack() { return *stack_; }
  Statistics& statistics() { return *statistics_; }
  int quits() const { return quits_; }

  HttpAnswer Call(std::string_view method, std::string_view path, std::string_view body = "",
                  const std::string& headers = "") {
    net::TestPeer peer(socket_path());
    peer.Send(std::string(method) + " " + std::string(path) +
              " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + headers +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
    return Parse(peer.ReadAll());
  }
  HttpAnswer Compile(const wire::CompileCall& call) {
    return Call("POST", "/v1/compile", wire::EncodeCompileCall(call));
  }

 private:
  static HttpAnswer Parse(const std::string& bytes) {
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

  TempFolder folder_;
  MemoryCounterStore counter_store_;
  const KeyRing ring_;
  std::unique_ptr<CacheStack> stack_;
  std::unique_ptr<Statistics> statistics_;
  std::unique_ptr<CacheCounters> cache_counters_;
  std::atomic<int> quits_{0};
  Coroutines coroutines_;
  std::unique_ptr<CompileService> service_;
  RequestMetrics request_metrics_{HttpApi::RouteNames()};
  std::unique_ptr<AccessControl> access_;
  History history_{0, {}};  // Nothing is old: what is counted, is counted since.
  std::unique_ptr<AdminPages> pages_;
  std::unique_ptr<Dashboard> dashboard_;
  std::unique_ptr<BazelCache> bazel_;
  std::unique_ptr<CapturesApi> captures_;
  std::unique_ptr<Upkeep> upkeep_;
  std::unique_ptr<UpkeepApi> upkeep_api_;
  std::unique_ptr<EntriesApi> entries_;
  std::unique_ptr<HttpApi> api_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace stoker
