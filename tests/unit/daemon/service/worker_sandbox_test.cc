#include "daemon/service/worker/worker_sandbox.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace stoker {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
struct Probed {
  std::vector<std::string> in_force;
  std::map<std::string, int> errors;  // By attempt.
};

Probed Probe(const std::string& command = STOKER_SANDBOX_PROBE) {
  Probed probed;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char piece[4096];
  for (std::size_t n = 0; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, n);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("in ")) {
      probed.in_force.push_back(line.substr(3));
    } else {
      const std::size_t space = line.rfind(' ');
      probed.errors[line.substr(0, space)] = std::stoi(line.substr(space + 1));
    }
  }
  return probed;
}

void ExpectNothingButACompile(const Probed& probed) {
  const auto needed = {"memory", "thread", "cores", "read a limit"};
  for (const std::string attempt : needed) {
    ASSERT_TRUE(probed.errors.contains(attempt)) << attempt;
    EXPECT_EQ(probed.errors.at(attempt), 0) << attempt;
  }
  int denied = 0;
  for (const auto& [attempt, error] : probed.errors) {
    if (std::find(needed.begin(), needed.end(), attempt) != needed.end()) continue;
    EXPECT_NE(error, 0) << attempt;
    ++denied;
  }
  EXPECT_EQ(denied, 21);
}

TEST(WorkerSandbox, Enter_LeavesWhatACompileNeeds_AndNothingElse) {
  const Probed probed = Probe();
  ExpectNothingButACompile(probed);
  // No privilege is needed for these, and no kernel of the last decade is without.
  for (const char* protection : {"capabilities", "limits", "syscalls", "code"}) {
    EXPECT_THAT(probed.in_force, Contains(protection));
  }
}

// As in a container: neither capabilities nor user namespaces.
TEST(WorkerSandbox, Enter_WithoutNamespaces_FallsBack) {
  const std::string without =
      "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv "
      "--bounding-set=-all --inh-caps=-all ";
  if (std::system((without + "true' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "this host has no user namespaces to forbid";
  }
  const Probed probed = Probe(without + STOKER_SANDBOX_PROBE + "'");
  ExpectNothingButACompile(probed);
  EXPECT_THAT(probed.in_force, Contains("syscalls"));
  EXPECT_THAT(probed.in_force, Not(Contains("network")));
  EXPECT_THAT(probed.in_force, Not(Contains("files")));
}
#endif

TEST(WorkerSandbox, MissingProtections_AreThoseNotInForce) {
  EXPECT_THAT(MissingProtections({kWorkerProtections.begin(), kWorkerProtections.end()}),
              IsEmpty());
  EXPECT_EQ(MissingProtections({}).size(), kWorkerProtections.size());
  std::vector<std::string> most(kWorkerProtections.begin() + 1, kWorkerProtections.end());
  EXPECT_THAT(MissingProtections(most), testing::ElementsAre(kWorkerProtections[0]));
}

}  // namespace
}  // namespace stoker
