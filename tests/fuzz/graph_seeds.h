// Graphs in text form that together use every kind of attribute, constant and dim.
#pragma once

#include <string>
#include <vector>

namespace stoker::fuzz {

std::vector<std::string> GraphTexts();

}  // namespace stoker::fuzz
