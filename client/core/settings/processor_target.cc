#include "client/core/settings/processor_target.h"

#include <string>

#include "client/core/settings/environment.h"

namespace stoker {

Result<std::optional<Target>> NamedProcessorTarget() {
  const std::string text = Environment("STOKER_TARGET");
  if (text.empty()) return std::optional<Target>();
  const auto refuse = [](const std::string& why) {
    return InvalidArgument("STOKER_TARGET: " + why);
  };
  Result<Target> target = Target::Parse(text);
  if (!target.ok()) return refuse(target.error().message);
  if (target->kind() != TargetKind::kCpu) {
    return refuse("target '" + text + "' is no processor; cpu/x86-64-v3 is one.");
  }
  return std::optional(*std::move(target));
}

}  // namespace stoker
