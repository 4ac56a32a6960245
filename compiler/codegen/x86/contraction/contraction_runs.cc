// Loops over K that end a run where the plan says (sum_runs.h).
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/x86/contraction/contraction_emitter.h"

namespace stoker::codegen {
namespace {

constexpr std::int64_t kCacheLine = 64;

}  // namespace

bool ContractionEmitter::CountsRuns() const {
  return plan_.runs.IsCounted() && plan_.depth.size() > 1;
}

// In iterations of the dim where runs end. Of K of b bits, at run time: 2^floor(b / 2) elements,
// between 0.7 and 1.4 times its square root; what is counted may be almost twice as long.
llvm::Value* ContractionEmitter::RunLength() {
  if (!plan_.runs.IsCounted()) return e_.I64(plan_.runs.length);
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* terms = e_.I64(1);
  for (const ContractionDim& dim : plan_.depth) terms = e_.Mul(terms, e_.Dim(dim.extent));
  llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, terms, b.getInt1(false));
  llvm::Value* half = b.CreateLShr(e_.Sub(e_.I64(64), zeros), e_.I64(1));
  llvm::Value* length = b.CreateShl(e_.I64(1), half);
  if (plan_.kernel != MicroKernel::kDotBF16) return length;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateLShr(length, e_.I64(1)), e_.I64(1));
}

void ContractionEmitter::ForSteps(llvm::Value* begin, llvm::Value* count, int unroll,
                                  Values& carried, RunStep step) {
  llvm::IRBuilder<>& b = e_.b();
  const auto at = [&](llvm::Value* i) { return e_.Add(begin, i); };
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    const std::int64_t all = constant->getSExtValue();
    const std::int64_t whole = all / unroll * unroll;
    e_.For(e_.I64(0), e_.I64(whole), unroll, carried,
           [&](llvm::Value* i, Values& values) { step(at(i), unroll, values); });
    if (all > whole) step(at(e_.I64(whole)), static_cast<int>(all - whole), carried);
    return;
  }
  llvm::Value* whole = count;
  if (unroll > 1) whole = e_.Mul(b.CreateUDiv(count, e_.I64(unroll)), e_.I64(unroll));
  e_.For(e_.I64(0), whole, unroll, carried,
         [&](llvm::Value* i, Values& values) { step(at(i), unroll, values); });
  if (unroll == 1) return;
  e_.For(whole, count, 1, carried, [&](llvm::Value* i, Values& values) { step(at(i), 1, values); });
}

void ContractionEmitter::ForRuns(std::size_t dim, llvm::Value* count, int unroll, Values& carried,
                                 RunStep step, RunEnd end_run) {
  llvm::IRBuilder<>& b = e_.b();
  if (plan_.runs.one || dim != plan_.runs.dim) {
    ForSteps(e_.I64(0), count, unroll, carried, step);
    return;
  }
  llvm::Value* length = RunLength();
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count);
  if (constant != nullptr && !plan_.runs.IsCounted()) {
    // What is left over of unrolled steps is a run of its own.
    const std::int64_t run = plan_.runs.length;
    const std::int64_t all = constant->getSExtValue();
    const std::int64_t whole = all / unroll * unroll;
    e_.For(e_.I64(0), e_.I64(whole), run, carried, [&](llvm::Value* at, Values& values) {
      llvm::Value* number = whole % run == 0 ? length : e_.Min(length, e_.Sub(e_.I64(whole), at));
      e_.ForSome(e_.I64(0), number, unroll, values,
                 [&](llvm::Value* i, Values& inner) { step(e_.Add(at, i), unroll, inner); });
      end_run(values);
    });
    if (all == whole) return;
    step(e_.I64(whole), static_cast<int>(all - whole), carried);
    end_run(carried);
    return;
  }
  llvm::Value* runs = b.CreateUDiv(e_.Sub(e_.Add(count, length), e_.I64(1)), length);
  // K of no elements is a run of none: its end stores zeros.
  runs = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, runs, e_.I64(1));
  e_.For(e_.I64(0), runs, 1, carried, [&](llvm::Value* run, Values& values) {
    llvm::Value* at = e_.Mul(run, length);
    llvm::Value* number = e_.Min(length, e_.Sub(count, at));
    ForSteps(at, number, unroll, values, step);
    if (!CountsRuns()) {
      end_run(values);
      return;
    }
    values.back() = e_.Add(values.back(), number);
    llvm::Value* ends = b.CreateZExt(b.CreateICmpSGE(values.back(), length), b.getInt64Ty());
    e_.For(e_.I64(0), ends, 1, values, [&](llvm::Value*, Values& ended) {
      end_run(ended);
      ended.back() = e_.I64(0);
    });
  });
}

void ContractionEmitter::ForRunsIn(std::size_t dim, const DepthRange& range, Values& carried,
                                   RunStep step, RunEnd end_run) {
  if (plan_.runs.one || dim != plan_.runs.dim) {
    e_.For(range.begin, range.end, 1, carried,
           [&](llvm::Value* i, Values& values) { step(i, 1, values); });
    return;
  }
  llvm::Value* length = e_.I64(plan_.runs.length);
  llvm::Value* runs = e_.DivUp(range.end, plan_.runs.length);
  e_.For(e_.b().CreateUDiv(range.begin, length), runs, 1, carried,
         [&](llvm::Value* run, Values& values) {
           llvm::Value* at = e_.Mul(run, length);
           e_.For(Max(at, range.begin), e_.Min(e_.Add(at, length), range.end), 1, values,
                  [&](llvm::Value* i, Values& inner) { step(i, 1, inner); });
           end_run(values);
         });
}

llvm::Value* ContractionEmitter::Max(llvm::Value* x, llvm::Value* y) {
  return e_.b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
}

// There is always one iteration, which multiplies zeros where there is nothing else.
DepthRange ContractionEmitter::RangeOf(const Halo& halo, llvm::Value* first, llvm::Value* last) {
  const std::int64_t extent = plan_.depth[halo.k].extent.constant();
  const auto from = [&](llvm::Value* row, std::int64_t bound) {
    llvm::Value* distance = e_.Sub(e_.I64(bound), e_.Mul(row, e_.I64(halo.stride)));
    return e_.DivUp(Max(distance, e_.I64(0)), halo.dilation);
  };
  DepthRange range;
  range.begin = e_.Min(from(last, halo.low), e_.I64(extent - 1));
  range.end = e_.Min(from(first, halo.size + halo.low), e_.I64(extent));
  range.end = Max(range.end, e_.Add(range.begin, e_.I64(1)));
  return range;
}

DepthRanges ContractionEmitter::UnionOf(const RowUnit& first, const RowUnit* second) {
  DepthRanges ranges = first.depth;
  for (std::size_t dim = 0; second != nullptr && dim < ranges.size(); ++dim) {
    if (ranges[dim].begin == nullptr) continue;
    ranges[dim].begin = e_.Min(ranges[dim].begin, second->depth[dim].begin);
    ranges[dim].end = Max(ranges[dim].end, second->depth[dim].end);
  }
  return ranges;
}

void ContractionEmitter::EmitDepth(llvm::Value* lhs, const DepthRanges& ranges,
                                   const PanelChunk& chunk, int unroll, Values& carried,
                                   DepthStep step, RunEnd end_run) {
  if (CountsRuns()) carried.push_back(e_.I64(0));
  WalkDepth(0, lhs, ranges, chunk, unroll, carried, step, end_run);
  if (!CountsRuns()) return;
  end_run(carried);
  carried.pop_back();
}

void ContractionEmitter::WalkDepth(std::size_t dim, llvm::Value* lhs, const DepthRanges& ranges,
                                   const PanelChunk& chunk, int unroll, Values& carried,
                                   DepthStep step, RunEnd end_run) {
  const ContractionDim& depth = plan_.depth[dim];
  const std::int64_t granule = plan_.depth_granule;
  if (dim + 1 < plan_.depth.size()) {
    llvm::Value* bytes = e_.Mul(e_.Dim(depth.lhs_stride), e_.I64(ElementBytes()));
    const auto walk = [&](llvm::Value* i, int, Values& values) {
      WalkDepth(dim + 1, AddBytes(lhs, e_.Mul(i, bytes)), ranges, chunk, unroll, values, step,
                end_run);
    };
    if (ranges.empty() || ranges[dim].begin == nullptr) {
      ForRuns(dim, e_.Dim(depth.extent), 1, carried, walk, end_run);
      return;
    }
    // The panel's pointer moves over what is left out, too.
    std::int64_t granules = 1;
    for (std::size_t i = dim + 1; i < plan_.depth.size(); ++i) {
      granules *= plan_.depth[i].extent.constant();
    }
    llvm::Value* panel_bytes = e_.I64(granules / granule * GranuleBytes());
    carried[0] = AddBytes(carried[0], e_.Mul(ranges[dim].begin, panel_bytes));
    ForRunsIn(dim, ranges[dim], carried, walk, end_run);
    llvm::Value* left = e_.Sub(e_.Dim(depth.extent), ranges[dim].end);
    carried[0] = AddBytes(carried[0], e_.Mul(left, panel_bytes));
    return;
  }
  const auto advance = [&](llvm::Value* at, int granules, Values& values) {
    llvm::Value* rhs = values[0];
    const std::int64_t lines = PrefetchLines(granules);
    for (std::int64_t line = 0; line < lines; ++line) {
      e_.FetchLine(AddBytes(values[1], e_.I64(line * kCacheLine)));
    }
    values[1] = AddBytes(values[1], e_.I64(lines * kCacheLine));
    step(AddBytes(lhs, e_.Mul(at, e_.I64(granule * ElementBytes()))), rhs, granules, values);
    values[0] = AddBytes(rhs, e_.I64(granules * GranuleBytes()));
  };
  llvm::Value* extent = chunk.depth != nullptr ? chunk.depth : e_.Dim(depth.extent);
  llvm::Value* granules = granule == 1 ? extent : e_.b().CreateUDiv(extent, e_.I64(granule));
  ForRuns(dim, granules, unroll, carried, advance, end_run);
}

std::int64_t ContractionEmitter::PrefetchLines(int granules) const {
  if (plan_.prefetch_parts == 0) return 0;
  const std::int64_t bytes_per_line = kCacheLine * plan_.prefetch_parts;
  return (granules * GranuleBytes() + bytes_per_line - 1) / bytes_per_line;
}

llvm::Value* ContractionEmitter::PrefetchFor(const Tasks& tasks, const PanelChunk& chunk,
                                             llvm::Value* unit) {
  if (plan_.prefetch_parts == 0) return chunk.next;
  const std::int64_t units_per_part = plan_.kernel == MicroKernel::kAmx ? 2 : 1;
  llvm::Value* part = e_.Sub(unit, tasks.first_unit);
  if (units_per_part != 1) part = e_.b().CreateUDiv(part, e_.I64(units_per_part));
  if (!plan_.units.IsConstant()) part = e_.Min(part, e_.I64(plan_.prefetch_parts - 1));
  llvm::Value* bytes = e_.b().CreateUDiv(chunk.bytes, e_.I64(plan_.prefetch_parts));
  return AddBytes(chunk.next, e_.Mul(part, bytes));
}

}  // namespace stoker::codegen
