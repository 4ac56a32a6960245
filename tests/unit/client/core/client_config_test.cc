#include "client/core/client_config.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace stoker {
namespace {

class ClientConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"STOKER_URL", "STOKER_CACHE_DIR", "STOKER_NAMESPACE", "STOKER_DAEMON",
                             "STOKER_PREPARED_MIB", "STOKER_RECORD", "STOKER_TOKEN",
                             "STOKER_ANSWER_TIMEOUT_MS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                             "STOKER_SIGNERS", "STOKER_WRITER_KEY", "STOKER_TRUSTED_WRITERS"}) {
      unsetenv(name);
    }
    setenv("HOME", "/users/someone", 1);
    setenv("PATH", "/nowhere", 1);
  }
};

TEST_F(ClientConfigTest, Resolve_NothingSet_PrivateDaemonUnderHome) {
  const auto config = ResolveClientConfig({});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->cache_dir, "/users/someone/.cache/stoker");
  EXPECT_EQ(config->daemon.url.ToString(), "unix:/users/someone/.cache/stoker/stokerd.sock");
  ASSERT_TRUE(config->daemon.private_daemon.has_value());
  EXPECT_EQ(config->name_space, "default");
}

TEST_F(ClientConfigTest, Resolve_UrlInTheEnvironment_NoPrivateDaemon) {
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  const auto config = ResolveClientConfig({});
  ASSERT_TRUE(config.ok());
  EXPECT_FALSE(config->daemon.private_daemon.has_value());
  EXPECT_EQ(config->daemon.url.ToString(), "http://127.0.0.1:8471");
}

TEST_F(ClientConfigTest, Resolve_Token_IsForADaemonThatIsNamed) {
  setenv("STOKER_TOKEN", "a-token", 1);
  EXPECT_EQ(ResolveClientConfig({})->daemon.trust.token, "");  // The private one knows none.
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  EXPECT_EQ(ResolveClientConfig({})->daemon.trust.token, "a-token");
}

TEST_F(ClientConfigTest, Resolve_AnswerTimeout_IsShortForEveryDaemon) {
  EXPECT_EQ(ResolveClientConfig({})->daemon.answer_timeout, std::chrono::seconds(1));
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  EXPECT_EQ(ResolveClientConfig({})->daemon.answer_timeout, std::chrono::seconds(1));
  setenv("STOKER_ANSWER_TIMEOUT_MS", "250", 1);
  EXPECT_EQ(ResolveClientConfig({})->daemon.answer_timeout, std::chrono::milliseconds(250));
  for (const char* text : {"0", "-1", "soon", "3600001"}) {
    setenv("STOKER_ANSWER_TIMEOUT_MS", text, 1);
    const auto config = ResolveClientConfig({});
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.error().message,
              "STOKER_ANSWER_TIMEOUT_MS is '" + std::string(text) +
                  "'; a number of milliseconds from 1 to 3600000 is expected.");
  }
}

TEST_F(ClientConfigTest, Resolve_Manifest_StaysWhereItIsWhenTheJobGoesElsewhere) {
  EXPECT_EQ(ResolveClientConfig({})->manifest, "");
  setenv("STOKER_RECORD", "job.manifest", 1);
  EXPECT_EQ(ResolveClientConfig({})->manifest,
            (std::filesystem::current_path() / "job.manifest").string());
  setenv("STOKER_RECORD", "/elsewhere/job.manifest", 1);
  EXPECT_EQ(ResolveClientConfig({})->manifest, "/elsewhere/job.manifest");
}

TEST_F(ClientConfigTest, Resolve_Signers_PinADaemonThatIsNamed) {
  const PublicKey key = SigningKey::Make()->public_key();
  setenv("STOKER_SIGNERS", key.ToString().c_str(), 1);
  EXPECT_TRUE(ResolveClientConfig({})->daemon.trust.signers.empty());  // The private one is ours.
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  EXPECT_EQ(ResolveClientConfig({})->daemon.trust.signers, std::vector<PublicKey>{key});
}

TEST_F(ClientConfigTest, Resolve_WhatIsNoKey_SaysWhichVariable) {
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  for (const char* variable : {"STOKER_SIGNERS", "STOKER_TRUSTED_WRITERS", "STOKER_WRITER_KEY"}) {
    setenv(variable, "/nowhere/key", 1);
    const auto config = ResolveClientConfig({});
    ASSERT_FALSE(config.ok()) << variable;
    EXPECT_TRUE(config.error().message.starts_with(variable)) << config.error().message;
    EXPECT_NE(config.error().message.find("'/nowhere/key'"), std::string::npos);
    unsetenv(variable);
  }
}

TEST_F(ClientConfigTest, Resolve_OptionAndEnvironment_OptionWins) {
  setenv("STOKER_URL", "http://127.0.0.1:8471", 1);
  setenv("STOKER_NAMESPACE", "theirs", 1);
  ClientSettings settings;
  settings.url = "unix:/run/mine.sock";
  settings.name_space = "mine";
  const auto config = ResolveClientConfig(settings);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->daemon.url.ToString(), "unix:/run/mine.sock");
  EXPECT_EQ(config->name_space, "mine");
}

TEST_F(ClientConfigTest, Resolve_LongCacheFolder_SocketMovesElsewhere) {
  ClientSettings settings;
  settings.cache_dir = "/" + std::string(200, 'd');
  const auto config = ResolveClientConfig(settings);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->cache_dir, settings.cache_dir);
  EXPECT_LT(config->daemon.url.path.size(), 108U);
  settings.cache_dir = "/" + std::string(201, 'd');
  EXPECT_NE(ResolveClientConfig(settings)->daemon.url.path, config->daemon.url.path);
}

TEST_F(ClientConfigTest, Resolve_PreparedWeights_LieUnderTheCacheFolder) {
  const auto config = ResolveClientConfig({});
  EXPECT_EQ(config->prepared.folder, "/users/someone/.cache/stoker/prepared");
  EXPECT_EQ(config->prepared.max_bytes, std::int64_t{4} << 30);
  ClientSettings settings;
  settings.url = "http://127.0.0.1:8471";  // They are this host's, wherever the daemon is.
  settings.cache_dir = "/there";
  setenv("STOKER_PREPARED_MIB", "100", 1);
  EXPECT_EQ(ResolveClientConfig(settings)->prepared.folder, "/there/prepared");
  EXPECT_EQ(ResolveClientConfig(settings)->prepared.max_bytes, std::int64_t{100} << 20);
  setenv("STOKER_PREPARED_MIB", "0", 1);
  EXPECT_EQ(ResolveClientConfig(settings)->prepared.max_bytes, 0);
}

TEST_F(ClientConfigTest, Resolve_PreparedLimitIsNoNumber_SaysWhatItIs) {
  for (const char* text : {"-1", "4 GiB", "4294967297", "99999999999999999999"}) {
    setenv("STOKER_PREPARED_MIB", text, 1);
    const auto config = ResolveClientConfig({});
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.error().message, "STOKER_PREPARED_MIB is '" + std::string(text) +
                                          "'; a number of MiB from 0 (none) to 4294967296 is "
                                          "expected.");
  }
}

TEST_F(ClientConfigTest, FindDaemonProgram_NamedOneMissing_TakesNoOther) {
  setenv("PATH", "/bin", 1);
  setenv("STOKER_DAEMON", "/nowhere/stokerd", 1);
  EXPECT_EQ(FindDaemonProgram("").error().message, "'/nowhere/stokerd' is not a program.");
  EXPECT_EQ(FindDaemonProgram("/elsewhere/stokerd").error().message,
            "'/elsewhere/stokerd' is not a program.");
  EXPECT_EQ(*FindDaemonProgram("/bin/true"), "/bin/true");
}

TEST_F(ClientConfigTest, FindDaemonProgram_Missing_ListsWhereItLooked) {
  setenv("PATH", "/nowhere:/else", 1);
  const auto program = FindDaemonProgram("");
  if (program.ok()) GTEST_SKIP() << "a stokerd lies beside the test";
  EXPECT_NE(program.error().message.find("/nowhere/stokerd"), std::string::npos);
  EXPECT_NE(program.error().message.find("/else/stokerd"), std::string::npos);
}

}  // namespace
}  // namespace stoker
