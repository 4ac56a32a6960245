#include "daemon/admin/dashboard/dashboard.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <regex>
#include <string>

#include "tests/unit/daemon/admin/test_daemon.h"

namespace stoker {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

TEST(Dashboard, Page_AsksForNothingButWhatTheDaemonServes) {
  TestDaemon daemon;
  const HttpAnswer page = daemon.Call("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page.body, Not(HasSubstr("http")));
  const std::regex reference("(?:src|href)=\"([^\"]*)\"");
  int references = 0;
  for (std::sregex_iterator it(page.body.begin(), page.body.end(), reference), end; it != end;
       ++it) {
    EXPECT_EQ(daemon.Call("GET", (*it)[1].str()).status, 200) << (*it)[1];
    ++references;
  }
  EXPECT_EQ(references, 3);
  EXPECT_EQ(daemon.Call("GET", "/dashboard/").status, 404);
  EXPECT_EQ(daemon.Call("GET", "/dashboard/../status").status, 404);
  EXPECT_EQ(daemon.Call("POST", "/dashboard/style.css").status, 404);
}

TEST(Dashboard, History_RowsHoldWhatWasCounted) {
  TestDaemon daemon;
  daemon.Compile(FakeCall(Behaviour::kGood));
  const HttpAnswer answer = daemon.Call("GET", "/dashboard/history.json?since=3600&rows=60");
  const json::array rows = json::parse(answer.body).at("rows").as_array();
  ASSERT_EQ(rows.size(), 60);
  EXPECT_EQ(rows.back().at("compiles").to_number<int>(), 1);
  EXPECT_EQ(rows.front().at("compiles").to_number<int>(), 0);
  for (const char* query : {"", "since=60", "since=60&rows=1001", "since=60&rows=0"}) {
    EXPECT_EQ(daemon.Call("GET", std::string("/dashboard/history.json?") + query).status, 400)
        << query;
  }
}

TEST(Dashboard, Entries_AreCompilesAndTheirModels) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  daemon.Compile(call);
  const json::value entries = json::parse(daemon.Call("GET", "/dashboard/entries.json").body);
  ASSERT_EQ(entries.at("slowest").as_array().size(), 1);
  EXPECT_EQ(entries.at("slowest").at(0).at("key").as_string(), call.request_key.ToHex());
  ASSERT_EQ(entries.at("models").as_array().size(), 1);
  EXPECT_EQ(entries.at("models").at(0).at("graphs"), 1);
}

TEST(Dashboard, Inspect_AWrongKey_IsRefusedAsOverTheWire) {
  TestDaemon daemon;
  const HttpAnswer answer =
      daemon.Call("GET", "/dashboard/inspect.json?namespace=default&key=zz&sections=graph");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.error().message, HasSubstr("key_prefix"));
}

}  // namespace
}  // namespace stoker
