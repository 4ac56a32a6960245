// Programs of steps that read and write storages, and compute nothing.
#pragma once

#include <utility>
#include <vector>

#include "compiler/schedule/program/program.h"

namespace stoker {

// A program of `storages` in the arena, of so many bytes each.
inline Program ProgramOf(std::vector<std::int64_t> storages) {
  Program program;
  for (const std::int64_t bytes : storages) {
    Storage& storage = program.storages.emplace_back();
    storage.shape = Shape{SymDim(bytes / 4)};
    storage.bytes = bytes;
  }
  return program;
}

inline void AddLoop(Program& program, const std::vector<StorageId>& reads,
                    const std::vector<StorageId>& writes) {
  LoopFunc func;
  Step& step = program.steps.emplace_back();
  for (const StorageId id : reads) {
    func.operands.push_back({DType::kF32, false});
    step.buffers.push_back(id);
  }
  for (const StorageId id : writes) {
    func.operands.push_back({DType::kF32, true});
    step.buffers.push_back(id);
  }
  step.work = KernelFunc(std::move(func));
}

inline void AddHostCall(Program& program, StorageId reads, StorageId writes) {
  HostOp op;
  op.operands.resize(1);
  op.results.resize(1);
  Step& step = program.steps.emplace_back();
  step.buffers = {reads, writes};
  step.work = std::move(op);
}

inline void AddProduct(Program& program, StorageId a, StorageId b, StorageId d,
                       StorageId workspace) {
  LibraryOp op;
  op.matmul.a.place = 0;
  op.matmul.b.place = 1;
  op.matmul.d.place = 2;
  op.matmul.workspace = 3;
  Step& step = program.steps.emplace_back();
  step.buffers = {a, b, d, workspace};
  step.work = std::move(op);
}

}  // namespace stoker
