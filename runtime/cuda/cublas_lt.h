// CublasLt: NVIDIA's library of matrix products on one GPU, loaded when it is first needed and
// never linked.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/result.h"
#include "runtime/cuda/cublas_lt_api.h"
#include "runtime/cuda/driver/context.h"

namespace stoker::cuda {

// Thread-safe: threads may use one handle side by side.
class CublasLt {
 public:
  // What it is sought as: of CUDA 13 or 12, by the loader and where NVIDIA's libraries lie.
  static std::vector<std::string> Paths();

  // FailedPrecondition, naming the library and where it was sought, where there is none.
  static Result<std::shared_ptr<const CublasLt>> Load(std::shared_ptr<const Context> context,
                                                      std::span<const std::string> paths);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  const CublasLtApi& api() const { return api_; }
  const Context& context() const { return *context_; }
  LtHandle handle() const { return handle_; }

  // Ok for success; otherwise an error of "`what`: NAME.": Internal.
  Status Check(int status, std::string_view what) const;

 private:
  explicit CublasLt(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<const Context> context_;
  CublasLtApi api_;
  LtHandle handle_ = nullptr;
};

}  // namespace stoker::cuda
