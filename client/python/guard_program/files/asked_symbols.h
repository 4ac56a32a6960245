#pragma once

#include <link.h>

#include <string_view>
#include <vector>

namespace stoker::guards {

// What lies at an address that a loaded file names.
template <typename T>
const T* InMemory(const dl_phdr_info& file, ElfW(Addr) address) {
  return reinterpret_cast<const T*>(file.dlpi_addr + address);
}

// Names of the symbols that a loaded file of compiled code asks other files for, as they are in
// memory (elf(5), and its table of hashes, behind which what the file itself has begins). Where
// that is not to be told, all names that it holds, in one. A file need not say what others have
// them.
std::vector<std::string_view> SymbolsAskedBy(const dl_phdr_info& file);

}  // namespace stoker::guards
