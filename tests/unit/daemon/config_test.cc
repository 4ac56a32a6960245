#include "daemon/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

Result<CommandLine> Parse(const std::vector<std::string>& arguments,
                          Environment environment = {{"HOME", "/users/someone"}}) {
  return ParseCommandLine(arguments, [&](const char* name) -> const char* {
    const auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
  });
}

std::string WriteFile(const std::string& text) {
  const std::string path = testing::TempDir() + "/stokerd-config-test.toml";
  std::ofstream(path) << text;
  return path;
}

TEST(Config, Parse_NothingGiven_Defaults) {
  const auto command = Parse({});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->mode, Mode::kServe);
  EXPECT_EQ(command->config.cache_dir, "/users/someone/.cache/stoker");
  EXPECT_THAT(command->config.listen,
              ElementsAre("unix:/users/someone/.cache/stoker/stokerd.sock"));
}

TEST(Config, Parse_ThreeSources_FlagOverEnvironmentOverFile) {
  const std::string file = WriteFile("workers = 2\nqueue_limit = 3\nlog_level = \"warn\"\n");
  const Environment environment = {
      {"HOME", "/users/someone"}, {"STOKER_WORKERS", "4"}, {"STOKER_QUEUE_LIMIT", "5"}};
  const auto command = Parse({"--config", file, "--workers=6"}, environment);
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->config.workers, 6);
  EXPECT_EQ(command->config.queue_limit, 5);
  EXPECT_EQ(command->config.log_level, "warn");
}

TEST(Config, Parse_RepeatedListen_KeepsAll) {
  const auto command = Parse({"--listen", "unix:/run/a.sock", "--listen", "http://127.0.0.1:8471"});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_THAT(command->config.listen, ElementsAre("unix:/run/a.sock", "http://127.0.0.1:8471"));
}

TEST(Config, Parse_BadValues_NameOptionAndValue) {
  const std::string unknown = WriteFile("worker = 2\n");
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } kRows[] = {
      {{"--worker-count", "2"}, "Unknown option '--worker-count'"},
      {{"--workers"}, "Option '--workers' needs a value"},
      {{"--workers", "0"}, "'0' is not a whole number from 1 to 256"},
      {{"--workers", "two"}, "'two' is not a whole number"},
      {{"--log-level", "loud"}, "'loud' is none of"},
      {{"--listen", "http://0.0.0.0:8471"}, "not a loopback address"},
      {{"--config", unknown}, "unknown key 'worker'"},
  };
  for (const auto& row : kRows) {
    const auto command = Parse(row.arguments);
    ASSERT_FALSE(command.ok()) << row.message;
    EXPECT_EQ(command.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(command.error().message, HasSubstr(row.message));
  }
}

TEST(Config, Parse_BadVariable_NamesTheVariable) {
  const auto command = Parse({}, {{"HOME", "/users/someone"}, {"STOKER_WORKERS", "many"}});
  ASSERT_FALSE(command.ok());
  EXPECT_THAT(command.error().message, HasSubstr("STOKER_WORKERS"));
}

}  // namespace
}  // namespace stoker
