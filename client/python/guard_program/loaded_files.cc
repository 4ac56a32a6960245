#include "client/python/guard_program/loaded_files.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace stoker::guards {
namespace {

struct Asked {
  const std::vector<std::string>& libraries;
  std::string_view folder, text;
  std::vector<std::string> found;
};

std::span<const ElfW(Phdr)> PartsOf(const dl_phdr_info& file) {
  return {file.dlpi_phdr, file.dlpi_phnum};
}

template <typename T>
const T* InMemory(const dl_phdr_info& file, ElfW(Addr) address) {
  return reinterpret_cast<const T*>(file.dlpi_addr + address);
}

bool IsLinked(const dl_phdr_info& file, const std::vector<std::string>& libraries) {
  const auto parts = PartsOf(file);
  const auto dynamic = std::ranges::find(parts, ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
  if (dynamic == parts.end()) return false;
  const auto* const first = InMemory<ElfW(Dyn)>(file, dynamic->p_vaddr);
  const char* names = nullptr;
  for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // The loader writes addresses there, but not into what it may not write, as the kernel's file.
    const ElfW(Addr) address = entry->d_un.d_ptr;
    names = address < file.dlpi_addr ? InMemory<char>(file, address)
                                     : reinterpret_cast<const char*>(address);
  }
  if (names == nullptr) return false;
  for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const std::string_view needed = names + entry->d_un.d_val;
    if (std::ranges::any_of(libraries, [&](const auto& it) { return needed.starts_with(it); })) {
      return true;
    }
  }
  return false;
}

bool Holds(const dl_phdr_info& file, std::string_view text) {
  return std::ranges::any_of(PartsOf(file), [&](const ElfW(Phdr) & part) {
    const bool is_constant =
        part.p_type == PT_LOAD && (part.p_flags & PF_R) != 0 && (part.p_flags & PF_W) == 0;
    return is_constant && memmem(InMemory<char>(file, part.p_vaddr), part.p_filesz, text.data(),
                                 text.size()) != nullptr;
  });
}

int Ask(dl_phdr_info* file, std::size_t, void* words) {
  auto& asked = *static_cast<Asked*>(words);
  const std::string_view name = file->dlpi_name;
  if (!name.starts_with(asked.folder) && IsLinked(*file, asked.libraries) &&
      Holds(*file, asked.text)) {
    asked.found.emplace_back(name);
  }
  return 0;
}

}  // namespace

std::vector<std::string> LoadedFilesThatHold(const std::vector<std::string>& libraries,
                                             std::string_view folder, std::string_view text) {
  Asked asked{libraries, folder, text, {}};
  dl_iterate_phdr(Ask, &asked);
  return std::move(asked.found);
}

}  // namespace stoker::guards
