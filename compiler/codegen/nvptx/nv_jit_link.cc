#include "compiler/codegen/nvptx/nv_jit_link.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "protocol/base/host/nvidia_libraries.h"

namespace stoker::codegen {
namespace {

constexpr const char* kNames[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};

// What is used of nvJitLink.h, which is the same in CUDA 12 and 13: a machine that builds Stoker
// need not have the toolkit.
using Handle = struct nvJitLink*;
constexpr int kSuccess = 0;
constexpr int kInputPtx = 2;

struct NvJitLink {
  int (*create)(Handle* handle, std::uint32_t num_options, const char** options) = nullptr;
  int (*destroy)(Handle* handle) = nullptr;
  int (*add_data)(Handle handle, int kind, const void* data, std::size_t size,
                  const char* name) = nullptr;
  int (*complete)(Handle handle) = nullptr;
  int (*cubin_size)(Handle handle, std::size_t* size) = nullptr;
  int (*cubin)(Handle handle, void* cubin) = nullptr;
  int (*error_log_size)(Handle handle, std::size_t* size) = nullptr;
  int (*error_log)(Handle handle, char* log) = nullptr;
  int (*version)(unsigned* major, unsigned* minor) = nullptr;
};

bool FindAll(const NvidiaLibrary& library, NvJitLink& api) {
  return library.Find("nvJitLinkCreate", api.create) &&
         library.Find("nvJitLinkDestroy", api.destroy) &&
         library.Find("nvJitLinkAddData", api.add_data) &&
         library.Find("nvJitLinkComplete", api.complete) &&
         library.Find("nvJitLinkGetLinkedCubinSize", api.cubin_size) &&
         library.Find("nvJitLinkGetLinkedCubin", api.cubin) &&
         library.Find("nvJitLinkGetErrorLogSize", api.error_log_size) &&
         library.Find("nvJitLinkGetErrorLog", api.error_log) &&
         library.Find("nvJitLinkVersion", api.version);
}

// The one that is named, and no other then.
std::vector<std::string> Libraries() {
  const char* const named = std::getenv("STOKER_NVJITLINK");
  if (named != nullptr && *named != '\0') return {named};
  return NvidiaLibraryPaths(NvidiaFolders::OfProcess(), kNames);
}

Result<NvJitLink> Load() {
  NvJitLink api;
  const auto library = NvidiaLibrary::LoadFirst(
      Libraries(), [&](const NvidiaLibrary& found) { return FindAll(found, api); });
  if (library.ok()) return api;
  return FailedPrecondition(
      "Kernels for CUDA need nvJitLink 12.3 or newer, which the host that compiles does not have. "
      "It comes with the CUDA toolkit (CUDA_HOME) and with the packages of PyTorch (VIRTUAL_ENV); "
      "STOKER_NVJITLINK names the library itself. Tried:" +
      library.error().message);
}

// As long as the process.
const Result<NvJitLink>& Api() {
  static const Result<NvJitLink> api = Load();
  return api;
}

// One link, destroyed with this.
class Link {
 public:
  explicit Link(const NvJitLink& api) : api_(api) {}
  ~Link() {
    if (handle_ != nullptr) api_.destroy(&handle_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Result<std::string> Run(const std::string& ptx, const std::string& arch) {
    const std::string option = "-arch=" + arch;
    const char* options[] = {option.c_str()};
    STOKER_RETURN_IF_ERROR(Check(api_.create(&handle_, 1, options), "create for " + arch));
    STOKER_RETURN_IF_ERROR(
        Check(api_.add_data(handle_, kInputPtx, ptx.data(), ptx.size(), "kernel"), "read PTX"));
    STOKER_RETURN_IF_ERROR(Check(api_.complete(handle_), "link for " + arch));
    std::size_t size = 0;
    STOKER_RETURN_IF_ERROR(Check(api_.cubin_size(handle_, &size), "size of the cubin"));
    std::string cubin(size, '\0');
    STOKER_RETURN_IF_ERROR(Check(api_.cubin(handle_, cubin.data()), "give the cubin"));
    return cubin;
  }

 private:
  Status Check(int status, const std::string& what) {
    if (status == kSuccess) return Ok();
    std::string log;
    std::size_t size = 0;
    if (handle_ != nullptr && api_.error_log_size(handle_, &size) == kSuccess && size > 0) {
      log.resize(size);
      if (api_.error_log(handle_, log.data()) != kSuccess) log.clear();
      log.resize(std::min(log.find('\0'), log.size()));
    }
    return Internal("nvJitLink, " + what + ": status " + std::to_string(status) +
                    (log.empty() ? "." : ": " + log));
  }

  const NvJitLink& api_;
  Handle handle_ = nullptr;
};

}  // namespace

Result<std::string> AssemblePtx(const std::string& ptx, const std::string& arch) {
  if (!Api().ok()) return Api().error();
  return Link(*Api()).Run(ptx, arch);
}

Result<std::string> NvJitLinkVersion() {
  if (!Api().ok()) return Api().error();
  unsigned major = 0;
  unsigned minor = 0;
  if (const int status = Api()->version(&major, &minor); status != kSuccess) {
    return Internal("nvJitLink, version: status " + std::to_string(status) + ".");
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace stoker::codegen
