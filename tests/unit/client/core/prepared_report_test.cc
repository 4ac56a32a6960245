#include "client/core/daemon/prepared_report.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "tests/unit/client/core/canned_peer.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;
using testing::StartsWith;

constexpr char kNoContent[] = "HTTP/1.1 204 No Content\r\n\r\n";

DaemonClientOptions At(const DaemonUrl& url) {
  DaemonClientOptions options;
  options.url = url;
  return options;
}

TEST(ReportPrepared, Outcome_IsOneCountOfItsEvent) {
  for (const auto& [outcome, event] : {std::pair(cpu::PreparedOutcome::kFound, "prepared.found"),
                                       std::pair(cpu::PreparedOutcome::kMade, "prepared.made")}) {
    CannedPeer peer(kNoContent, true);
    ReportPrepared(At(peer.url()), "team")(outcome);
    const std::string request = peer.Received();
    EXPECT_THAT(request, StartsWith("POST /v1/report "));
    const auto report = wire::DecodeReport(request.substr(request.find("\r\n\r\n") + 4));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->ns, "team");
    EXPECT_THAT(report->counters, ElementsAre(Pair(event, 1)));
  }
}

TEST(ReportPrepared, NoDaemon_NoneIsStarted) {
  const TempFolder folder;
  DaemonClientOptions options = At(*DaemonUrl::Parse("unix:" + folder.path() + "/s"));
  options.private_daemon = PrivateDaemonOptions{folder.path(), "/bin/false"};
  ReportPrepared(options, "team")(cpu::PreparedOutcome::kFound);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ReportPrepared, DaemonHangs_IsGivenUpSoon) {
  CannedPeer peer("", true);
  const auto start = std::chrono::steady_clock::now();
  ReportPrepared(At(peer.url()), "team")(cpu::PreparedOutcome::kMade);
  EXPECT_LT(std::chrono::steady_clock::now() - start, DaemonClientOptions().call_timeout / 2);
}

}  // namespace
}  // namespace stoker
