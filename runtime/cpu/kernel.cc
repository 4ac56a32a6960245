#include "runtime/cpu/kernel.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "protocol/base/host/file_descriptor.h"

namespace stoker::cpu {
namespace {

// A file that exists in memory only, and holds `bytes`.
Result<FileDescriptor> MemoryFileOf(const std::string& name, std::string_view bytes) {
  // From Linux 6.3 on, a system may make memory files non-executable unless asked; older kernels
  // do not know the flag.
  constexpr unsigned kMfdExec = 0x10U;
  int fd = memfd_create(name.c_str(), MFD_CLOEXEC | kMfdExec);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0) {
    return ResourceExhausted("memfd_create: " + std::string(std::strerror(errno)) + ".");
  }
  FileDescriptor file(fd);
  if (!WriteAll(fd, bytes)) {
    return ResourceExhausted("Writing " + std::to_string(bytes.size()) +
                             " bytes to memory: " + std::string(std::strerror(errno)) + ".");
  }
  return file;
}

// A path of the file that no other kernel ever has. glibc takes two libraries for the same one when
// their paths are spelled alike, and the numbers of closed files are used again; so the digest is
// spelled into the path, in the one way that the kernel ignores: "/" for 0 and "./" for 1.
std::string UniquePath(int fd, const Digest& blob) {
  std::string path = "/proc/self/";
  for (const char byte : blob.AsBytes()) {
    for (int bit = 0; bit < 8; ++bit) path += (byte >> bit & 1) != 0 ? "./" : "/";
  }
  return path + "fd/" + std::to_string(fd);
}

bool IsX86SharedObject(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_type == ET_DYN && header.e_machine == EM_X86_64;
}

}  // namespace

Result<std::shared_ptr<const Kernel>> Kernel::Load(const Digest& blob, std::string_view bytes) {
  const std::string name = "Kernel " + blob.ToHex();
  if (const Digest actual = Sha256Of(bytes); actual != blob) {
    return DataLoss(name + " has " + std::to_string(bytes.size()) + " bytes with digest " +
                    actual.ToHex() + ".");
  }
  if (!IsX86SharedObject(bytes)) return DataLoss(name + " is no x86-64 shared object.");
  Result<FileDescriptor> file = MemoryFileOf("stoker-" + blob.ToHex().substr(0, 12), bytes);
  if (!file.ok()) return file.error().WithContext(name);

  void* const handle = dlopen(UniquePath(file->get(), blob).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return DataLoss(name + " cannot be loaded: " + dlerror() + ".");
  void* const symbol = dlsym(handle, kKernelSymbol);
  if (symbol == nullptr) {
    dlclose(handle);
    return DataLoss(name + " does not export " + kKernelSymbol + ".");
  }
  return std::shared_ptr<const Kernel>(new Kernel(handle, reinterpret_cast<CpuKernelFn>(symbol)));
}

Kernel::~Kernel() { dlclose(handle_); }

}  // namespace stoker::cpu
