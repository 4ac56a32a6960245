#include "compiler/timing/laps.h"

#include <gtest/gtest.h>

#include <vector>

namespace stoker {
namespace {

TEST(Laps, End_GivesOneStepAfterTheOther) {
  std::vector<CompileSpan> spans;
  const SpanSink sink = [&](CompileSpan span) { spans.push_back(std::move(span)); };
  Laps laps(sink, 3, "softmax");
  laps.End("emit");
  laps.End("link");
  laps.EndAll("kernel");
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].name, "emit");
  EXPECT_EQ(spans[1].name, "link");
  EXPECT_EQ(spans[2].name, "kernel");
  EXPECT_EQ(spans[0].end, spans[1].begin);
  EXPECT_EQ(spans[2].begin, spans[0].begin);
  EXPECT_GE(spans[2].end, spans[1].end);
  for (const CompileSpan& span : spans) {
    EXPECT_LE(span.begin, span.end);
    EXPECT_EQ(span.thread, 3);
    EXPECT_EQ(span.detail, "softmax");
  }
}

TEST(Laps, WithoutASink_IsNothing) {
  const SpanSink nobody;
  Laps laps(nobody);
  laps.End("emit");
  laps.EndAll("kernel");
}

}  // namespace
}  // namespace stoker
