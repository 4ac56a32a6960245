#include "client/core/settings/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(DaemonUrl, Parse_ValidForms_RoundTrip) {
  for (const char* text : {"unix:/run/stoker/stokerd.sock", "http://127.0.0.1:8471",
                           "http://[::1]:1", "http://build-cache.local:65535",
                           "https://build-cache.local:443", "https://[fe80::1]:8471"}) {
    const auto url = DaemonUrl::Parse(text);
    ASSERT_TRUE(url.ok()) << text << ": " << url.error().message;
    EXPECT_EQ(url->ToString(), text);
  }
}

TEST(DaemonUrl, Parse_TrailingSlash_IsDropped) {
  const auto url = DaemonUrl::Parse("http://localhost:80/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, 80);
}

TEST(DaemonUrl, Authority_IsWhatAHostHeaderSays) {
  EXPECT_EQ(DaemonUrl::Parse("https://cache:8471")->Authority(), "cache:8471");
  EXPECT_EQ(DaemonUrl::Parse("http://[::1]:80")->Authority(), "[::1]:80");
  EXPECT_EQ(DaemonUrl::Parse("unix:/s")->Authority(), "localhost");
}

TEST(DaemonUrl, Parse_BadForms_NameWhatIsWrong) {
  const struct {
    std::string text;
    std::string message;
  } kRows[] = {
      {"", "starts with none of"},
      {"/run/stokerd.sock", "starts with none of"},
      {"unix:", "absolute path"},
      {"unix:relative", "absolute path"},
      {"unix:/" + std::string(120, 'x'), "the system's limit is 107"},
      {"http://host", "host and a port"},
      {"http://:80", "host and a port"},
      {"http://[]:80", "host and a port"},
      {"http://a:b:80", "host and a port"},
      {"http://user@host:80", "host and a port"},
      {"http://host/path:80", "host and a port"},
      {"http://host:0", "Port '0'"},
      {"http://host:65536", "Port '65536'"},
      {"http://host:80x", "Port '80x'"},
      {"https://host", "host and a port"},
      {"tls://host:80", "starts with none of"},
  };
  for (const auto& row : kRows) {
    const auto url = DaemonUrl::Parse(row.text);
    ASSERT_FALSE(url.ok()) << row.text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(url.error().message, HasSubstr(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace stoker
