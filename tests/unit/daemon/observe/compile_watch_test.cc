#include "daemon/observe/compile_watch.h"

#include <gmock/gmock.h>

#include "tests/unit/daemon/observe/every_namespace.h"

namespace stoker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

wire::CompileCall Call() {
  wire::CompileCall call;
  call.ns = "team";
  call.request_key = Sha256Of("key");
  call.graph_name = "gpt2";
  return call;
}

std::vector<std::string> NamesOf(const std::vector<wire::Span>& spans) {
  std::vector<std::string> names;
  for (const wire::Span& span : spans) names.push_back(span.name);
  return names;
}

TEST(CompileWatch, FollowsACompile_AndKeepsItsTrace) {
  const auto seen = std::make_shared<Observations>();
  {
    CompileWatch watch(seen, Call(), {"id-1", "train"});
    auto active = seen->compiles.Take(All, 10).compiles;
    ASSERT_THAT(active, SizeIs(1));
    EXPECT_EQ(active[0].name_space, "team");
    EXPECT_EQ(active[0].key, Sha256Of("key"));
    EXPECT_EQ(active[0].model, "gpt2");
    EXPECT_EQ(active[0].job, "train");
    EXPECT_EQ(active[0].request_id, "id-1");
    watch.OnPlace();
    EXPECT_TRUE(seen->compiles.Take(All, 10).compiles[0].running_s);
    watch.OnSent();
    watch.OnProgress({"kernels", 1, 2, "", 0});
    EXPECT_EQ(seen->compiles.Take(All, 10).compiles[0].stage, "kernels");
    watch.OnMade({{"fuse", "", 0, 1'000'000'000, 0}});
    EXPECT_EQ(seen->compiles.Take(All, 10).compiles[0].stage, "storing");
    watch.OnChecked();
    watch.OnStored();
  }
  EXPECT_THAT(seen->compiles.Take(All, 10).compiles, IsEmpty());
  const auto trace = seen->traces.Latest("team", All);
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->request_id, "id-1");
  EXPECT_EQ(NamesOf(trace->daemon),
            (std::vector<std::string>{"queue", "hand over", "compile", "check", "store"}));
  // One after the other, without gaps.
  std::uint64_t end = 0;
  for (const wire::Span& span : trace->daemon) {
    EXPECT_EQ(span.start_us, end);
    end += span.duration_us;
  }
  EXPECT_EQ(trace->total_us, end);
  ASSERT_THAT(trace->worker, SizeIs(1));
  const wire::Span& compile = trace->daemon[2];
  EXPECT_EQ(trace->worker[0].start_us, compile.start_us);
  EXPECT_LE(trace->worker[0].duration_us, compile.duration_us);
}

TEST(CompileWatch, ACrashedWorker_ShowsInTheTrace) {
  const auto seen = std::make_shared<Observations>();
  CompileWatch watch(seen, Call(), {"id-1", "train"});
  watch.OnPlace();
  watch.OnSent();
  watch.OnSent();
  watch.OnMade({});
  watch.OnChecked();
  EXPECT_EQ(
      NamesOf(std::move(watch).Take().daemon),
      (std::vector<std::string>{"queue", "hand over", "worker that crashed", "compile", "check"}));
}

TEST(CompileWatch, WhatFails_LeavesNothing) {
  const auto seen = std::make_shared<Observations>();
  {
    CompileWatch watch(seen, Call(), "id-1");
    watch.OnPlace();
  }
  EXPECT_THAT(seen->compiles.Take(All, 10).compiles, IsEmpty());
  EXPECT_EQ(seen->traces.Latest("", All), nullptr);
}

}  // namespace
}  // namespace stoker
