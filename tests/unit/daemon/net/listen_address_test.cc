#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/net/listener.h"

namespace stoker::net {
namespace {

using testing::HasSubstr;

TEST(ListenAddress, Parse_LocalAddresses_AreTaken) {
  const struct {
    const char* text;
    const char* printed;
  } kRows[] = {
      {"unix:/run/stokerd.sock", "unix:/run/stokerd.sock"},
      {"http://127.0.0.1:8471", "http://127.0.0.1:8471"},
      {"http://[::1]:8471", "http://[::1]:8471"},
      {"http://localhost:0", "http://127.0.0.1:0"},
  };
  for (const auto& row : kRows) {
    const auto address = ListenAddress::Parse(row.text);
    ASSERT_TRUE(address.ok()) << row.text << ": " << address.error().message;
    EXPECT_EQ(address->ToString(), row.printed);
  }
}

TEST(ListenAddress, Parse_Refused_SaysWhy) {
  const struct {
    std::string text;
    std::string message;
  } kRows[] = {
      {"unix:relative.sock", "absolute path"},
      {"unix:/" + std::string(120, 'x'), "the system's limit is 107"},
      {"http://127.0.0.1", "no port"},
      {"http://127.0.0.1:99999", "Port '99999'"},
      {"http://0.0.0.0:80", "not a loopback address"},
      {"http://10.1.2.3:80", "not a loopback address"},
      {"http://build-cache:80", "not a loopback address"},
      {"https://127.0.0.1:80", "starts neither with"},
  };
  for (const auto& row : kRows) {
    const auto address = ListenAddress::Parse(row.text);
    ASSERT_FALSE(address.ok()) << row.text;
    EXPECT_THAT(address.error().message, HasSubstr(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace stoker::net
