#include "daemon/net/socket_claim.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/unit/temp_folder.h"

namespace stoker::net {
namespace {

using testing::HasSubstr;

// A bound socket; its file stays when it is closed, as a dead process leaves it.
class Listener {
 public:
  explicit Listener(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    STOKER_CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    STOKER_CHECK(listen(fd_, 1) == 0);
  }
  ~Listener() { close(fd_); }

 private:
  int fd_;
};

class SocketClaimTest : public testing::Test {
 protected:
  TempFolder folder_;
  const std::string path_ = folder_.path() + "/s";
};

TEST_F(SocketClaimTest, Take_Twice_IsRefusedUntilTheFirstEnds) {
  auto first = SocketClaim::Take(path_);
  ASSERT_TRUE(first.ok());
  const auto second = SocketClaim::Take(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr(path_ + ".lock"));
  first->reset();
  EXPECT_TRUE(SocketClaim::Take(path_).ok());
}

TEST_F(SocketClaimTest, Take_StaleSocket_RemovesIt) {
  { const Listener dead(path_); }
  ASSERT_TRUE(std::filesystem::exists(path_));
  const auto claim = SocketClaim::Take(path_);
  ASSERT_TRUE(claim.ok()) << claim.error().message;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SocketClaimTest, Take_SomebodyListensWithoutAClaim_IsRefusedAndLeavesTheSocket) {
  const Listener other(path_);
  const auto claim = SocketClaim::Take(path_);
  ASSERT_FALSE(claim.ok());
  EXPECT_THAT(claim.error().message, HasSubstr("Somebody listens"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketClaimTest, Take_PlainFile_IsRefusedAndLeavesIt) {
  folder_.Write("s", "precious");
  const auto claim = SocketClaim::Take(path_);
  ASSERT_FALSE(claim.ok());
  EXPECT_THAT(claim.error().message, HasSubstr("is no socket"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketClaimTest, End_RemovesTheSocket) {
  auto claim = SocketClaim::Take(path_);
  ASSERT_TRUE(claim.ok());
  const Listener mine(path_);
  claim->reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace stoker::net
