#include "compiler/codegen/codegen.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/nvptx/cubin_resources.h"
#include "compiler/codegen/nvptx/nv_jit_link.h"
#include "compiler/codegen/nvptx/nvptx_kernel.h"
#include "compiler/codegen/x86/elf_image.h"
#include "compiler/codegen/x86/x86_kernel.h"
#include "compiler/codegen/x86/x86_target.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

const SpanSink kNobody;

// `cpu`: LLVM's machine for a CPU, or null until it is needed.
Result<std::unique_ptr<codegen::Backend>> Build(const ScheduledKernel& kernel, const Target& target,
                                                std::shared_ptr<llvm::TargetMachine>& cpu,
                                                Laps& laps) {
  if (const auto* schedule = std::get_if<CudaSchedule>(&kernel.schedule)) {
    STOKER_TRY(const GpuMachine machine, GpuMachineOf(target));
    return codegen::BuildNvptxKernel(kernel.func, *schedule, machine, laps);
  }
  STOKER_TRY(const CpuMachine machine, CpuMachineOf(target));
  if (cpu == nullptr) {
    STOKER_TRY(cpu, codegen::X86TargetMachine(machine));
  }
  return codegen::BuildX86Kernel(kernel.func, std::get<CpuSchedule>(kernel.schedule), machine, cpu,
                                 laps);
}

ThreadResources ThreadOf(const CubinResources& resources) {
  return {resources.registers, resources.stack_bytes};
}

Result<KernelCode> Assemble(const ScheduledKernel& kernel, codegen::Backend& backend,
                            const Target& target, Laps& laps) {
  if (const auto* schedule = std::get_if<CudaSchedule>(&kernel.schedule)) {
    STOKER_TRY(std::string ptx, backend.EmitAssembly());
    laps.End("assemble");
    STOKER_TRY(codegen::NvptxCode code,
               codegen::AssembleNvptxKernel(std::move(ptx), *schedule, target.arch()));
    return KernelCode{std::move(code.cubin), ThreadOf(code.resources)};
  }
  STOKER_TRY(const std::string object, backend.EmitObject());
  laps.End("assemble");
  STOKER_TRY(std::string elf, codegen::LinkSharedObject(object, kKernelSymbol));
  return KernelCode{std::move(elf), std::nullopt};
}

}  // namespace

struct KernelGenerator::Shared {
  std::shared_ptr<llvm::TargetMachine> cpu;
};

KernelGenerator::KernelGenerator(Target target)
    : target_(std::move(target)), shared_(std::make_unique<Shared>()) {}

KernelGenerator::~KernelGenerator() = default;

Result<KernelCode> KernelGenerator::Generate(const ScheduledKernel& kernel, Laps* laps) {
  Laps untimed(kNobody);
  Laps& timed = laps == nullptr ? untimed : *laps;
  STOKER_TRY(auto backend, Build(kernel, target_, shared_->cpu, timed));
  STOKER_TRY(KernelCode code, Assemble(kernel, *backend, target_, timed));
  timed.End("link");
  return code;
}

Result<KernelCode> GenerateKernel(const ScheduledKernel& kernel, const Target& target) {
  return KernelGenerator(target).Generate(kernel);
}

Result<KernelListing> ListKernel(const ScheduledKernel& kernel, const Target& target) {
  Laps untimed(kNobody);
  std::shared_ptr<llvm::TargetMachine> cpu;
  STOKER_TRY(auto backend, Build(kernel, target, cpu, untimed));
  KernelListing listing;
  llvm::raw_string_ostream stream(listing.llvm_ir);
  backend->module().print(stream, nullptr);
  STOKER_TRY(listing.assembly, backend->EmitAssembly());
  const auto* schedule = std::get_if<CudaSchedule>(&kernel.schedule);
  if (schedule == nullptr) return listing;
  auto code = codegen::AssembleNvptxKernel(listing.assembly, *schedule, target.arch());
  if (code.ok()) {
    listing.assembly = std::move(code->ptx);
    listing.thread = ThreadOf(code->resources);
  }
  return listing;
}

std::string ToString(const ThreadResources& thread) {
  return std::to_string(thread.registers) + " registers and " + std::to_string(thread.local_bytes) +
         " bytes of local memory a thread";
}

std::string CodegenVersion() { return "llvm-" LLVM_VERSION_STRING; }

bool HasAssembler(TargetKind kind) {
  return kind == TargetKind::kCpu || codegen::NvJitLinkVersion().ok();
}

std::string AssemblerVersion(const Target& target) {
  if (target.kind() != TargetKind::kCuda) return "";
  const Result<std::string> version = codegen::NvJitLinkVersion();
  return version.ok() ? ";nvjitlink-" + *version : "";
}

}  // namespace stoker
