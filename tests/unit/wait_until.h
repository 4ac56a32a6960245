// WaitUntil: a test waits for what another thread or process does.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace stoker {

// Ends the test program with `what` when it does not come true within two minutes: what was started
// by then would be waited for by destructors, for ever.
inline void WaitUntil(const char* what, const std::function<bool()>& is_true) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > limit) {
      std::fprintf(stderr, "Waited two minutes until %s.\n", what);
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace stoker
