// Runs a fuzz target under libFuzzer: its seeds are written to a fresh folder, which is handed on
// as a corpus after the arguments given.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerRunDriver(int* argc, char*** argv,
                                   int (*callback)(const std::uint8_t* data, std::size_t size));

namespace {

int TryOne(const std::uint8_t* data, std::size_t size) {
  stoker::fuzz::TryInput({reinterpret_cast<const char*>(data), size});
  return 0;
}

std::string WriteSeeds() {
  std::string folder = (std::filesystem::temp_directory_path() / "stoker-seeds-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  int number = 0;
  for (const std::string& seed : stoker::fuzz::Seeds()) {
    std::ofstream(folder + "/" + std::to_string(number++), std::ios::binary) << seed;
  }
  return folder;
}

}  // namespace

int main(int argc, char** argv) {
  std::string seeds = WriteSeeds();
  if (seeds.empty()) {
    std::perror("Cannot make a folder for the seeds");
    return 1;
  }
  std::vector<char*> arguments(argv, argv + argc);
  arguments.push_back(seeds.data());
  arguments.push_back(nullptr);
  int count = argc + 1;
  char** values = arguments.data();
  const int status = LLVMFuzzerRunDriver(&count, &values, TryOne);
  std::filesystem::remove_all(seeds);
  return status;
}
