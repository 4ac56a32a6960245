#include "daemon/access/token_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSecret = "a-token-that-nobody-guesses";

std::string Entry(std::string_view name, std::string_view secret,
                  const std::string& rest = "scopes = [\"read\"]\n") {
  return "[[token]]\nname = \"" + std::string(name) + "\"\nsha256 = \"" + Sha256Of(secret).ToHex() +
         "\"\n" + rest;
}

std::string CertificateEntryOf(const std::string& subject,
                               const std::string& rest = "scopes = [\"read\"]\n") {
  return "[[certificate]]\nsubject = \"" + subject + "\"\n" + rest;
}

TEST(TokenFile, FindCertificate_GivesTheGrantOfTheFirstEntryThatNamesIt) {
  TempFolder folder;
  const auto file = TokenFile::Open(folder.Write(
      "tokens", CertificateEntryOf("trainer", "scopes = [\"write\"]\nnamespaces = [\"team\"]\n") +
                    CertificateEntryOf("t.example") + Entry("ci", kSecret)));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::vector<std::string> names = {"someone", "t.example", "trainer"};
  const auto grant = (*file)->FindCertificate(names);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->who(), "Certificate 'trainer'");
  EXPECT_TRUE(grant->Allows(Scope::kWrite, "team"));
  EXPECT_FALSE(grant->Allows(Scope::kRead, "team"));
  EXPECT_FALSE((*file)->FindCertificate(std::vector<std::string>{"train", "ci"}));
  EXPECT_FALSE((*file)->FindCertificate({}));
}

TEST(TokenFile, Find_GivesTheGrantOfTheToken) {
  TempFolder folder;
  const std::string path = folder.Write(
      "tokens", Entry("ci", kSecret, "scopes = [\"read\", \"write\"]\nnamespaces = [\"team\"]\n") +
                    Entry("ops", "another-token-of-twenty", "scopes = [\"admin\"]\n"));
  const auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto grant = (*file)->Find(kSecret);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->who(), "Token 'ci'");
  EXPECT_TRUE(grant->Allows(Scope::kWrite, "team"));
  EXPECT_FALSE(grant->Allows(Scope::kWrite, "other"));
  EXPECT_FALSE(grant->Allows(Scope::kAdmin));
  EXPECT_TRUE((*file)->Find("another-token-of-twenty")->Allows(Scope::kAdmin, "other"));
  for (const std::string& wrong : {std::string(), std::string(kSecret) + "x",
                                   std::string(kSecret.substr(1)), Sha256Of(kSecret).ToHex()}) {
    EXPECT_FALSE((*file)->Find(wrong)) << wrong;
  }
}

TEST(TokenFile, ShortToken_IsNone) {
  TempFolder folder;
  const auto file = TokenFile::Open(folder.Write("tokens", Entry("short", "guessable")));
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->Find("guessable"));
}

TEST(TokenFile, Reload_TakesWhatIsNew_KeepsWhatWasWhereItIsWrong) {
  TempFolder folder;
  const std::string path = folder.Write("tokens", Entry("a", kSecret));
  const auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok());
  folder.Write("new", Entry("b", "the-token-that-comes-next"));
  std::filesystem::rename(folder.path() + "/new", path);
  EXPECT_TRUE((*file)->Reload().ok());
  EXPECT_FALSE((*file)->Find(kSecret));
  EXPECT_TRUE((*file)->Find("the-token-that-comes-next"));
  folder.Write("new", "[[token]]\nname = 7\n");
  std::filesystem::rename(folder.path() + "/new", path);
  EXPECT_THAT((*file)->Reload().error().message, HasSubstr("Token 1: 'name'"));
  EXPECT_TRUE((*file)->Reload().ok());  // Complained of once.
  EXPECT_TRUE((*file)->Find("the-token-that-comes-next"));
  std::filesystem::remove(path);
  EXPECT_THAT((*file)->Reload().error().message, HasSubstr("cannot be read"));
  EXPECT_TRUE((*file)->Find("the-token-that-comes-next"));
}

TEST(TokenFile, ReloadSettled_WhileItIsWritten_RevokesNothing) {
  TempFolder folder;
  const std::string path = folder.Write("tokens", Entry("a", kSecret));
  const auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(*(*file)->ReloadSettled());
  folder.Write("tokens", "");
  EXPECT_FALSE(*(*file)->ReloadSettled());
  folder.Write("tokens", Entry("b", "the-token-that-comes-next"));
  EXPECT_FALSE(*(*file)->ReloadSettled());
  EXPECT_TRUE((*file)->Find(kSecret));
  EXPECT_TRUE(*(*file)->ReloadSettled());
  EXPECT_FALSE((*file)->Find(kSecret));
  EXPECT_TRUE((*file)->Find("the-token-that-comes-next"));
  EXPECT_EQ((*file)->Describe(), "Token file '" + path + "' names 1 token and 0 certificates");
  EXPECT_FALSE((*file)->is_empty());
}

TEST(TokenFile, ReloadSettled_WhatStaysEmpty_RevokesAll) {
  TempFolder folder;
  const auto file = TokenFile::Open(folder.Write("tokens", Entry("a", kSecret)));
  ASSERT_TRUE(file.ok());
  folder.Write("tokens", "");
  EXPECT_FALSE(*(*file)->ReloadSettled());
  EXPECT_TRUE(*(*file)->ReloadSettled());
  EXPECT_TRUE((*file)->is_empty());
  EXPECT_FALSE((*file)->Find(kSecret));
}

TEST(TokenFile, FileThatOthersMayWriteTo_IsRefused) {
  TempFolder folder;
  const std::string path = folder.Write("tokens", Entry("a", kSecret));
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  const auto file = TokenFile::Open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("may write to"));
  EXPECT_FALSE(TokenFile::Open(folder.path() + "/none").ok());
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(TokenFile::Open(pipe).ok());  // At once.
}

TEST(TokenFile, Reload_SeesWhatOnlyTheModeChanges) {
  TempFolder folder;
  const std::string path = folder.Write("tokens", Entry("a", kSecret));
  const auto file = TokenFile::Open(path);
  ASSERT_TRUE(file.ok());
  folder.Write("new", Entry("b", "the-token-that-comes-next"));
  ASSERT_EQ(chmod((folder.path() + "/new").c_str(), 0664), 0);
  std::filesystem::rename(folder.path() + "/new", path);
  EXPECT_FALSE((*file)->Reload().ok());
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE((*file)->Reload().ok());
  EXPECT_FALSE((*file)->Find(kSecret));
  EXPECT_TRUE((*file)->Find("the-token-that-comes-next"));
}

TEST(TokenFile, Wrong_NamesEntryAndKey) {
  const std::string good = Entry("a", kSecret);
  const std::string digest = "sha256 = \"" + Sha256Of("x").ToHex() + "\"\n";
  const std::pair<std::string, std::string> rows[] = {
      {"[[certificate]]\nsubject = \"a\"\n", "Certificate 1: 'scopes'"},
      {"[[certificate]]\nscopes = [\"read\"]\n", "Certificate 1: 'subject'"},
      {"[[certificate]]\nname = \"a\"\n", "'name' is no key of it: subject"},
      {CertificateEntryOf("a") + CertificateEntryOf("a"),
       "Certificate 2: 'subject' is that of an earlier"},
      {"certificate = 7\n", "no list of tables"},
      {"[[token", "Line 1"},
      {"[other]\n", "'other' is no key"},
      {"token = 7\n", "no list of tables"},
      {"token = [1]\n", "no list of tables"},
      {"[[token]]\n" + digest + "scopes = [\"read\"]\n", "Token 1: 'name'"},
      {"[[token]]\nname = \"\"\n" + digest + "scopes = [\"read\"]\n", "Token 1: 'name'"},
      {"[[token]]\nname = \"a\"\nscopes = [\"read\"]\n", "Token 1: 'sha256'"},
      {"[[token]]\nname = \"a\"\nsha256 = \"ab\"\nscopes = [\"read\"]\n", "Token 1: 'sha256'"},
      {"[[token]]\nname = \"a\"\n" + digest, "Token 1: 'scopes'"},
      {"[[token]]\nname = \"a\"\n" + digest + "scopes = \"read\"\n", "Token 1: 'scopes'"},
      {"[[token]]\nname = \"a\"\n" + digest + "scopes = [\"root\"]\n", "'root'"},
      {good + "[[token]]\nname = \"a\"\n" + digest + "scopes = [\"read\"]\nnamespaces = []\n",
       "Token 2: 'namespaces'"},
      {good + "[[token]]\nname = \"a\"\n" + digest +
           "scopes = [\"read\"]\nnamespaces = [\"A B\"]\n",
       "Token 2: 'namespaces'"},
      {good + good, "Token 2: 'sha256' is that of an earlier"},
      {good + "expires = 7\n", "'expires' is no key"},
      {std::string(kMaxTokenFileBytes + 1, '#'), "limit"}};
  for (const auto& [text, said] : rows) {
    const auto credentials = ParseCredentials(text);
    ASSERT_FALSE(credentials.ok()) << text.substr(0, 200);
    EXPECT_EQ(credentials.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(credentials.error().message, HasSubstr(said)) << text.substr(0, 200);
  }
  EXPECT_TRUE(ParseCredentials("")->tokens.empty());
}

}  // namespace
}  // namespace stoker
