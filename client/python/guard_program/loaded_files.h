#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::guards {

// Names of the files of compiled code in this process that are linked with a library whose name
// begins with one of `libraries`, that do not lie below `folder`, and in whose constant memory
// `text` stands (dl_iterate_phdr(3)): what was deleted or replaced since is seen as it was loaded.
std::vector<std::string> LoadedFilesThatHold(const std::vector<std::string>& libraries,
                                             std::string_view folder, std::string_view text);

}  // namespace stoker::guards
