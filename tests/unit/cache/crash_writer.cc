// What the crash tests kill: opens a cache folder and writes artifacts, saying each step.
//   cache_crash_writer FOLDER hold            opens, says "open", waits
//   cache_crash_writer FOLDER step N          stops and waits after step N of one artifact
//   cache_crash_writer FOLDER run FIRST N     publishes artifacts FIRST, FIRST + 1, ..., and waits
//                                             after N of them
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cache/stack/stack.h"
#include "tests/unit/cache/sample_artifact.h"

namespace stoker {
namespace {

[[noreturn]] void WaitForTheEnd() {
  while (true) pause();
}

void Say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int Run(const char* folder, const char* mode, int argument, int count) {
  StackConfig config;
  config.path = folder;
  config.min_free_disk_bytes = 0;
  Result<std::unique_ptr<CacheStack>> stack = CacheStack::Open(config, nullptr);
  if (!stack.ok()) {
    Say("error: " + stack.error().message);
    return 1;
  }
  Say("open");
  if (std::strcmp(mode, "hold") == 0) WaitForTheEnd();
  if (std::strcmp(mode, "step") == 0) {
    const SampleArtifact sample(7);
    for (int step = 0; step < argument; ++step) STOKER_CHECK(sample.Store(**stack, step).ok());
    Say("done");
    WaitForTheEnd();
  }
  for (int i = argument; i < argument + count; ++i) {
    const SampleArtifact sample(i);
    for (int step = 0; step < SampleArtifact::kSteps; ++step) {
      STOKER_CHECK(sample.Store(**stack, step).ok());
    }
    Say(std::to_string(i));
  }
  WaitForTheEnd();
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return stoker::Run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 0,
                     argc > 4 ? std::atoi(argv[4]) : 0);
}
