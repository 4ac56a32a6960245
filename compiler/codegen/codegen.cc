#include "compiler/codegen/codegen.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/codegen/backend.h"
#include "compiler/codegen/elf_image.h"
#include "compiler/codegen/emit_kernels.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

const SpanSink kNobody;

// An optimized module that holds the kernel.
Result<std::unique_ptr<codegen::Backend>> Build(const KernelFunc& func, const Target& target,
                                                Laps& laps) {
  STOKER_RETURN_IF_ERROR(Verify(func));
  STOKER_TRY(const codegen::Machine machine, codegen::MachineOf(target));
  STOKER_TRY(auto backend, codegen::Backend::Create(machine));
  llvm::Module& module = backend->module();
  const auto emit = Overloaded{
      [&](const LoopFunc& f) { return codegen::EmitLoop(f, target, module); },
      [&](const ContractionFunc& f) { return codegen::EmitContraction(f, target, module); },
      [&](const PackFunc& f) { return codegen::EmitPack(f, target, module); },
      [&](const AttentionFunc& f) { return codegen::EmitAttention(f, target, module); },
      [&](const ScanFunc& f) { return codegen::EmitScan(f, target, module); },
      [&](const SortFunc& f) { return codegen::EmitSort(f, target, module); },
      [&](const ScatterFunc& f) { return codegen::EmitScatter(f, target, module); },
  };
  STOKER_RETURN_IF_ERROR(std::visit(emit, func));
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

}  // namespace

Result<LaunchShape> LaunchShapeOf(const KernelFunc& func, const Target& target) {
  return std::visit(
      Overloaded{
          [&](const LoopFunc& f) { return codegen::LaunchShapeOfLoop(f, target); },
          [&](const ContractionFunc& f) { return codegen::LaunchShapeOfContraction(f, target); },
          [&](const PackFunc& f) { return codegen::LaunchShapeOfPack(f, target); },
          [&](const AttentionFunc& f) { return codegen::LaunchShapeOfAttention(f, target); },
          [&](const ScanFunc& f) { return codegen::LaunchShapeOfScan(f, target); },
          [&](const SortFunc& f) { return codegen::LaunchShapeOfSort(f, target); },
          [&](const ScatterFunc& f) { return codegen::LaunchShapeOfScatter(f, target); },
      },
      func);
}

Result<KernelCode> GenerateKernel(const KernelFunc& func, const Target& target, Laps* laps) {
  Laps untimed(kNobody);
  Laps& timed = laps == nullptr ? untimed : *laps;
  STOKER_TRY(auto backend, Build(func, target, timed));
  STOKER_TRY(const std::string object, backend->EmitObject());
  timed.End("assemble");
  STOKER_TRY(std::string elf, codegen::LinkSharedObject(object, kKernelSymbol));
  timed.End("link");
  return KernelCode{std::move(elf)};
}

Result<KernelListing> ListKernel(const KernelFunc& func, const Target& target) {
  Laps untimed(kNobody);
  STOKER_TRY(auto backend, Build(func, target, untimed));
  KernelListing listing;
  llvm::raw_string_ostream stream(listing.llvm_ir);
  backend->module().print(stream, nullptr);
  STOKER_TRY(listing.assembly, backend->EmitAssembly());
  return listing;
}

std::string CodegenVersion() { return "llvm-" LLVM_VERSION_STRING; }

}  // namespace stoker
