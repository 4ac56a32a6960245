// What a host can tell of files without reading them: enough to see that none has changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// A line of each file below `folder` whose name ends in `suffix`, sorted by path: its path below
// the folder, bytes, nanoseconds of the last change of its content and of its status, inode.
// Links are followed. `without`: names in the folder itself that are left out. What cannot be
// looked at is left out too.
std::string ListFiles(const std::string& folder, std::string_view suffix,
                      const std::vector<std::string>& without);

}  // namespace stoker
