#include "runtime/cuda/kernel.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "protocol/artifact/cuda_kernel_abi.h"

namespace stoker::cuda {
namespace {

constexpr int kMachineCuda = 190;

bool IsCubin(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == kMachineCuda;
}

}  // namespace

Result<std::shared_ptr<const Kernel>> Kernel::Load(std::shared_ptr<const Context> context,
                                                   const Digest& blob, std::string_view bytes) {
  const std::string name = "Kernel " + blob.ToHex();
  if (const Digest actual = Sha256Of(bytes); actual != blob) {
    return DataLoss(name + " has " + std::to_string(bytes.size()) + " bytes with digest " +
                    actual.ToHex() + ".");
  }
  if (!IsCubin(bytes)) return DataLoss(name + " is no cubin.");
  std::shared_ptr<Kernel> kernel(new Kernel(std::move(context)));
  const Context& on = *kernel->context_;
  const Context::Current current(on);
  const auto check = [&](int result, std::string_view what) -> Status {
    const Status status = on.Check(result, what);
    if (status.ok()) return status;
    return DataLoss(name + " cannot be loaded: " + status.error().message);
  };
  // As long as its ELF header says: the driver is told no size.
  const std::string image(bytes);
  STOKER_RETURN_IF_ERROR(
      check(on.api().load_module(&kernel->module_, image.data()), "cuModuleLoadData"));
  STOKER_RETURN_IF_ERROR(
      check(on.api().function(&kernel->function_, kernel->module_, kCudaKernelSymbol),
            "cuModuleGetFunction"));
  int threads = 0;
  STOKER_RETURN_IF_ERROR(
      check(on.api().function_attribute(&threads, kCuFunctionMaxThreads, kernel->function_),
            "cuFuncGetAttribute"));
  kernel->threads_ = static_cast<unsigned>(threads);
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

Kernel::~Kernel() {
  if (module_ == nullptr) return;
  const Context::Current current(*context_);
  context_->api().unload_module(module_);
}

}  // namespace stoker::cuda
