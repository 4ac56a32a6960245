#include "compiler/timing/laps.h"

#include <utility>

namespace stoker {

void Laps::Report(std::string_view name, CompileSpan::Clock::time_point* begin) {
  const auto now = CompileSpan::Clock::now();
  sink_({std::string(name), detail_, thread_, std::exchange(*begin, now), now});
}

}  // namespace stoker
