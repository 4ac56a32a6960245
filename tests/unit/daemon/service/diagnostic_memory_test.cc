#include "daemon/service/failure/diagnostic_memory.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

using namespace std::chrono_literals;

class DiagnosticMemoryTest : public testing::Test {
 protected:
  DiagnosticMemory::Clock::time_point now_;
  DiagnosticMemory memory_{[this] { return now_; }};
  const Digest key_ = Sha256Of("key");
};

TEST_F(DiagnosticMemoryTest, Find_GivesTheErrorAsItWas_UntilItsEnd) {
  memory_.Remember("a", key_, Unimplemented("Op 'x'"));
  now_ += DiagnosticMemory::kLifetime - 1s;
  const auto found = memory_.Find("a", key_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, ErrorCode::kUnimplemented);
  EXPECT_EQ(found->message, "Op 'x'");
  EXPECT_FALSE(memory_.Find("b", key_));
  EXPECT_FALSE(memory_.Find("a", Sha256Of("other")));
  now_ += 1s;
  EXPECT_FALSE(memory_.Find("a", key_));
}

TEST_F(DiagnosticMemoryTest, Remember_Again_LivesFromThen) {
  memory_.Remember("a", key_, Unimplemented("first"));
  now_ += DiagnosticMemory::kLifetime - 1s;
  memory_.Remember("a", key_, Unimplemented("second"));
  now_ += 1min;
  ASSERT_TRUE(memory_.Find("a", key_));
  EXPECT_EQ(memory_.Find("a", key_)->message, "second");
}

TEST_F(DiagnosticMemoryTest, Remember_TooMany_TheOldestGo) {
  const auto key_of = [](std::size_t i) { return Sha256Of(std::to_string(i)); };
  for (std::size_t i = 0; i < DiagnosticMemory::kMaxDiagnostics + 2; ++i) {
    memory_.Remember("a", key_of(i), InvalidArgument("x"));
  }
  EXPECT_FALSE(memory_.Find("a", key_of(0)));
  EXPECT_FALSE(memory_.Find("a", key_of(1)));
  EXPECT_TRUE(memory_.Find("a", key_of(2)));
  EXPECT_TRUE(memory_.Find("a", key_of(DiagnosticMemory::kMaxDiagnostics + 1)));
}

}  // namespace
}  // namespace stoker
