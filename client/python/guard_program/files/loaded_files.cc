#include "client/python/guard_program/files/loaded_files.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "client/python/guard_program/files/asked_symbols.h"

namespace stoker::guards {
namespace {

// What takes names with their namespace, as it stands in symbols: torch::Library::impl, which may
// be of any namespace, torch::RegisterOperators and c10::Dispatcher::registerImpl.
constexpr std::string_view kTakeWholeNames[] = {"7Library5_impl", "RegisterOperators",
                                                "registerImpl"};

constexpr std::size_t kBlock = std::size_t{16} << 10;

struct Asked {
  const std::vector<std::string>& symbols;
  std::string_view folder, space;
  std::vector<std::string> found;
};

std::span<const ElfW(Phdr)> PartsOf(const dl_phdr_info& file) {
  return {file.dlpi_phdr, file.dlpi_phnum};
}

// Are the first four bytes of `word` somewhere in there? Many times as fast as memmem().
bool MayHold(std::string_view text, std::string_view word) {
  using Words = std::uint32_t __attribute__((vector_size(16)));
  constexpr std::size_t kWord = sizeof(std::uint32_t), kAtOnce = sizeof(Words) + kWord - 1;
  std::uint32_t wanted = 0;
  std::memcpy(&wanted, word.data(), kWord);
  const Words all = Words{} + wanted;
  Words found{};
  std::size_t at = 0;
  for (; at + kAtOnce <= text.size(); at += sizeof(Words)) {
    for (std::size_t shift = 0; shift < kWord; ++shift) {
      Words here;
      std::memcpy(&here, text.data() + at + shift, sizeof here);
      found |= static_cast<Words>(here == all);
    }
  }
  return (found[0] | found[1] | found[2] | found[3]) != 0 ||
         text.substr(at).find(word.substr(0, kWord)) != text.npos;
}

// Has one of the `names` one of the `parts` in it?
template <typename Parts>
bool HasAny(const std::vector<std::string_view>& names, const Parts& parts) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return std::ranges::any_of(parts,
                               [&](const auto& part) { return name.find(part) != name.npos; });
  });
}

// Does this part of memory name the namespace otherwise than before "::", or within a longer name?
// Sets `in_names` where it does there.
bool NamesAlone(std::string_view text, std::string_view space, bool& in_names) {
  for (std::size_t at = 0; (at = text.find(space, at)) != text.npos; at += space.size()) {
    const std::string_view behind = text.substr(at + space.size());
    if (behind.starts_with("::")) {
      in_names = true;
    } else if (at == 0 || text[at - 1] != '_' || !behind.starts_with('_')) {
      return true;
    }
  }
  return false;
}

bool NamesAlone(const dl_phdr_info& file, std::string_view space, bool& in_names) {
  for (const ElfW(Phdr) & part : PartsOf(file)) {
    if (part.p_type != PT_LOAD || (part.p_flags & PF_R) == 0) continue;
    std::string_view left{InMemory<char>(file, part.p_vaddr), part.p_filesz};
    while (!left.empty()) {  // Blocks with a little of the next one, in which a name may end.
      const std::string_view block = left.substr(0, kBlock + space.size() + 2);
      if (MayHold(block, space) && NamesAlone(block, space, in_names)) return true;
      left.remove_prefix(std::min(kBlock, left.size()));
    }
  }
  return false;
}

int Ask(dl_phdr_info* file, std::size_t, void* words) {
  auto& asked = *static_cast<Asked*>(words);
  const std::string_view name = file->dlpi_name;
  // A way through the folder leads to another one.
  if (name.starts_with(asked.folder) && name.find("/..") == name.npos) return 0;
  const std::vector<std::string_view> symbols = SymbolsAskedBy(*file);
  if (!HasAny(symbols, asked.symbols)) return 0;
  bool in_names = false;
  if (NamesAlone(*file, asked.space, in_names) || (in_names && HasAny(symbols, kTakeWholeNames))) {
    asked.found.emplace_back(name);
  }
  return 0;
}

}  // namespace

std::vector<std::string> LoadedFilesThatMayRegister(const std::vector<std::string>& symbols,
                                                    std::string_view folder,
                                                    std::string_view space) {
  Asked asked{symbols, folder, space, {}};
  dl_iterate_phdr(Ask, &asked);
  return std::move(asked.found);
}

}  // namespace stoker::guards
