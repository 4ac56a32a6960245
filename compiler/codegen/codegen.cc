#include "compiler/codegen/codegen.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/codegen/x86/elf_image.h"
#include "compiler/codegen/x86/x86_kernel.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

const SpanSink kNobody;

Result<std::unique_ptr<codegen::Backend>> Build(const ScheduledKernel& kernel, const Target& target,
                                                Laps& laps) {
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  return codegen::BuildX86Kernel(kernel.func, std::get<CpuSchedule>(kernel.schedule), machine,
                                 laps);
}

}  // namespace

Result<KernelCode> GenerateKernel(const ScheduledKernel& kernel, const Target& target, Laps* laps) {
  Laps untimed(kNobody);
  Laps& timed = laps == nullptr ? untimed : *laps;
  STOKER_TRY(auto backend, Build(kernel, target, timed));
  STOKER_TRY(const std::string object, backend->EmitObject());
  timed.End("assemble");
  STOKER_TRY(std::string elf, codegen::LinkSharedObject(object, kKernelSymbol));
  timed.End("link");
  return KernelCode{std::move(elf)};
}

Result<KernelListing> ListKernel(const ScheduledKernel& kernel, const Target& target) {
  Laps untimed(kNobody);
  STOKER_TRY(auto backend, Build(kernel, target, untimed));
  KernelListing listing;
  llvm::raw_string_ostream stream(listing.llvm_ir);
  backend->module().print(stream, nullptr);
  STOKER_TRY(listing.assembly, backend->EmitAssembly());
  return listing;
}

std::string CodegenVersion() { return "llvm-" LLVM_VERSION_STRING; }

}  // namespace stoker
