// stokerd. Exit codes: 0, 1 runtime failure, 2 usage.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "daemon/admin/reply/version.h"
#include "daemon/app.h"
#include "daemon/config/config.h"
#include "daemon/log/log.h"
#include "daemon/service/worker/worker_main.h"
#include "daemon/service/worker/worker_sandbox.h"

namespace {

// Where a standard stream is closed, the next file that is opened would take its number: one of the
// database's, perhaps, into which the log would be written then.
void HoldStandardStreams() {
  while (true) {
    const int held = open("/dev/null", O_RDONLY);  // Takes the least number that is free.
    if (held >= 0 && held <= STDERR_FILENO) continue;
    if (held >= 0) close(held);
    return;
  }
}

// One line, whatever the words are that it quotes.
void Say(const std::string& why) {
  std::fprintf(stderr, "stokerd: %s\n", stoker::TextOfPayload(why).c_str());
}

constexpr const char* kNoRoom =
    "threads or memory ran out (ulimit -u, ulimit -v, the limits of its group)";

// What the libraries' exceptions leave unsaid.
std::string WhyOf(const std::exception& failure) {
  const std::string why = failure.what();
  const bool is_thread = why.find(std::strerror(EAGAIN)) != std::string::npos;
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr;
  return is_thread || is_memory ? why + ": " + kNoRoom : why;
}

// Without an exception: a thread was left behind where another could not be started.
[[noreturn]] void SayWhyItEnds() {
  std::string why = kNoRoom;
  if (const std::exception_ptr failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      why = WhyOf(e);
    } catch (...) {
      why = "an exception of no known type";
    }
  }
  Say("ends at once: " + why);
  std::abort();
}

int Run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto command = stoker::ParseCommandLine(
      arguments, [](const char* name) -> const char* { return std::getenv(name); });
  if (!command.ok()) {
    Say(command.error().message);
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
      stoker::LoadToolchain();  // There are no files inside.
      return stoker::RunWorker(stoker::EnterSandbox());
    case stoker::Mode::kRotateKey:
    case stoker::Mode::kServe:
      break;
  }
  const bool serves = command->mode == stoker::Mode::kServe;
  const stoker::Status status =
      serves ? stoker::RunApp(command->config) : stoker::RotateKeyOf(command->config);
  if (!status.ok()) {
    Say(status.error().message);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  HoldStandardStreams();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // What is beyond `ulimit -f` is a write that fails, as on a full disk.
  std::set_terminate(SayWhyItEnds);
  const int code = Run(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  Say("Standard output cannot be written.");
  return 1;
} catch (const std::exception& e) {
  Say(WhyOf(e));
  return 1;
}
