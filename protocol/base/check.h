// STOKER_CHECK: our own invariants, on in release builds. Bad input is a Result, never a CHECK.
#pragma once

namespace stoker {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace stoker

#define STOKER_CHECK(condition)                              \
  do {                                                       \
    if (!(condition)) [[unlikely]]                           \
      ::stoker::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
