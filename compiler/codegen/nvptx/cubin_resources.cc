#include "compiler/codegen/nvptx/cubin_resources.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "protocol/base/check.h"

namespace stoker {
namespace {

template <typename T>
T At(std::string_view bytes, std::size_t at) {
  STOKER_CHECK(at + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Records of a format, an attribute and 16 bits, which for one format are the size of what follows.
void ReadInfo(std::string_view section, CubinResources& resources) {
  constexpr std::uint8_t kSized = 4;
  constexpr std::uint8_t kFrameSize = 0x11;
  constexpr std::uint8_t kMinStackSize = 0x12;
  constexpr std::uint8_t kRegisters = 0x2f;
  for (std::size_t at = 0; at + 4 <= section.size();) {
    const auto format = At<std::uint8_t>(section, at);
    const auto attribute = At<std::uint8_t>(section, at + 1);
    const auto size = At<std::uint16_t>(section, at + 2);
    at += 4;
    if (format != kSized) continue;
    if (size == 8) {  // A function and its value.
      const auto value = static_cast<int>(At<std::uint32_t>(section, at + 4));
      if (attribute == kRegisters) resources.registers = std::max(resources.registers, value);
      if (attribute == kFrameSize || attribute == kMinStackSize) {
        resources.stack_bytes = std::max(resources.stack_bytes, value);
      }
    }
    at += size;
  }
}

}  // namespace

CubinResources ResourcesOf(std::string_view cubin) {
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  STOKER_CHECK(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  const auto section = [&](std::size_t number) {
    return At<Elf64_Shdr>(cubin, header.e_shoff + number * header.e_shentsize);
  };
  const std::string_view names = cubin.substr(section(header.e_shstrndx).sh_offset);
  CubinResources resources;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (std::string_view(names.data() + one.sh_name) != ".nv.info") continue;
    ReadInfo(cubin.substr(one.sh_offset, one.sh_size), resources);
  }
  return resources;
}

}  // namespace stoker
