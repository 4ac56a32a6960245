#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::guards {

// Names of the files of compiled code in this process that may register operators of the namespace
// `space`, of four letters or more: those that ask others for a symbol with one of `symbols` in its
// name, do not lie below `folder`, and name the namespace: as a text, within one ("aten::sin", if
// they call what takes such names), in a variable or in an instruction, as compilers write short
// texts. They are looked at in memory (dl_iterate_phdr(3)): what was deleted or replaced since is
// seen as it was loaded.
std::vector<std::string> LoadedFilesThatMayRegister(const std::vector<std::string>& symbols,
                                                    std::string_view folder,
                                                    std::string_view space);

}  // namespace stoker::guards
