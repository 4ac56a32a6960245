// stokerd. Exit codes: 0, 1 runtime failure, 2 usage.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "daemon/admin/version.h"
#include "daemon/app.h"
#include "daemon/config.h"
#include "daemon/service/worker_main.h"
#include "daemon/service/worker_sandbox.h"

int main(int argc, char** argv) try {
  signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto command = stoker::ParseCommandLine(
      arguments, [](const char* name) -> const char* { return std::getenv(name); });
  if (!command.ok()) {
    std::fprintf(stderr, "stokerd: %s\n", command.error().message.c_str());
    return 2;
  }
  switch (command->mode) {
    case stoker::Mode::kHelp:
      std::printf("%s", stoker::HelpText().c_str());
      return 0;
    case stoker::Mode::kVersion:
      std::printf("stokerd %s\n", stoker::kDaemonVersion);
      return 0;
    case stoker::Mode::kCheckConfig:
      std::printf("%s", command->config.ToString().c_str());
      return 0;
    case stoker::Mode::kWorker:
      return stoker::RunWorker(stoker::EnterSandbox());
    case stoker::Mode::kRotateKey:
    case stoker::Mode::kServe:
      break;
  }
  const bool serves = command->mode == stoker::Mode::kServe;
  const stoker::Status status =
      serves ? stoker::RunApp(command->config) : stoker::RotateKeyOf(command->config);
  if (!status.ok()) {
    std::fprintf(stderr, "stokerd: %s\n", status.error().message.c_str());
    return 1;
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "stokerd: %s\n", e.what());
  return 1;
}
