// Text form of attribute values and of the strings in them. Private to protocol/graph.
#pragma once

#include <string>
#include <string_view>

#include "protocol/graph/attribute.h"

namespace stoker {

void AppendText(const AttrValue& value, std::string& out);
void AppendQuoted(std::string_view text, std::string& out);
// Shortest text that reads back as the same double; "inf", "-inf", "nan".
void AppendDouble(double value, std::string& out);

}  // namespace stoker
