#include "cache/rocks/database/engine_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stoker {
namespace {

TEST(EngineLogTest, Errors_EachKind_OnceAMinute) {
  std::vector<std::string> said;
  std::chrono::steady_clock::time_point now;
  EngineLog log([&](std::string_view message) { said.emplace_back(message); }, [&] { return now; });
  rocksdb::Logger& logger = log;
  for (int i = 0; i < 3; ++i) {
    rocksdb::Error(&logger, "no room for %d\n", i);
    rocksdb::Warn(&logger, "of no concern");
    rocksdb::Error(&logger, "broken");
  }
  EXPECT_THAT(said,
              testing::ElementsAre("RocksDB: [ERROR] no room for 0", "RocksDB: [ERROR] broken"));
  now += std::chrono::minutes(1);
  rocksdb::Error(&logger, "broken");
  EXPECT_EQ(said.size(), 3u);
}

TEST(EngineLogTest, LongErrors_AreCut) {
  std::string said;
  EngineLog log([&](std::string_view message) { said = message; });
  rocksdb::Error(&log, "%s", std::string(10000, 'x').c_str());
  EXPECT_THAT(said, testing::StartsWith("RocksDB: [ERROR] xxx"));
  EXPECT_LT(said.size(), 1000u);
}

}  // namespace
}  // namespace stoker
