#include "protocol/base/host/regular_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::StartsWith;

TEST(RegularFile, Read_UpToTheLimit_GivesTheContent) {
  const TempFolder folder;
  EXPECT_EQ(*ReadRegularFile("File", folder.Write("file", "content"), 7), "content");
  EXPECT_EQ(*ReadRegularFile("File", folder.Write("empty", ""), 0), "");
}

TEST(RegularFile, Read_SomethingElse_SaysWhatWithoutWaiting) {
  const TempFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::pair<std::string, std::string> rows[] = {
      {folder.path() + "/none", " cannot be read: No such file or directory."},
      {folder.path(), " is no regular file."},
      {pipe, " is no regular file."},
      {"/dev/zero", " is no regular file."},
      {folder.Write("file", "content"), " has 7 bytes; the limit is 6."}};
  for (const auto& [path, said] : rows) {
    const auto text = ReadRegularFile("File", path, 6);
    ASSERT_FALSE(text.ok()) << path;
    EXPECT_EQ(text.error().message, "File '" + path + "'" + said);
  }
}

// Those of /proc say that they have no bytes.
TEST(RegularFile, Read_WhatHidesItsSize_IsReadToTheLimit) {
  EXPECT_THAT(*ReadRegularFile("File", "/proc/self/status", 1 << 20), StartsWith("Name:"));
  EXPECT_EQ(ReadRegularFile("File", "/proc/self/status", 6).error().code,
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace stoker
