#include "client/core/settings/environment.h"

#include <cstdlib>

namespace stoker {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace stoker
