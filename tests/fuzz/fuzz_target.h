// What a fuzz target defines. The target's main is replay_main.cc or, in the fuzz preset,
// libfuzzer_main.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::fuzz {

// Sound inputs, from which mutations start.
std::vector<std::string> Seeds();

// Feeds one input, sound or not, to the code under test. Must return, whatever the bytes are;
// aborts (STOKER_CHECK) when a promise of the code under test is broken.
void TryInput(std::string_view bytes);

}  // namespace stoker::fuzz
