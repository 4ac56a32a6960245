// One emitter per kind of kernel. EmitX adds the kernel function to `module`; LaunchShapeOfX says
// how it is launched, without emitting it. Both derive their schedule from the function and the
// target alone.
#pragma once

#include <llvm/IR/Module.h>

#include "compiler/codegen/codegen.h"

namespace stoker::codegen {

Status EmitLoop(const LoopFunc& func, const Target& target, llvm::Module& module);
Status EmitContraction(const ContractionFunc& func, const Target& target, llvm::Module& module);
Status EmitPack(const PackFunc& func, const Target& target, llvm::Module& module);
Status EmitAttention(const AttentionFunc& func, const Target& target, llvm::Module& module);
Status EmitScan(const ScanFunc& func, const Target& target, llvm::Module& module);
Status EmitSort(const SortFunc& func, const Target& target, llvm::Module& module);
Status EmitScatter(const ScatterFunc& func, const Target& target, llvm::Module& module);

Result<LaunchShape> LaunchShapeOfLoop(const LoopFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfContraction(const ContractionFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfPack(const PackFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfAttention(const AttentionFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfScan(const ScanFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfSort(const SortFunc& func, const Target& target);
Result<LaunchShape> LaunchShapeOfScatter(const ScatterFunc& func, const Target& target);

}  // namespace stoker::codegen
