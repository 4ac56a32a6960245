#include "protocol/base/host/socket_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/base/host/file_descriptor.h"

namespace stoker {
namespace {

TEST(SocketUser, UnixSocket_IsThisUser) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const FileDescriptor first(ends[0]);
  const FileDescriptor second(ends[1]);
  EXPECT_EQ(UserAtOtherEnd(first.get()), geteuid());
  EXPECT_FALSE(UserAtOtherEnd(-1));
}

TEST(SocketUser, TcpWithinThisHost_BothEndsAreKnown_OnceItIsAccepted) {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), any, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), any, &size), 0);
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_FALSE(UserAtOtherEnd(client.get()));
  ASSERT_EQ(connect(client.get(), any, size), 0);
  const FileDescriptor server(accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(UserAtOtherEnd(server.get()), geteuid());
  EXPECT_EQ(UserAtOtherEnd(client.get()), geteuid());
}

}  // namespace
}  // namespace stoker
