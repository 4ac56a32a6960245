#include "protocol/wire/header/job_name.h"

#include <gtest/gtest.h>

namespace stoker::wire {
namespace {

TEST(JobName, IsJobName_TakesItsAlphabetAndLength) {
  EXPECT_TRUE(IsJobName("train.py"));
  EXPECT_TRUE(IsJobName("team/run:7@host_1-b"));
  EXPECT_TRUE(IsJobName(std::string(kMaxJobNameBytes, 'a')));
  EXPECT_FALSE(IsJobName(std::string(kMaxJobNameBytes + 1, 'a')));
  for (const char* wrong : {"", "a b", "a\n", "a%20", "a?b", "a&b", "a\"b", "\xC3\xA9"}) {
    EXPECT_FALSE(IsJobName(wrong)) << wrong;
  }
}

TEST(JobName, JobNameOf_MakesAnythingAJobName) {
  EXPECT_EQ(JobNameOf("train.py"), "train.py");
  EXPECT_EQ(JobNameOf("my job\t#3"), "my-job--3");
  EXPECT_EQ(JobNameOf("\xC3\xA9t\xC3\xA9"), "--t--");
  EXPECT_EQ(JobNameOf(""), "");
  EXPECT_TRUE(IsJobName(JobNameOf(std::string(1000, ' '))));
}

}  // namespace
}  // namespace stoker::wire
