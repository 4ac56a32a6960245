#include "daemon/observe/active_compiles.h"

#include <gmock/gmock.h>

#include "tests/unit/daemon/observe/every_namespace.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class ActiveCompilesTest : public testing::Test {
 protected:
  ActiveCompiles::Id Add(const std::string& ns, const std::string& model) {
    ActiveCompile compile;
    compile.name_space = ns;
    compile.model = model;
    return active_.Add(compile);
  }

  ActiveCompiles::Clock::time_point now_{1h};
  ActiveCompiles active_{[this] { return now_; }};
};

TEST_F(ActiveCompilesTest, Take_TellsTimesAndStages) {
  const auto id = Add("a", "gpt2");
  now_ += 3s;
  auto snapshot = active_.Take(All, 10);
  ASSERT_THAT(snapshot.compiles, SizeIs(1));
  EXPECT_EQ(snapshot.compiles[0].stage, "queued");
  EXPECT_EQ(snapshot.compiles[0].waited_s, 3);
  EXPECT_EQ(snapshot.compiles[0].running_s, std::nullopt);
  EXPECT_EQ(snapshot.oldest_waiting_s, 3);
  active_.GivePlace(id);
  now_ += 4s;
  active_.Report(id, {"kernels", 5, 7, "softmax", 0.5});
  snapshot = active_.Take(All, 10);
  EXPECT_EQ(snapshot.compiles[0].stage, "kernels");
  EXPECT_EQ(snapshot.compiles[0].done, 5U);
  EXPECT_EQ(snapshot.compiles[0].total, 7U);
  EXPECT_EQ(snapshot.compiles[0].waited_s, 3);
  EXPECT_EQ(snapshot.compiles[0].running_s, 4);
  EXPECT_EQ(snapshot.oldest_waiting_s, 0);
  active_.Remove(id);
  EXPECT_THAT(active_.Take(All, 10).compiles, IsEmpty());
}

TEST_F(ActiveCompilesTest, Take_ShowsWhatRunsFirst_AsFarAsItMay) {
  Add("a", "waits long");
  now_ += 1s;
  Add("a", "waits");
  active_.GivePlace(Add("a", "runs"));
  active_.GivePlace(Add("secret", "runs, too"));
  now_ += 1s;
  const auto snapshot =
      active_.Take([](std::string_view ns) { return ns != "secret"; }, /*limit=*/2);
  ASSERT_THAT(snapshot.compiles, SizeIs(2));
  EXPECT_EQ(snapshot.compiles[0].model, "runs");
  EXPECT_EQ(snapshot.compiles[1].model, "waits long");
  EXPECT_EQ(snapshot.oldest_waiting_s, 2);
}

}  // namespace
}  // namespace stoker
