#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::guards {

// Names of the files of compiled code in this process that may register operators of the namespace
// `space`, of four letters or more: those linked with a library whose name begins with one of
// `libraries`, do not lie below `folder`, and name it: as a text, within one ("aten::sin", if they
// call what takes such names), in a variable or in an instruction, as compilers write short texts.
// They are looked at in memory (dl_iterate_phdr(3)): what was deleted or replaced since is seen as
// it was loaded.
std::vector<std::string> LoadedFilesThatMayRegister(const std::vector<std::string>& libraries,
                                                    std::string_view folder,
                                                    std::string_view space);

}  // namespace stoker::guards
