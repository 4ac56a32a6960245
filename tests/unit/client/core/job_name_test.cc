#include "client/core/settings/job_name.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "protocol/wire/header/job_name.h"

namespace stoker {
namespace {

std::string Words(std::initializer_list<const char*> words) {
  std::string line;
  for (const char* word : words) line.append(word).push_back('\0');
  return line;
}

TEST(JobName, ProgramIn_IsTheFileOrTheScript) {
  EXPECT_EQ(ProgramIn(Words({"/opt/bin/serve", "--port", "1"})), "serve");
  EXPECT_EQ(ProgramIn(Words({"/usr/bin/python3.11", "/a/b/train.py", "--lr", "1"})), "train.py");
  EXPECT_EQ(ProgramIn(Words({"python", "-u", "-X", "dev", "-Werror", "train.py"})), "train.py");
  EXPECT_EQ(ProgramIn(Words({"python3", "-m", "team.train", "x.py"})), "team.train");
  EXPECT_EQ(ProgramIn(Words({"python3", "-c", "print()", "x.py"})), "python3");
  EXPECT_EQ(ProgramIn(Words({"python3"})), "python3");
  EXPECT_EQ(ProgramIn(Words({"python3", "-m"})), "python3");
  EXPECT_EQ(ProgramIn("cut"), "cut");  // The end is missing.
  EXPECT_EQ(ProgramIn(""), "");
}

TEST(JobName, IsTheVariable_ElseThisProgram) {
  setenv("STOKER_JOB", "nightly run", 1);
  EXPECT_EQ(JobName(), "nightly-run");
  setenv("STOKER_JOB", "", 1);
  EXPECT_EQ(JobName(), "client_core_test");
  unsetenv("STOKER_JOB");
  EXPECT_TRUE(wire::IsJobName(JobName()));
}

}  // namespace
}  // namespace stoker
