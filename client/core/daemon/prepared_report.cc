#include "client/core/daemon/prepared_report.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stoker {
namespace {

// The end of a process waits for what is under way.
constexpr std::chrono::milliseconds kPatience{1000};

std::string_view EventOf(cpu::PreparedOutcome outcome) {
  switch (outcome) {
    case cpu::PreparedOutcome::kFound:
      return wire::kPreparedFound;
    case cpu::PreparedOutcome::kMade:
      return wire::kPreparedMade;
  }
  return {};
}

}  // namespace

cpu::PreparedStore::OnOutcome ReportPrepared(DaemonClientOptions daemon, std::string name_space) {
  daemon.private_daemon.reset();
  daemon.connect_timeout = std::min(daemon.connect_timeout, kPatience);
  daemon.call_timeout = std::min(daemon.call_timeout, kPatience);
  daemon.answer_timeout = std::min(daemon.answer_timeout, kPatience);
  return [daemon = std::move(daemon),
          name_space = std::move(name_space)](cpu::PreparedOutcome outcome) {
    wire::Report report;
    report.ns = name_space;
    report.counters[std::string(EventOf(outcome))] = 1;
    // A connection of its own, not kept: this happens once in the life of an executable.
    (void)DaemonClient(daemon).Report(report);
  };
}

}  // namespace stoker
