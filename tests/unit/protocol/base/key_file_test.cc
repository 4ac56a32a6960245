#include "protocol/base/signature/key_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Test 1 of RFC 8410: what OpenSSL prints of such a key.
constexpr const char* kPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kPublicKey =
    "ed25519:19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

class KeyFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_.Write(name, text);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  TempFolder folder_;
};

TEST_F(KeyFileTest, Read_WhatOpenSslWrites) {
  const auto key = ReadSigningKey(Write("key.pem", kPem));
  ASSERT_TRUE(key.ok()) << key.error().message;
  EXPECT_EQ(key->public_key().ToString(), kPublicKey);
  EXPECT_TRUE(ReadSigningKey(Write("crlf.pem", "comment\r\n" + std::string(kPem))).ok());
}

TEST_F(KeyFileTest, Write_ThenRead_SameFileAsOpenSsls) {
  const SigningKey key = ReadSigningKey(Write("key.pem", kPem)).value();
  const std::string path = folder_.path() + "/copy.pem";
  ASSERT_TRUE(WriteSigningKey(path, key).ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kPem);
  EXPECT_EQ(ModeOf(path), 0600U);
  const Status again = WriteSigningKey(path, key);
  EXPECT_EQ(again.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(again.error().message, HasSubstr(path));
}

TEST_F(KeyFileTest, Read_NoKey_IsRefusedByName) {
  const std::string pem = kPem;
  for (const std::string& text :
       {std::string(), std::string("hello"), pem.substr(0, 60), pem.substr(28),
        "-----BEGIN PRIVATE KEY-----\n" + std::string(64, 'A') + "\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n" + std::string(64, '*') + "\n-----END PRIVATE KEY-----\n",
        std::string(4096, 'x')}) {
    const std::string path = Write("key.pem", text);
    const auto key = ReadSigningKey(path);
    ASSERT_FALSE(key.ok());
    EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(key.error().message, HasSubstr("'" + path + "' holds no Ed25519 key"));
  }
  EXPECT_THAT(ReadSigningKey(Write("large.pem", std::string(4097, 'x'))).error().message,
              HasSubstr("large.pem' has 4097 bytes; the limit is 4096."));
}

TEST_F(KeyFileTest, Read_FileOfOthers_IsRefused) {
  const bool is_root = geteuid() == 0;
  for (const mode_t mode : {0644U, 0620U, 0602U, 0660U}) {
    const auto key = ReadSigningKey(Write("key.pem", kPem, mode));
    ASSERT_FALSE(key.ok()) << std::oct << mode;
    EXPECT_THAT(key.error().message, HasSubstr("may be read or written by other users"));
  }
  // The group of a file of root's is who root gave it to.
  EXPECT_EQ(ReadSigningKey(Write("key.pem", kPem, 0640)).ok(), is_root);
  EXPECT_TRUE(ReadSigningKey(Write("key.pem", kPem, 0400)).ok());
  if (is_root) {
    const std::string foreign = Write("key.pem", kPem);
    ASSERT_EQ(chown(foreign.c_str(), 65534, 65534), 0);
    EXPECT_THAT(ReadSigningKey(foreign).error().message, HasSubstr("belongs to user 65534"));
  }
  EXPECT_THAT(ReadSigningKey(folder_.path()).error().message, HasSubstr("is no regular file"));
  EXPECT_THAT(ReadSigningKey(folder_.path() + "/none").error().message,
              HasSubstr("cannot be read"));
  ASSERT_EQ(mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadSigningKey(folder_.path() + "/pipe").error().message,
              HasSubstr("is no regular file"));
}

TEST_F(KeyFileTest, ReadOrMake_MakesItOnce_WithItsFolders) {
  const std::string path = folder_.path() + "/a/b/key.pem";
  const auto made = ReadOrMakeSigningKey(path);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(ReadOrMakeSigningKey(path)->public_key(), made->public_key());
  EXPECT_EQ(ModeOf(path), 0600U);
  EXPECT_EQ(ModeOf(folder_.path() + "/a"), 0700U);
  EXPECT_EQ(ModeOf(folder_.path() + "/a/b"), 0700U);
  EXPECT_THAT(Names(folder_.path() + "/a/b"), SizeIs(1));
}

TEST_F(KeyFileTest, ReadOrMake_Link_IsNotFollowed_ANamedOneIs) {
  const std::string target = Write("target.pem", kPem);
  const std::string path = folder_.path() + "/key.pem";
  std::filesystem::create_symlink(target, path);
  EXPECT_THAT(ReadOrMakeSigningKey(path).error().message, HasSubstr("is a link"));
  EXPECT_TRUE(ReadSigningKey(path).ok());
  std::filesystem::remove(target);
  EXPECT_FALSE(ReadOrMakeSigningKey(path).ok());
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(KeyFileTest, ReadOrMake_WhereNothingCanBeMade_Unavailable) {
  const std::string file = Write("file", "");
  EXPECT_EQ(ReadOrMakeSigningKey(file + "/key.pem").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ReadOrMakeSigningKey("/proc/nowhere/key.pem").error().code, ErrorCode::kUnavailable);
  // One that is there and is not private is no reason to make another.
  const std::string path = Write("key.pem", kPem, 0644);
  EXPECT_EQ(ReadOrMakeSigningKey(path).error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(KeyFileTest, ReadOrMake_ManyProcessesAtOnce_AgreeOnOneKey) {
  const std::string path = folder_.path() + "/keys/key.pem";
  constexpr int kProcesses = 12;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto key = ReadOrMakeSigningKey(path);
      if (key.ok()) folder_.Write(std::to_string(i), key->public_key().ToString());
      _exit(key.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  std::set<std::string> keys;
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    EXPECT_EQ(waitpid(children[static_cast<std::size_t>(i)], &status, 0),
              children[static_cast<std::size_t>(i)]);
    EXPECT_EQ(status, 0);
    std::ifstream file(folder_.path() + "/" + std::to_string(i));
    keys.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_THAT(keys, SizeIs(1));
  EXPECT_EQ(*keys.begin(), ReadSigningKey(path)->public_key().ToString());
  EXPECT_THAT(Names(folder_.path() + "/keys"), SizeIs(1));
}

}  // namespace
}  // namespace stoker
