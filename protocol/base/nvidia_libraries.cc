#include "protocol/base/nvidia_libraries.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace stoker {
namespace {

// Folders under `environment` that wheels of NVIDIA fill, sorted.
std::vector<std::filesystem::path> WheelFolders(const std::filesystem::path& environment) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& python : fs::directory_iterator(environment / "lib", none)) {
    if (!python.path().filename().string().starts_with("python")) continue;
    const fs::path packages = python.path() / "site-packages" / "nvidia";
    for (const auto& package : fs::directory_iterator(packages, none)) {
      found.push_back(package.path() / "lib");
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

NvidiaFolders NvidiaFolders::OfProcess() {
  NvidiaFolders folders;
  const auto add = [](std::vector<std::string>& to, const char* variable) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && *value != '\0') to.emplace_back(value);
  };
  add(folders.toolkits, "CUDA_HOME");
  folders.toolkits.emplace_back("/usr/local/cuda");
  add(folders.environments, "VIRTUAL_ENV");
  add(folders.environments, "STOKER_VENV");
  return folders;
}

std::vector<std::string> NvidiaLibraryPaths(const NvidiaFolders& folders,
                                            std::span<const char* const> names) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  for (const std::string& environment : folders.environments) {
    for (fs::path& place : WheelFolders(environment)) places.push_back(std::move(place));
  }
  for (const fs::path toolkit : folders.toolkits) {
    places.push_back(toolkit / "lib64");
    places.push_back(toolkit / "lib");
  }
  std::vector<std::string> libraries(names.begin(), names.end());
  std::error_code none;
  for (const fs::path& place : places) {
    for (const char* name : names) {
      if (fs::exists(place / name, none)) libraries.push_back((place / name).string());
    }
  }
  return libraries;
}

}  // namespace stoker
