// Runs a fuzz target under libFuzzer: its seeds are written to a fresh folder, which is handed on
// as a corpus after the arguments given; where these name files, those alone are run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerRunDriver(int* argc, char*** argv,
                                   int (*callback)(const std::uint8_t* data, std::size_t size));

// What an execution frees stays poisoned beyond its end, and no longer: fresh pages take much time.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }

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
  const bool names_files = std::any_of(argv + 1, argv + argc, [](const char* argument) {
    return std::filesystem::is_regular_file(argument);
  });
  if (!names_files) arguments.push_back(seeds.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  char** values = arguments.data();
  const int status = LLVMFuzzerRunDriver(&count, &values, TryOne);
  std::filesystem::remove_all(seeds);
  return status;
}
