// A CUDA driver over host memory, for tests: two GPUs of compute capability 9.0, of 4 SMs each,
// whose streams do nothing until somebody waits. It is a library of its own, libfake_cuda.so,
// loaded the way the real one is; this is how tests talk to it. Of real cubins it runs nothing: it
// notes "launch 4x256 (PARAMETER ...) stream 1 gpu 0".
#pragma once

#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/base/check.h"

extern "C" struct CUstream_st;

namespace stoker::cuda {

// What follows the ELF header of a module that it loads.
struct FakeModule {
  static constexpr std::uint64_t kMagic = 0x656c75646f4d6b61;
  static constexpr std::uint32_t kMostSharedBytes = 1 << 17;

  std::uint64_t magic = kMagic;
  std::uint32_t threads = 128;        // Of a block.
  std::uint32_t most_threads = 1024;  // That the driver says a launch may have.
  std::uint32_t parameters = 0;
  std::uint32_t shared_bytes = 0;  // Dynamic ones, of a block.
  std::uint64_t kernel = 0;        // What `run` is given.
};

struct FakeDriver {
  using RunFn = void (*)(std::uint64_t kernel, unsigned blocks, const std::uint64_t* parameters);

  void (*reset)();                              // As if just loaded; `run` stays.
  void (*set_run)(RunFn run);                   // What a launch does.
  void (*fail)(const char* symbol, int error);  // Every call of it from now on; 0: no more.
  void (*set_version)(int version);
  void (*set_devices)(int devices);
  void (*set_memory_pools)(int supported);
  void (*set_memory)(std::size_t bytes);  // Of each GPU.
  int (*live)();                          // Contexts, modules, streams, events, memory.
  const char* (*log)();  // What was done, in order: "launch 4x256", "copy in 16", ...
  // Gives a stream what a library does on it: `run`, as often as a graph is launched. `release` is
  // called when nobody will.
  int (*enqueue)(CUstream_st* stream, void (*run)(void* data), void* data, void (*release)(void*));
  void (*set_attribute)(int number);  // Of launches, that kernels in graphs have; 0: none.
  // From here on the stream does nothing, and what it is given is noted as a graph.
  void (*begin_capture)(CUstream_st* stream);
  // The graph, in the order in which it was given: "launch 4x128; fill 16 after 0", ...
  const char* (*end_capture)(CUstream_st* stream);
  // Runs the last graph, once, in an order that its edges allow: 0: what was given last goes first,
  // wherever it may; otherwise a random one.
  void (*replay)(unsigned seed);
};

inline FakeDriver& Fake() {
  static FakeDriver* const driver = [] {
    void* const library = dlopen(STOKER_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    STOKER_CHECK(library != nullptr);
    const auto get = reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "stoker_fake_cuda"));
    STOKER_CHECK(get != nullptr);
    return get();
  }();
  return *driver;
}

// A cubin as far as anybody looks: the module, the threads of a block where real ones say them, and
// the constant that says its dynamic shared memory, where it has some.
inline std::string FakeCubin(const FakeModule& module,
                             const std::string& symbol = "stoker_cuda_kernel_1") {
  const std::string names = std::string(".names") + '\0' + "stoker_cuda_shared_bytes_1" + '\0' +
                            ".nv.info." + symbol + '\0';
  const std::uint32_t info[] = {0x000c1004, module.threads, 1, 1};
  Elf64_Sym constant{};
  constant.st_name = 7;
  constant.st_shndx = 3;
  Elf64_Shdr sections[4]{};
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = module.shared_bytes == 0 ? 2 : 4;
  std::string bytes(sizeof header, '\0');
  const auto append = [&](const void* from, std::size_t size) {
    const std::size_t at = bytes.size();
    bytes.append(static_cast<const char*>(from), size);
    return at;
  };
  append(&module, sizeof module);
  const auto add = [&](Elf64_Shdr& section, const void* from, std::size_t size) {
    section.sh_offset = append(from, size);
    section.sh_size = size;
  };
  add(sections[0], names.data(), names.size());
  sections[1].sh_name = 34;
  add(sections[1], info, sizeof info);
  sections[2].sh_type = SHT_SYMTAB;
  add(sections[2], &constant, sizeof constant);
  add(sections[3], &module.shared_bytes, sizeof module.shared_bytes);
  header.e_shoff = append(sections, header.e_shnum * sizeof sections[0]);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace stoker::cuda
