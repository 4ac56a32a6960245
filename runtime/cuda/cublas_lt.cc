#include "runtime/cuda/cublas_lt.h"

#include <vector>

#include "protocol/base/host/nvidia_libraries.h"

namespace stoker::cuda {
namespace {

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

bool FindAll(const NvidiaLibrary& library, CublasLtApi& api) {
  bool all = library.Find("cublasLtGetStatusName", api.status_name);
#define STOKER_CUBLAS_LT_FIND(member, symbol, parameters) \
  all = all && library.Find(symbol, api.member);
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
  const auto library = NvidiaLibrary::LoadFirst(
      paths, [&](const NvidiaLibrary& found) { return FindAll(found, lt->api_); });
  if (!library.ok()) {
    return FailedPrecondition(
        "Matrix products on a GPU need cuBLASLt (" + std::string(kNames[0]) +
        "), which is not found. It comes with the CUDA toolkit (CUDA_HOME) and with PyTorch's "
        "packages (VIRTUAL_ENV). Tried:" +
        library.error().message);
  }
  STOKER_TRY(const Context::Current current, lt->context().MakeCurrent());
  const Status created = lt->Check(lt->api_.create(&lt->handle_), "cublasLtCreate");
  if (!created.ok()) {
    lt->handle_ = nullptr;
    return FailedPrecondition("cuBLASLt cannot be used on this GPU: " + created.error().message);
  }
  return std::shared_ptr<const CublasLt>(std::move(lt));
}

CublasLt::~CublasLt() {
  if (handle_ == nullptr) return;
  if (const auto current = context_->MakeCurrent(); current.ok()) api_.destroy(handle_);
}

Status CublasLt::Check(int status, std::string_view what) const {
  if (status == kLtSuccess) return Ok();
  const char* const name = api_.status_name(status);
  return Internal(std::string(what) + ": " +
                  (name == nullptr ? "cuBLASLt status " + std::to_string(status) : name) + ".");
}

}  // namespace stoker::cuda
