#define TOML_IMPLEMENTATION  // Of toml++, with the assertions of parse.h.
#include "daemon/toml/parse.h"

#include <string>

namespace stoker {

Result<toml::table> ParseToml(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return InvalidArgument("Line " + std::to_string(error.source().begin.line) + ": " +
                           std::string(error.description()) + ".");
  } catch (const std::logic_error&) {
    return InvalidArgument("It is not TOML.");
  }
}

}  // namespace stoker
