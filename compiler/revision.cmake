# Writes OUTPUT, a source file with the digest of all source under FOLDERS (below ROOT) of which what the compiler makes
# of a request follows; leaves it alone if it says so already. Found by pattern: a file that somebody forgot to list
# would change what is made, and not the revision.
# Run as: cmake -DROOT= -DFOLDERS= -DOUTPUT= -P revision.cmake
set(patterns "")
foreach(folder IN LISTS FOLDERS)
  list(APPEND patterns "${ROOT}/${folder}/*.cc" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.def")
endforeach()
file(GLOB_RECURSE files RELATIVE "${ROOT}" ${patterns})
list(SORT files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 "${ROOT}/${file}" digest)
  string(APPEND all "${file} ${digest}\n")
endforeach()
string(SHA256 revision "${all}")
string(SUBSTRING "${revision}" 0 16 revision)
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#include "compiler/revision.h"

namespace stoker {

std::string_view CompilerRevision() { return "@revision@"; }

}  // namespace stoker
]])
