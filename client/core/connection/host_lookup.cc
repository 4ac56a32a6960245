#include "client/core/connection/host_lookup.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "protocol/base/freed_by.h"

namespace stoker {
namespace {

// What the thread that asks and the one that waits share; the first may come back long after the
// second has gone.
struct Lookup {
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<int> code;
  Addresses addresses;
};

int AskSystem(const std::string& host, int flags, addrinfo** list) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  return getaddrinfo(host.c_str(), nullptr, &wanted, list);
}

Addresses Owned(addrinfo* list) { return std::unique_ptr<addrinfo, FreedBy<freeaddrinfo>>(list); }

Error Unresolved(const std::string& host, const std::string& why) {
  return Unavailable("Host '" + host + "' does not resolve" + why + ".");
}

}  // namespace

Result<Addresses> FindHost(const std::string& host, Transport::Clock::time_point moment,
                           Resolve resolve) {
  if (!resolve) resolve = AskSystem;
  addrinfo* list = nullptr;
  // What is an address already asks nobody.
  if (resolve(host, AI_NUMERICHOST, &list) == 0) return Owned(list);
  const auto begin = Transport::Clock::now();
  auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, host, resolve = std::move(resolve)] {
    addrinfo* found = nullptr;
    const int code = resolve(host, 0, &found);
    const std::lock_guard lock(lookup->mutex);
    lookup->code = code;
    lookup->addresses = Owned(found);
    lookup->ended.notify_one();
  }).detach();
  std::unique_lock lock(lookup->mutex);
  lookup->ended.wait_until(lock, moment, [&] { return lookup->code.has_value(); });
  if (!lookup->code) {
    const auto waited = std::chrono::ceil<std::chrono::milliseconds>(moment - begin);
    return Unresolved(host, " within " + std::to_string(waited.count()) + " ms");
  }
  if (*lookup->code != 0) return Unresolved(host, std::string(": ") + gai_strerror(*lookup->code));
  return lookup->addresses;
}

}  // namespace stoker
