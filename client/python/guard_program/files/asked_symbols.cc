#include "client/python/guard_program/files/asked_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker::guards {
namespace {

// The loader makes addresses of what stands there, but not where it may not write, as in the
// kernel's file.
template <typename T>
const T* AtEntry(const dl_phdr_info& file, const ElfW(Dyn) & entry) {
  const ElfW(Addr) address = entry.d_un.d_ptr;
  return address < file.dlpi_addr ? InMemory<T>(file, address)
                                  : reinterpret_cast<const T*>(address);
}

struct Dynamic {
  std::string_view names;  // All, with zeros between them.
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* hashes = nullptr;
};

Dynamic DynamicOf(const dl_phdr_info& file) {
  const std::span parts{file.dlpi_phdr, file.dlpi_phnum};
  const auto part = std::ranges::find(parts, ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
  if (part == parts.end()) return {};
  Dynamic found;
  const char* names = nullptr;
  std::size_t size = 0;
  for (const auto* entry = InMemory<ElfW(Dyn)>(file, part->p_vaddr); entry->d_tag != DT_NULL;
       ++entry) {
    if (entry->d_tag == DT_STRTAB) names = AtEntry<char>(file, *entry);
    if (entry->d_tag == DT_STRSZ) size = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) found.symbols = AtEntry<ElfW(Sym)>(file, *entry);
    if (entry->d_tag == DT_GNU_HASH) found.hashes = AtEntry<std::uint32_t>(file, *entry);
  }
  if (names != nullptr) found.names = {names, size};
  return found;
}

// How many symbols stand before those that the file has for others; 0 where that is not said.
std::size_t FirstOfItsOwn(const std::uint32_t* hashes) {
  if (hashes == nullptr) return 0;
  constexpr std::size_t kHeader = 4, kFilterWords = sizeof(ElfW(Addr)) / sizeof(std::uint32_t);
  const std::span buckets{hashes + kHeader + hashes[2] * kFilterWords, hashes[0]};
  const bool is_empty = std::ranges::all_of(buckets, [](std::uint32_t it) { return it == 0; });
  return is_empty ? 0 : hashes[1];
}

}  // namespace

std::vector<std::string_view> SymbolsAskedBy(const dl_phdr_info& file) {
  const Dynamic dynamic = DynamicOf(file);
  const std::size_t count = FirstOfItsOwn(dynamic.hashes);
  if (dynamic.symbols == nullptr || count == 0) return {dynamic.names};
  std::vector<std::string_view> found;
  for (const ElfW(Sym) & symbol : std::span{dynamic.symbols, count}) {
    if (symbol.st_shndx == SHN_UNDEF) found.emplace_back(dynamic.names.data() + symbol.st_name);
  }
  return found;
}

}  // namespace stoker::guards
