#include "daemon/housekeeping/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::MatchesRegex;

// What listens at NOTIFY_SOCKET.
class FakeManager {
 public:
  explicit FakeManager(std::string place)
      : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    setenv("NOTIFY_SOCKET", place.c_str(), 1);
    if (place.front() == '@') place.front() = '\0';
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(place.begin(), place.end(), address.sun_path);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  }

  // The next thing that was said; empty: nothing.
  std::string Heard() {
    std::array<char, 256> text;
    const ssize_t bytes = recv(socket_.get(), text.data(), text.size(), 0);
    return bytes < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(bytes));
  }

 private:
  FileDescriptor socket_;
};

class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() { Clear(); }
  ~ServiceManagerTest() override { Clear(); }

  static void Clear() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }

  std::string AbstractName() { return "@stoker-test-" + std::to_string(getpid()); }
};

TEST_F(ServiceManagerTest, Say_EachState_IsHeardInTheManagersWords) {
  TempFolder folder;
  for (const std::string& place : {folder.path() + "/notify", AbstractName()}) {
    FakeManager fake(place);
    setenv("WATCHDOG_USEC", "1000000", 1);
    const ServiceManager manager = ServiceManager::OfEnvironment();
    manager.SayReady("listens");
    EXPECT_EQ(fake.Heard(), "READY=1\nSTATUS=listens");
    manager.SayReloading();
    EXPECT_THAT(fake.Heard(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
    manager.SayAlive();
    EXPECT_EQ(fake.Heard(), "WATCHDOG=1");
    manager.SayStopping();
    EXPECT_EQ(fake.Heard(), "STOPPING=1");
  }
}

TEST_F(ServiceManagerTest, OfEnvironment_Always_LeavesChildrenNoVoice) {
  FakeManager fake(AbstractName());
  setenv("WATCHDOG_USEC", "1000000", 1);
  const ServiceManager manager = ServiceManager::OfEnvironment();
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
}

TEST_F(ServiceManagerTest, SayAlive_NoWatchdogOrAnotherProcesss_SaysNothing) {
  for (const std::string pid : {"", "1"}) {
    FakeManager fake(AbstractName());
    if (!pid.empty()) {
      setenv("WATCHDOG_USEC", "1000000", 1);
      setenv("WATCHDOG_PID", pid.c_str(), 1);
    }
    ServiceManager::OfEnvironment().SayAlive();
    EXPECT_EQ(fake.Heard(), "");
  }
}

TEST_F(ServiceManagerTest, Say_NobodyListens_IsLost) {
  for (const std::string& place :
       {std::string(), std::string("relative"), std::string("/nowhere/at/all"), AbstractName(),
        std::string(200, '/')}) {
    if (!place.empty()) setenv("NOTIFY_SOCKET", place.c_str(), 1);
    const ServiceManager manager = ServiceManager::OfEnvironment();
    manager.SayReady("listens");
    manager.SayStopping();
  }
}

}  // namespace
}  // namespace stoker
