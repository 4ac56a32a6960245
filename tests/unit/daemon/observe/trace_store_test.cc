#include "daemon/observe/trace_store.h"

#include <gmock/gmock.h>

#include "tests/unit/daemon/observe/every_namespace.h"

namespace stoker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

CompileTrace TraceOf(const std::string& ns, const std::string& key, std::size_t detail_bytes = 0) {
  CompileTrace trace;
  trace.name_space = ns;
  trace.key = Sha256Of(key);
  trace.model = key;
  trace.worker = {{"fuse", std::string(detail_bytes, 'x'), 0, 1, 0}};
  return trace;
}

TEST(TraceStore, Find_IsByBeginningAndNamespace) {
  TraceStore store;
  store.Keep(TraceOf("a", "1"));
  store.Keep(TraceOf("b", "1"));
  store.Keep(TraceOf("b", "2"));
  const std::string hex = Sha256Of("1").ToHex();
  ASSERT_THAT(store.Find(hex.substr(0, 8), "", All), SizeIs(2));
  EXPECT_EQ(store.Find(hex, "", All)[0]->name_space, "b");  // Newest first.
  EXPECT_THAT(store.Find(hex, "a", All), SizeIs(1));
  EXPECT_THAT(store.Find(hex, "c", All), IsEmpty());
  EXPECT_THAT(store.Find(hex, "", [](std::string_view ns) { return ns == "a"; }), SizeIs(1));
  EXPECT_EQ(store.Latest("", All)->model, "2");
  EXPECT_EQ(store.Latest("a", All)->model, "1");
  EXPECT_EQ(store.Latest("", [](std::string_view) { return false; }), nullptr);
}

TEST(TraceStore, Keep_ReplacesAnEarlierOneOfItsKey) {
  TraceStore store;
  store.Keep(TraceOf("a", "1"));
  CompileTrace again = TraceOf("a", "1");
  again.request_id = "again";
  store.Keep(again);
  ASSERT_THAT(store.Find("", "", All), SizeIs(1));
  EXPECT_EQ(store.Latest("", All)->request_id, "again");
}

TEST(TraceStore, IsBounded_InNumberAndBytes) {
  TraceStore store;
  for (std::size_t i = 0; i < TraceStore::kMaxTraces + 3; ++i) {
    store.Keep(TraceOf("a", std::to_string(i)));
  }
  EXPECT_THAT(store.Find("", "", All), SizeIs(TraceStore::kMaxTraces));
  EXPECT_THAT(store.Find(Sha256Of("2").ToHex(), "", All), IsEmpty());
  EXPECT_THAT(store.Find(Sha256Of("3").ToHex(), "", All), SizeIs(1));
  // Two of these fit.
  const std::size_t large = TraceStore::kMaxBytes / 5 * 2;
  for (int i = 0; i < 4; ++i) store.Keep(TraceOf("b", std::to_string(i), large));
  EXPECT_THAT(store.Find("", "b", All), SizeIs(2));
  EXPECT_THAT(store.Find("", "a", All), IsEmpty());
  store.Keep(TraceOf("c", "too large", TraceStore::kMaxBytes));
  EXPECT_THAT(store.Find("", "c", All), IsEmpty());
  store.Keep(TraceOf("d", "small"));  // What was counted was given back.
  EXPECT_THAT(store.Find("", "d", All), SizeIs(1));
}

TEST(TraceStore, MovedInto_KeepsSpansWithinTheirTime) {
  const auto spans = MovedInto({{"fits", "", 10, 20, 0},
                                {"too long", "", 90, 1000, 1},
                                {"too late", "", UINT64_MAX, UINT64_MAX, 2}},
                               1000, 1100);
  EXPECT_EQ(spans[0].start_us, 1010U);
  EXPECT_EQ(spans[0].duration_us, 20U);
  EXPECT_EQ(spans[1].start_us, 1090U);
  EXPECT_EQ(spans[1].duration_us, 10U);
  EXPECT_EQ(spans[2].start_us, 1100U);
  EXPECT_EQ(spans[2].duration_us, 0U);
}

}  // namespace
}  // namespace stoker
