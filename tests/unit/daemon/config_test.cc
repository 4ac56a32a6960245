#include "daemon/config/config.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Result<CommandLine> Parse(const std::vector<std::string>& arguments,
                          const Variables& variables = {{"HOME", "/users/u"}}) {
  return ParseCommandLine(arguments, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(Config, Parse_Nothing_GivesDefaults) {
  const auto command = Parse({});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->mode, Mode::kServe);
  EXPECT_EQ(command->config.cache_dir, "/users/u/.cache/stoker");
  EXPECT_THAT(command->config.listen, ElementsAre("unix:/users/u/.cache/stoker/stokerd.sock"));
  EXPECT_EQ(command->config.workers, 1);
  EXPECT_EQ(command->config.idle_timeout_s, 0);
}

TEST(Config, Parse_CacheFolderTooLongForASocket_IsAnErrorUnlessAnotherIsNamed) {
  const std::string folder = "/" + std::string(200, 'c');
  const auto refused = Parse({"--cache-dir", folder});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr(folder + "/stokerd.sock"));
  EXPECT_TRUE(Parse({"--cache-dir", folder, "--listen", "unix:/s"}).ok());
}

// toml++ 3.3 calls U+0228 in a key unreachable.
TEST(Config, Parse_LetterOutsideOfAscii_IsAnError) {
  TempFolder folder;
  const auto command = Parse({"--config", folder.Write("c.toml", "work\xc8\xa8rs = 2\n")});
  ASSERT_FALSE(command.ok());
  EXPECT_THAT(command.error().message, HasSubstr("ine 1"));
}

TEST(Config, Parse_Precedence_FlagThenVariableThenFile) {
  TempFolder folder;
  const std::string file = folder.Write(
      "c.toml", "workers = 2\nqueue_limit = 20\ncompile_timeout_s = 200\nlog_level = \"debug\"\n");
  const auto command =
      Parse({"--config", file, "--workers", "4"},
            {{"HOME", "/h"}, {"STOKER_WORKERS", "3"}, {"STOKER_QUEUE_LIMIT", "30"}});
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->config.workers, 4);
  EXPECT_EQ(command->config.queue_limit, 30);
  EXPECT_EQ(command->config.compile_timeout_s, 200);
  EXPECT_EQ(command->config.log_level, "debug");
  EXPECT_EQ(command->config.drain_timeout_s, Config().drain_timeout_s);
}

TEST(Config, Parse_FileFromEnvironment_IsRead) {
  TempFolder folder;
  const std::string file = folder.Write("c.toml", "workers = 7\n");
  const auto command = Parse({}, {{"HOME", "/h"}, {"STOKER_CONFIG", file}});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->config.workers, 7);
}

TEST(Config, Parse_Listen_Repeats) {
  TempFolder folder;
  const std::string file =
      folder.Write("c.toml", "listen = [\"unix:/a\", \"http://127.0.0.1:1\"]\n");
  EXPECT_THAT(Parse({"--config", file})->config.listen,
              ElementsAre("unix:/a", "http://127.0.0.1:1"));
  EXPECT_THAT(
      Parse({"--config", file, "--listen=unix:/b", "--listen", "http://[::1]:0"})->config.listen,
      ElementsAre("unix:/b", "http://[::1]:0"));
  EXPECT_THAT(
      Parse({}, {{"HOME", "/h"}, {"STOKER_LISTEN", "unix:/c http://localhost:2"}})->config.listen,
      ElementsAre("unix:/c", "http://localhost:2"));
  // A variable that says nothing takes nothing back.
  for (const char* nothing : {"", " ", "\n\t "}) {
    EXPECT_THAT(
        Parse({"--config", file}, {{"HOME", "/h"}, {"STOKER_LISTEN", nothing}})->config.listen,
        ElementsAre("unix:/a", "http://127.0.0.1:1"));
  }
}

TEST(Config, Parse_Switch_StandsAloneOrHasAValue) {
  TempFolder folder;
  const std::string file = folder.Write("c.toml", "insecure = true\n");
  EXPECT_FALSE(Parse({})->config.insecure);
  EXPECT_TRUE(Parse({"--insecure", "--listen", "http://0.0.0.0:1"})->config.insecure);
  EXPECT_TRUE(Parse({"--config", file})->config.insecure);
  EXPECT_FALSE(Parse({"--config", file, "--insecure=false"})->config.insecure);
  EXPECT_TRUE(Parse({}, {{"HOME", "/h"}, {"STOKER_INSECURE", "true"}})->config.insecure);
}

TEST(Config, Parse_NamespaceQuotas_AreATableInTheFile) {
  TempFolder folder;
  const std::string file =
      folder.Write("c.toml", "[namespace_quota_bytes]\nteam = 5000\n\"a.b\" = 7\n");
  using Quotas = std::map<std::string, std::int64_t>;
  const auto read = Parse({"--config", file});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->config.namespace_quota_bytes, (Quotas{{"team", 5000}, {"a.b", 7}}));
  EXPECT_EQ(Parse({"--namespace-quota-bytes=a=1", "--namespace-quota-bytes", "b=2"})
                ->config.namespace_quota_bytes,
            (Quotas{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(Parse({}, {{"HOME", "/h"}, {"STOKER_NAMESPACE_QUOTA_BYTES", "a=1 b=2"}})
                ->config.namespace_quota_bytes,
            (Quotas{{"a", 1}, {"b", 2}}));
}

TEST(Config, Parse_CacheDir_ComesFromXdgAndIsAbsolute) {
  EXPECT_EQ(Parse({}, {{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}})->config.cache_dir, "/x/stoker");
  const auto relative = Parse({"--cache-dir", "c"});
  ASSERT_TRUE(relative.ok());
  EXPECT_TRUE(relative->config.cache_dir.starts_with('/'));
  EXPECT_THAT(relative->config.listen,
              ElementsAre("unix:" + relative->config.cache_dir + "/stokerd.sock"));
  const auto none = Parse({}, {});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("HOME is unset"));
}

struct Wrong {
  std::string name;
  std::vector<std::string> arguments;
  Variables variables;
  std::string file;  // TOML; not empty: passed with --config.
  std::vector<std::string> said;
};

class WrongConfig : public testing::TestWithParam<Wrong> {};

TEST_P(WrongConfig, Parse_Fails_NamingOptionValueAndSource) {
  TempFolder folder;
  std::vector<std::string> arguments = GetParam().arguments;
  if (!GetParam().file.empty()) {
    arguments.push_back("--config=" + folder.Write("c.toml", GetParam().file));
  }
  Variables variables = GetParam().variables;
  variables["HOME"] = "/h";
  const auto command = Parse(arguments, variables);
  ASSERT_FALSE(command.ok());
  EXPECT_EQ(command.error().code, ErrorCode::kInvalidArgument);
  for (const std::string& part : GetParam().said) {
    EXPECT_THAT(command.error().message, HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongConfig,
    testing::Values(
        Wrong{
            "ZeroByte", {}, {}, "cache_dir = \"/tmp/\\u0000x\"", {"cache_dir", "has a zero byte"}},
        Wrong{"UnknownFlag", {"--worker-count", "1"}, {}, "", {"'--worker-count'"}},
        Wrong{"StrayWord", {"serve"}, {}, "", {"'serve'"}},
        Wrong{"NoValue", {"--workers"}, {}, "", {"'--workers' needs a value"}},
        Wrong{"NoNumber", {"--workers", "many"}, {}, "", {"'--workers'", "'many'", "1 to 256"}},
        Wrong{"TooLarge", {"--workers=257"}, {}, "", {"'--workers'", "'257'", "1 to 256"}},
        Wrong{"Trailing", {"--workers=2x"}, {}, "", {"'2x'"}},
        Wrong{"Empty", {"--workers="}, {}, "", {"'--workers'", "''"}},
        Wrong{"EmptyAuthority", {"--tls-client-ca", ""}, {}, "", {"'--tls-client-ca'", "''"}},
        Wrong{"Variable", {}, {{"STOKER_WORKERS", "0"}}, "", {"'STOKER_WORKERS'", "'0'"}},
        Wrong{"FolderOfNoText", {}, {{"XDG_CACHE_HOME", "/\xe9"}}, "", {"cache folder", "UTF-8"}},
        Wrong{"Choice", {"--log-level=loud"}, {}, "", {"'--log-level'", "'loud'", "debug"}},
        Wrong{"FileKey", {}, {}, "worker = 1\n", {"unknown key 'worker'", "c.toml"}},
        Wrong{"FileType", {}, {}, "workers = 1.5\n", {"'workers'", "whole number"}},
        Wrong{"FileTable", {}, {}, "[workers]\nmax = 1\n", {"'workers'"}},
        Wrong{"FileValue", {}, {}, "workers = 0\n", {"'workers'", "'0'", "c.toml"}},
        Wrong{"FileList", {}, {}, "workers = [1, 2]\n", {"'workers'"}},
        Wrong{"FileSyntax", {}, {}, "workers = \nqueue_limit", {"c.toml", "Line 1"}},
        Wrong{"FileMissing", {"--config=/nonexistent"}, {}, "", {"/nonexistent"}},
        Wrong{"QuotaForm", {"--namespace-quota-bytes=team"}, {}, "", {"'team'", "NAMESPACE=BYTES"}},
        Wrong{"QuotaName", {"--namespace-quota-bytes=A=5"}, {}, "", {"'A'"}},
        Wrong{"QuotaValue", {"--namespace-quota-bytes=a=0"}, {}, "", {"'0'", "from 1"}},
        Wrong{"QuotaTable", {}, {}, "[namespace_quota_bytes]\na = 1.5\n", {"whole number"}},
        Wrong{"QuotaNested", {}, {}, "[namespace_quota_bytes]\na.b = 1\n", {"whole number"}},
        Wrong{"Address", {"--listen=tcp:1"}, {}, "", {"'--listen'", "'tcp:1'"}},
        Wrong{"Switch", {"--insecure=yes"}, {}, "", {"'--insecure'", "'yes'", "neither true"}},
        Wrong{"SwitchInFile", {}, {}, "insecure = 1\n", {"'insecure'", "'1'", "c.toml"}},
        Wrong{"NoKey",
              {"--listen=https://[::1]:1", "--tls-certificate=/c"},
              {},
              "",
              {"'https://[::1]:1'", "--tls-key"}},
        Wrong{"Beyond",
              {"--listen=http://0.0.0.0:1"},
              {},
              "",
              {"'http://0.0.0.0:1'", "TLS", "credential", "--insecure"}}),
    [](const auto& row) { return row.param.name; });

TEST(Config, Parse_Modes) {
  EXPECT_EQ(Parse({"--help"})->mode, Mode::kHelp);
  EXPECT_EQ(Parse({"--version"})->mode, Mode::kVersion);
  EXPECT_EQ(Parse({"--worker"})->mode, Mode::kWorker);
  EXPECT_EQ(Parse({"--check-config", "--workers=3"})->mode, Mode::kCheckConfig);
}

// --check-config prints what a configuration file may hold.
TEST(Config, ToString_ReadBack_GivesTheSameConfig) {
  const auto command = Parse({"--workers=3", "--log-file=/l", "--listen=http://[::]:1",
                              "--insecure", "--namespace-quota-bytes=a.b=5"});
  ASSERT_TRUE(command.ok());
  TempFolder folder;
  const std::string file = folder.Write("c.toml", command->config.ToString());
  const auto again = Parse({"--config", file});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->config.ToString(), command->config.ToString());
  EXPECT_EQ(again->config.workers, 3);
}

TEST(Config, HelpText_ListsEveryOption) {
  const Config defaults;
  std::istringstream lines(defaults.ToString());
  for (std::string line; std::getline(lines, line);) {
    std::string name = line.substr(0, line.find(' '));
    std::replace(name.begin(), name.end(), '_', '-');
    EXPECT_THAT(HelpText(), HasSubstr("--" + name + " "));
  }
}

}  // namespace
}  // namespace stoker
