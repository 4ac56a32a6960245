// Loaded before a program (LD_PRELOAD), it has the time of day differ from the host's by as many
// seconds as the file $SHIFTED_CLOCK holds, which may change at any time: what an administrator, or
// a time server after a long sleep, does to all processes at once. Clocks that measure how long
// something takes go on.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

time_t Shift() {
  static const char* const path = getenv("SHIFTED_CLOCK");
  char text[32] = {};
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  return size > 0 ? atoll(text) : 0;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const next = Next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += Shift();
  return result;
}

int gettimeofday(timeval* __restrict now, void* __restrict zone) noexcept {
  static auto* const next = Next<int(timeval*, void*)>("gettimeofday");
  const int result = next(now, zone);
  now->tv_sec += Shift();
  return result;
}

time_t time(time_t* now) noexcept {
  static auto* const next = Next<time_t(time_t*)>("time");
  const time_t shifted = next(nullptr) + Shift();
  if (now != nullptr) *now = shifted;
  return shifted;
}

}  // extern "C"
#pragma GCC visibility pop
