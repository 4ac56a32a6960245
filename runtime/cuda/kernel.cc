#include "runtime/cuda/kernel.h"

#include <string>

#include "runtime/cuda/cubin.h"

namespace stoker::cuda {

Result<std::shared_ptr<const Kernel>> Kernel::Load(std::shared_ptr<const Context> context,
                                                   const Digest& blob, std::string_view bytes) {
  const std::string name = "Kernel " + blob.ToHex();
  if (const Digest actual = Sha256Of(bytes); actual != blob) {
    return DataLoss(name + " has " + std::to_string(bytes.size()) + " bytes with digest " +
                    actual.ToHex() + ".");
  }
  const Result<CubinEntry> entry = EntryOf(bytes);
  if (!entry.ok()) return DataLoss(name + " cannot be loaded: " + entry.error().message);
  std::shared_ptr<Kernel> kernel(new Kernel(std::move(context)));
  const Context& on = *kernel->context_;
  STOKER_TRY(const Context::Current current, on.MakeCurrent());
  const auto check = [&](int result, std::string_view what) -> Status {
    const Status status = on.Check(result, what);
    if (status.ok()) return status;
    return DataLoss(name + " cannot be loaded: " + status.error().message);
  };
  // As long as its ELF header says: the driver is told no size.
  const std::string image(bytes);
  const int loaded = on.api().load_module(&kernel->module_, image.data());
  if (loaded == kCuInvalidImage || loaded == kCuNoBinary || loaded == kCuUnsupportedImage) {
    // Its bytes are those that were compiled: another driver reads them.
    return FailedPrecondition(
        name + " cannot be loaded: " + on.Check(loaded, "cuModuleLoadData").error().message +
        " The driver is of CUDA " + on.driver().VersionText() +
        "; the cubin may be of a newer one.");
  }
  STOKER_RETURN_IF_ERROR(check(loaded, "cuModuleLoadData"));
  STOKER_RETURN_IF_ERROR(
      check(on.api().function(&kernel->function_, kernel->module_, entry->symbol.c_str()),
            "cuModuleGetFunction"));
  int most = 0;
  STOKER_RETURN_IF_ERROR(
      check(on.api().function_attribute(&most, kCuFunctionMaxThreads, kernel->function_),
            "cuFuncGetAttribute"));
  if (static_cast<int>(entry->threads) > most) {
    return DataLoss(name + " has " + std::to_string(entry->threads) +
                    " threads a block; this GPU runs " + std::to_string(most) +
                    " of them at most.");
  }
  kernel->threads_ = entry->threads;
  kernel->shared_bytes_ = ConstantOf(bytes, kCudaSharedBytesSymbol);
  if (kernel->shared_bytes_ > 0) {
    STOKER_TRY(kernel->most_blocks_, on.Attribute(kCuDeviceMultiprocessors));
    STOKER_RETURN_IF_ERROR(
        check(on.api().set_function_attribute(kernel->function_, kCuFunctionSharedBytes,
                                              static_cast<int>(kernel->shared_bytes_)),
              "cuFuncSetAttribute of " + std::to_string(kernel->shared_bytes_) +
                  " bytes of shared memory a block"));
  }
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

Kernel::~Kernel() {
  if (module_ == nullptr) return;
  if (const auto current = context_->MakeCurrent(); current.ok())
    context_->api().unload_module(module_);
}

}  // namespace stoker::cuda
