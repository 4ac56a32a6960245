#include "protocol/base/host/trusted_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(TrustedFile, Read_GivesTheContent) {
  const TempFolder folder;
  const std::string path = folder.Write("file", "content");
  EXPECT_EQ(*ReadTrustedFile("File", path, 7, Secrecy::kPublic), "content");
  EXPECT_EQ(*ReadTrustedFile("File", folder.Write("empty", ""), 0, Secrecy::kPublic), "");
}

TEST(TrustedFile, Read_WhatIsNotToBeBelieved_SaysWhy) {
  const TempFolder folder;
  const std::string path = folder.Write("file", "content");
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::tuple<std::string, std::size_t, std::string> rows[] = {
      {folder.path() + "/none", 7,
       "File '" + folder.path() + "/none' cannot be read: No such file"},
      {path, 6, "File '" + path + "' has 7 bytes; the limit is 6."},
      {pipe, 7, "is no regular file"},
      {folder.path(), 7, "is no regular file"}};
  for (const auto& [file, limit, said] : rows) {
    const auto text = ReadTrustedFile("File", file, limit, Secrecy::kPublic);
    ASSERT_FALSE(text.ok()) << said;
    EXPECT_THAT(text.error().message, HasSubstr(said));
  }
}

TEST(TrustedFile, Read_LooksAtTheMode) {
  const TempFolder folder;
  const std::string path = folder.Write("file", "content");
  const bool is_root = geteuid() == 0;
  const std::tuple<mode_t, bool, bool> rows[] = {
      // mode, fit to be believed, fit to be a secret
      {0600, true, true},  {0400, true, true},   {0640, true, is_root}, {0644, true, false},
      {0604, true, false}, {0620, false, false}, {0602, false, false},
  };
  for (const auto& [mode, believed, secret] : rows) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(ReadTrustedFile("File", path, 7, Secrecy::kPublic).ok(), believed)
        << std::oct << mode;
    EXPECT_EQ(ReadTrustedFile("File", path, 7, Secrecy::kSecret).ok(), secret) << std::oct << mode;
  }
}

TEST(TrustedFile, Version_ChangesWithContentModeAndPlace) {
  const TempFolder folder;
  const std::string path = folder.Write("file", "content");
  const FileVersion first = VersionOf(path);
  EXPECT_EQ(VersionOf(path), first);
  folder.Write("file", "longer content");
  EXPECT_NE(VersionOf(path), first);
  const FileVersion second = VersionOf(path);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_NE(VersionOf(path), second);
  EXPECT_EQ(VersionOf(folder.path() + "/none"), FileVersion{});
}

}  // namespace
}  // namespace stoker
