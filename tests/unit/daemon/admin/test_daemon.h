// TestDaemon: the whole daemon but for its process: a socket, the routes, the service, a cache in
// memory, and workers with the fake compiler. A test includes what it asks of these.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/access_control.h"
#include "daemon/net/http/limits.h"
#include "protocol/wire/messages.h"
#include "tests/unit/daemon/service/fake_compiler.h"

namespace stoker {

class CacheStack;
class CompileService;
struct ServiceConfig;
class Statistics;

// One answer, its connection closed.
struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;  // Without chunking.

  // The error in it; an answer that has none fails the test that asks.
  wire::ErrorReply error() const;
  // The events of a compile.
  std::vector<wire::CompileEvent> events() const;
};

class TestDaemon {
 public:
  TestDaemon();
  explicit TestDaemon(ServiceConfig config, net::ServerLimits limits = {},
                      AccessConfig access = {.own_uid = geteuid()},
                      std::vector<PublicKey> trusted_signers = {});
  ~TestDaemon();

  static ServiceConfig Config();

  std::string socket_path() const;
  CompileService& service();
  CacheStack& stack();
  Statistics& statistics();
  int quits() const;

  HttpAnswer Call(std::string_view method, std::string_view path, std::string_view body = "",
                  const std::string& headers = "");
  HttpAnswer Compile(const wire::CompileCall& call);

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace stoker
