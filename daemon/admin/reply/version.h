// The daemon's version: the project's, set by CMake.
#pragma once

namespace stoker {

inline constexpr char kDaemonVersion[] = STOKER_VERSION;

}  // namespace stoker
