#include "protocol/base/host/nvidia_libraries.h"

#include <dlfcn.h>

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

Result<NvidiaLibrary> NvidiaLibrary::Load(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return NotFound(dlerror());
  return NvidiaLibrary(handle);
}

Result<NvidiaLibrary> NvidiaLibrary::LoadFirst(
    std::span<const std::string> paths, const std::function<bool(const NvidiaLibrary&)>& has_all) {
  std::string problems;
  for (const std::string& path : paths) {
    const Result<NvidiaLibrary> library = Load(path);
    if (library.ok() && has_all(*library)) return *library;
    const char* const missing = library.ok() ? dlerror() : nullptr;
    problems += "\n  " + (missing != nullptr ? missing
                          : library.ok()     ? path
                                             : library.error().message);
  }
  return NotFound(std::move(problems));
}

void* NvidiaLibrary::AddressOf(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace stoker
