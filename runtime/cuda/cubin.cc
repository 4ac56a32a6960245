#include "runtime/cuda/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "protocol/artifact/cuda_kernel_abi.h"

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

std::optional<Elf64_Shdr> Section(std::string_view cubin, const Elf64_Ehdr& header,
                                  std::uint64_t number) {
  return At<Elf64_Shdr>(cubin, header.e_shoff + number * header.e_shentsize);
}

// Whether `name` lies at `at`. The terminator tells it from longer ones.
bool HasName(std::string_view cubin, std::uint64_t at, const std::string& name) {
  return Part(cubin, at, name.size() + 1) == std::string_view(name.c_str(), name.size() + 1);
}

// Up to the terminator; empty where there is none.
std::string_view NameAt(std::string_view cubin, std::uint64_t at) {
  constexpr std::uint64_t kMostBytes = 1024;
  const std::string_view from = cubin.substr(std::min<std::uint64_t>(at, cubin.size()), kMostBytes);
  const std::size_t size = from.find('\0');
  return size == from.npos ? std::string_view() : from.substr(0, size);
}

struct KernelInfo {
  std::string symbol;
  std::string_view info;
};

// What the sections ".nv.info.SYMBOL" say, of each kernel that is one of ours.
std::vector<KernelInfo> KernelsIn(std::string_view cubin, const Elf64_Ehdr& header) {
  constexpr std::string_view kInfo = ".nv.info.";
  std::vector<KernelInfo> kernels;
  const auto names = Section(cubin, header, header.e_shstrndx);
  for (std::uint64_t i = 0; names && i < header.e_shnum; ++i) {
    const auto one = Section(cubin, header, i);
    if (!one) break;
    std::string_view name = NameAt(cubin, names->sh_offset + one->sh_name);
    if (!name.starts_with(kInfo)) continue;
    name.remove_prefix(kInfo.size());
    if (!name.starts_with(kCudaKernelPrefix) || !name.ends_with(kCudaKernelSuffix)) continue;
    kernels.push_back({std::string(name), Part(cubin, one->sh_offset, one->sh_size)});
  }
  return kernels;
}

// What lies at `symbol` of one table of symbols.
std::optional<unsigned> ConstantIn(std::string_view cubin, const Elf64_Ehdr& header,
                                   const Elf64_Shdr& table, const std::string& symbol) {
  const auto names = Section(cubin, header, table.sh_link);
  if (!names) return std::nullopt;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto one = At<Elf64_Sym>(cubin, table.sh_offset + at);
    if (!one) return std::nullopt;
    if (!HasName(cubin, names->sh_offset + one->st_name, symbol)) continue;
    const auto within = Section(cubin, header, one->st_shndx);
    if (!within) return std::nullopt;
    return At<std::uint32_t>(Part(cubin, within->sh_offset, within->sh_size), one->st_value);
  }
  return std::nullopt;
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

Result<CubinEntry> EntryOf(std::string_view cubin) {
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  const bool is_cubin = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                        header->e_ident[EI_CLASS] == ELFCLASS64 &&
                        header->e_machine == kMachineCuda;
  if (!is_cubin) return DataLoss("it is no cubin.");
  const std::vector<KernelInfo> kernels = KernelsIn(cubin, *header);
  if (kernels.size() != 1) {
    return DataLoss("it has " + std::to_string(kernels.size()) + " kernels with names like " +
                    std::string(kCudaKernelPrefix) + "add" + std::string(kCudaKernelSuffix) +
                    "; one is expected.");
  }
  const auto threads = RequiredThreads(kernels[0].info);
  if (!threads) {
    return DataLoss("it does not say in .nv.info." + kernels[0].symbol +
                    " how many threads a block has.");
  }
  return CubinEntry{kernels[0].symbol, *threads};
}

unsigned ConstantOf(std::string_view cubin, std::string_view symbol) {
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  for (std::uint64_t i = 0; header && i < header->e_shnum; ++i) {
    const auto table = Section(cubin, *header, i);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    if (const auto value = ConstantIn(cubin, *header, *table, std::string(symbol))) return *value;
  }
  return 0;
}

}  // namespace stoker::cuda
