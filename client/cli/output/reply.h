// What daemons and files say, as JSON, for people: their texts must not steer a terminal.
#pragma once

#include <boost/json.hpp>
#include <string_view>

namespace stoker::cli {

// Every text in it, also those that name fields, as Printable (format.h) leaves them; kLines keeps
// their lines.
enum class Texts { kOneLine, kLines };
void MakePrintable(boost::json::value& value, Texts texts = Texts::kOneLine);

// Parses and makes printable.
boost::json::value ParseReply(std::string_view text, Texts texts = Texts::kOneLine);

}  // namespace stoker::cli
