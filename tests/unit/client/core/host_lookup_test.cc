#include "client/core/connection/host_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <future>

namespace stoker {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

Transport::Clock::time_point In(std::chrono::milliseconds time) {
  return Transport::Clock::now() + time;
}

TEST(HostLookup, Address_AsksNobody) {
  int asked = 0;
  const auto found =
      FindHost("127.0.0.1", In(10s), [&](const std::string&, int flags, auto** list) {
        asked += flags != AI_NUMERICHOST;
        addrinfo wanted{};
        wanted.ai_flags = flags;
        return getaddrinfo("127.0.0.1", nullptr, &wanted, list);
      });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->ai_family, AF_INET);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(FindHost("::1", In(10s)).ok());
}

TEST(HostLookup, NameOfThisHost_IsFound) {
  const auto found = FindHost("localhost", In(10s));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_NE((*found)->ai_addr, nullptr);
}

TEST(HostLookup, NoSuchHost_SaysWhy) {
  const auto found =
      FindHost("h", In(10s), [](const std::string&, int, auto**) { return EAI_NONAME; });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(found.error().message, HasSubstr("Host 'h' does not resolve: Name or service"));
}

TEST(HostLookup, NameServerThatIsSilent_IsWaitedForUntilTheMoment) {
  std::promise<void> answer;
  std::promise<void> ended;
  const auto silent = answer.get_future().share();
  const auto begin = Transport::Clock::now();
  const auto found =
      FindHost("h", In(50ms), [&, silent](const std::string&, int flags, addrinfo** list) {
        if (flags == AI_NUMERICHOST) return EAI_NONAME;
        silent.wait();
        const int code = getaddrinfo("127.0.0.1", nullptr, nullptr, list);
        ended.set_value();
        return code;  // Nobody is there to take it.
      });
  EXPECT_GE(Transport::Clock::now() - begin, 50ms);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("Host 'h' does not resolve within 50 ms."));
  answer.set_value();
  ended.get_future().wait();
}

}  // namespace
}  // namespace stoker
