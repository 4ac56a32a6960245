// FullScreen: a terminal as long as it shows one thing, and keys are read one by one.
#pragma once

#include <signal.h>
#include <termios.h>

#include <string>

namespace stoker::cli {

// The signals among which a FullScreen waits; block them before threads begin.
sigset_t SignalsOfScreens();

class FullScreen {
 public:
  // On standard output, which is a terminal; keys are those of standard input if that is one, too.
  FullScreen();
  // Leaves the terminal as it was.
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    int rows = 24;
    int columns = 80;
  };
  Size size() const;
  // Lines that end in '\n', at most as many as there are rows.
  void Show(const std::string& text);

  enum class Event { kTime, kKey, kResized, kEnd, kDescriptor };
  struct Happened {
    Event event = Event::kTime;
    char key = 0;
    int signal = 0;  // Of kEnd: SIGINT, SIGTERM or SIGHUP; 0: the keyboard is gone.
  };
  // Waits until `timeout_ms` have passed, or `descriptor` can be read. While the process is stopped
  // (Ctrl-Z) the terminal is as it was.
  Happened Wait(int timeout_ms, int descriptor);

  void Leave();

 private:
  void Enter();
  Happened OfSignal();

  const bool has_keys_;
  int signals_;
  bool is_entered_ = false;
  termios before_{};
};

}  // namespace stoker::cli
