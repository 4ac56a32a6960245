#include "runtime/cuda/cubin.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace stoker::cuda {
namespace {

constexpr int kMachineCuda = 190;
constexpr unsigned kMaxThreads = 1024;

template <typename T>
std::optional<T> At(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view Part(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.substr(at, size);
}

std::string_view SectionOf(std::string_view cubin, const Elf64_Ehdr& header,
                           const std::string& name) {
  const auto section = [&](std::uint64_t number) {
    return At<Elf64_Shdr>(cubin, header.e_shoff + number * header.e_shentsize);
  };
  const auto names = section(header.e_shstrndx);
  if (!names) return {};
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return {};
    // The terminator tells it from longer names.
    if (Part(cubin, names->sh_offset + one->sh_name, name.size() + 1) !=
        std::string_view(name.c_str(), name.size() + 1)) {
      continue;
    }
    return Part(cubin, one->sh_offset, one->sh_size);
  }
  return {};
}

// The three numbers of .reqntid in records of a format, an attribute, and 16 bits that for one
// format are the size of what follows.
std::optional<unsigned> RequiredThreads(std::string_view info) {
  constexpr std::uint8_t kSized = 4;
  constexpr std::uint8_t kRequiredThreads = 0x10;
  std::uint64_t at = 0;
  while (const auto format = At<std::uint8_t>(info, at)) {
    const auto attribute = At<std::uint8_t>(info, at + 1);
    const auto size = At<std::uint16_t>(info, at + 2);
    if (!attribute || !size) break;
    at += 4;
    if (*format != kSized) continue;
    if (*attribute == kRequiredThreads) {
      const auto x = At<std::uint32_t>(info, at);
      const auto y = At<std::uint32_t>(info, at + 4);
      const auto z = At<std::uint32_t>(info, at + 8);
      if (!x || y != 1U || z != 1U || *x == 0 || *x > kMaxThreads) return std::nullopt;
      return *x;
    }
    at += *size;
  }
  return std::nullopt;
}

}  // namespace

Result<unsigned> BlockThreadsOf(std::string_view cubin, std::string_view symbol) {
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  const bool is_cubin = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                        header->e_ident[EI_CLASS] == ELFCLASS64 &&
                        header->e_machine == kMachineCuda;
  if (!is_cubin) return DataLoss("it is no cubin.");
  const std::string name = ".nv.info." + std::string(symbol);
  const auto threads = RequiredThreads(SectionOf(cubin, *header, name));
  if (!threads) {
    return DataLoss("it does not say in " + name + " how many threads a block has.");
  }
  return *threads;
}

}  // namespace stoker::cuda
