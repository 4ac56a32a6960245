#include "runtime/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <vector>

#include "protocol/base/nvidia_libraries.h"

namespace stoker::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

template <typename Function>
bool Find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

bool FindAll(void* library, CublasLtApi& api) {
  bool all = Find(library, "cublasLtGetStatusName", api.status_name);
#define STOKER_CUBLAS_LT_FIND(member, symbol, parameters) \
  all = all && Find(library, symbol, api.member);
  STOKER_CUBLAS_LT_API(STOKER_CUBLAS_LT_FIND)
#undef STOKER_CUBLAS_LT_FIND
  return all;
}

}  // namespace

std::vector<std::string> CublasLt::Paths() {
  return NvidiaLibraryPaths(NvidiaFolders::OfProcess(), kNames);
}

Result<std::shared_ptr<const CublasLt>> CublasLt::Load(std::shared_ptr<const Context> context,
                                                       std::span<const std::string> paths) {
  std::shared_ptr<CublasLt> lt(new CublasLt(std::move(context)));
  std::string problems;
  bool is_found = false;
  for (const std::string& path : paths) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // As long as the process.
    is_found = library != nullptr && FindAll(library, lt->api_);
    if (is_found) break;
    const char* const problem = dlerror();
    problems += "\n  " + std::string(problem == nullptr ? path.c_str() : problem);
  }
  if (!is_found) {
    return FailedPrecondition(
        "Matrix products on a GPU need cuBLASLt (" + std::string(kNames[0]) +
        "), which is not found. It comes with the CUDA toolkit (CUDA_HOME) and with PyTorch's "
        "packages (VIRTUAL_ENV). Tried:" +
        problems);
  }
  const Context::Current current(lt->context());
  const Status created = lt->Check(lt->api_.create(&lt->handle_), "cublasLtCreate");
  if (!created.ok()) {
    lt->handle_ = nullptr;
    return FailedPrecondition("cuBLASLt cannot be used on this GPU: " + created.error().message);
  }
  return std::shared_ptr<const CublasLt>(std::move(lt));
}

CublasLt::~CublasLt() {
  if (handle_ == nullptr) return;
  const Context::Current current(*context_);
  api_.destroy(handle_);
}

Status CublasLt::Check(int status, std::string_view what) const {
  if (status == kLtSuccess) return Ok();
  const char* const name = api_.status_name(status);
  return Internal(std::string(what) + ": " +
                  (name == nullptr ? "cuBLASLt status " + std::to_string(status) : name) + ".");
}

}  // namespace stoker::cuda
