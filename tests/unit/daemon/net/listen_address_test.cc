#include <gmock/gmock.h>

#include "daemon/net/listener.h"

namespace stoker::net {
namespace {

using testing::HasSubstr;

struct Row {
  std::string text;
  std::string printed;  // Empty: refused.
  std::string said;
};

class ListenAddressTable : public testing::TestWithParam<Row> {};

TEST_P(ListenAddressTable, Parse_GivesAddressOrReason) {
  const auto address = ListenAddress::Parse(GetParam().text);
  if (GetParam().printed.empty()) {
    ASSERT_FALSE(address.ok());
    EXPECT_EQ(address.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(address.error().message, HasSubstr(GetParam().said));
  } else {
    ASSERT_TRUE(address.ok()) << address.error().message;
    EXPECT_EQ(address->ToString(), GetParam().printed);
  }
}

INSTANTIATE_TEST_SUITE_P(Accepted, ListenAddressTable,
                         testing::Values(Row{"unix:/run/s.sock", "unix:/run/s.sock", ""},
                                         Row{"http://127.0.0.1:8471", "http://127.0.0.1:8471", ""},
                                         Row{"http://localhost:0", "http://127.0.0.1:0", ""},
                                         Row{"http://127.9.9.9:65535", "http://127.9.9.9:65535",
                                             ""},
                                         Row{"http://[::1]:8471", "http://[::1]:8471", ""},
                                         Row{"https://[::]:0", "https://[::]:0", ""},
                                         Row{"http://10.1.2.3:1", "http://10.1.2.3:1", ""},
                                         Row{"https://localhost:1", "https://127.0.0.1:1", ""}));

INSTANTIATE_TEST_SUITE_P(Refused, ListenAddressTable,
                         testing::Values(Row{"", "", "none of 'unix:'"},
                                         Row{"/run/s.sock", "", "none of"},
                                         Row{"tls://127.0.0.1:1", "", "none of"},
                                         Row{"unix:run/s.sock", "", "absolute path"},
                                         Row{"unix:/" + std::string(107, 'x'), "", "limit is 107"},
                                         Row{"http://127.0.0.1", "", "has no port"},
                                         Row{"http://127.0.0.1:", "", "Port ''"},
                                         Row{"http://127.0.0.1:65536", "", "Port '65536'"},
                                         Row{"http://127.0.0.1:1/x", "", "Port '1/x'"},
                                         Row{"https://127.0.0.1", "", "has no port"},
                                         Row{"https://:1", "", "Host '' in listen address"},
                                         Row{"http://example.com:1", "", "Host 'example.com'"}));

TEST(ListenAddress, IsOnNetwork_UnlessItIsThisHostsAlone) {
  for (const char* text : {"unix:/s", "http://127.0.0.1:1", "https://127.9.9.9:1", "http://[::1]:1",
                           "https://localhost:1"}) {
    EXPECT_FALSE(ListenAddress::Parse(text)->IsOnNetwork()) << text;
  }
  for (const char* text : {"http://0.0.0.0:1", "https://[::]:1", "https://10.1.2.3:1",
                           "https://[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(ListenAddress::Parse(text)->IsOnNetwork()) << text;
  }
}

}  // namespace
}  // namespace stoker::net
