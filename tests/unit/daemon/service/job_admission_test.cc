#include "daemon/service/job_admission.h"

#include <gtest/gtest.h>

#include <list>

namespace stoker {
namespace {

class JobAdmissionTest : public testing::Test {
 protected:
  // How many of `count` are admitted; they stay.
  int Fill(const std::string& name_space, int count) {
    int admitted = 0;
    for (int i = 0; i < count; ++i) {
      if (!admission_->Take(name_space)) continue;
      jobs_.emplace_back(admission_, name_space);
      ++admitted;
    }
    return admitted;
  }

  const std::shared_ptr<JobAdmission> admission_ = std::make_shared<JobAdmission>(8);
  std::list<JobAdmission::Job> jobs_;
};

TEST_F(JobAdmissionTest, OneNamespace_HasTheLimit) {
  EXPECT_EQ(Fill("a", 100), 8);
  EXPECT_TRUE(admission_->IsFull("a"));
  jobs_.pop_front();
  EXPECT_EQ(admission_->jobs(), 7);
  EXPECT_FALSE(admission_->IsFull("a"));
  EXPECT_EQ(Fill("a", 100), 1);
}

TEST_F(JobAdmissionTest, AFullQueue_AdmitsOthersToTheirShare) {
  EXPECT_EQ(Fill("a", 100), 8);
  EXPECT_FALSE(admission_->IsFull("b"));
  EXPECT_EQ(Fill("b", 100), 4);
  EXPECT_EQ(Fill("c", 100), 2);
  EXPECT_EQ(Fill("a", 100), 0);
  EXPECT_EQ(admission_->jobs(), 14);
}

TEST_F(JobAdmissionTest, AllTogether_HaveABound) {
  EXPECT_EQ(Fill("a", 8), 8);
  for (int i = 0; i < 100; ++i) Fill("tenant" + std::to_string(i), 1);
  EXPECT_EQ(admission_->jobs(), JobAdmission::kOverflow * admission_->limit());
  EXPECT_TRUE(admission_->IsFull("yet another"));
}

TEST_F(JobAdmissionTest, WhatIsMoved_IsGivenBackOnce) {
  ASSERT_TRUE(admission_->Take("a"));
  {
    JobAdmission::Job job(admission_, "a");
    const JobAdmission::Job moved(std::move(job));
    EXPECT_EQ(admission_->jobs(), 1);
  }
  EXPECT_EQ(admission_->jobs(), 0);
}

}  // namespace
}  // namespace stoker
