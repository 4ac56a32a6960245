#include "client/cli/output/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace stoker::cli {
namespace {

// The alternate screen, without a cursor.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEndOfLine = "\x1b[K\r\n";
constexpr std::string_view kEndOfScreen = "\x1b[K\x1b[J";

void Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // The terminal is gone; a signal says so.
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

sigset_t SignalsOfScreens() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) {
    sigaddset(&signals, number);
  }
  return signals;
}

FullScreen::FullScreen() : has_keys_(isatty(STDIN_FILENO) == 1) {
  const sigset_t signals = SignalsOfScreens();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  Enter();
}

FullScreen::~FullScreen() {
  Leave();
  close(signals_);
}

void FullScreen::Enter() {
  is_entered_ = true;
  if (has_keys_ && tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  Write(kEnter);
}

void FullScreen::Leave() {
  if (!is_entered_) return;
  is_entered_ = false;
  Write(kLeave);
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

FullScreen::Size FullScreen::size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

void FullScreen::Show(const std::string& text) {
  std::string frame(kHome);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    frame += rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    // A line break after the last line would scroll.
    frame += rest.empty() ? kEndOfScreen : kEndOfLine;
  }
  Write(frame);
}

FullScreen::Happened FullScreen::OfSignal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info) return {};
  const int number = static_cast<int>(info.ssi_signo);
  if (number == SIGWINCH) return {.event = Event::kResized};
  if (number != SIGTSTP) return {.event = Event::kEnd, .signal = number};
  Leave();
  raise(SIGSTOP);
  Enter();
  return {.event = Event::kResized};  // It may be.
}

FullScreen::Happened FullScreen::Wait(int timeout_ms, int descriptor) {
  pollfd watched[] = {
      {signals_, POLLIN, 0}, {descriptor, POLLIN, 0}, {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
  if (poll(watched, 3, timeout_ms) <= 0) return {};
  if (watched[0].revents != 0) return OfSignal();
  if (watched[1].revents != 0) return {.event = Event::kDescriptor};
  char key = 0;
  if (read(STDIN_FILENO, &key, 1) != 1) return {.event = Event::kEnd};
  return {.event = Event::kKey, .key = key};
}

}  // namespace stoker::cli
