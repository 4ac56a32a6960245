#include "compiler/schedule/cpu/pack_schedule.h"

#include <algorithm>

namespace stoker::cpu {
namespace {

constexpr double kNsPerByte = 0.2;
constexpr std::int64_t kTypicalDepth = 768;

// K is contiguous in the source (PyTorch's Linear weights), and the scale, if any, does not vary
// along it.
bool RunsAlongDepth(const PackFunc& func) {
  const auto plain = [&](const Access& access) {
    return std::all_of(
        access.index.terms.begin(), access.index.terms.end(),
        [](const IndexTerm& term) { return term.divisor == 1 && term.modulus == 0; });
  };
  const auto coefficient = [&](const Access& access, std::size_t k) {
    return access.index.CoefficientOf(static_cast<int>(func.batch.size() + k));
  };
  if (!plain(func.source) || (func.has_scale && !plain(func.scale))) return false;
  SymDim stride = 1;
  for (std::size_t k = func.k.size(); k-- > 0;) {
    if (func.has_scale && !(coefficient(func.scale, k) == SymDim(0))) return false;
    if (func.k[k] == SymDim(1)) continue;
    if (!(coefficient(func.source, k) == stride)) return false;
    stride = stride * func.k[k];
  }
  const auto column = static_cast<int>(func.batch.size() + func.k.size());
  return !(stride == SymDim(1)) && !(func.source.index.CoefficientOf(column) == SymDim(1));
}

std::vector<SymDim> DimsOf(const PackFunc& func) {
  DimTable dims;
  for (const auto* list : {&func.batch, &func.k}) {
    for (const SymDim& dim : *list) dims.Add(dim);
  }
  dims.Add(func.n);
  dims.Add(PanelsOf(func));
  dims.Add(ProductOf(func.k));
  dims.Add(PaddedDepth(func));
  dims.Add(func.source);
  if (func.has_scale) dims.Add(func.scale);
  return std::move(dims).Take();
}

}  // namespace

SymDim PaddedDepth(const PackFunc& func) {
  const std::int64_t granule = std::max(func.layout.kr, func.layout.k_multiple);
  const SymDim depth = ProductOf(func.k);
  return granule == 1 ? depth : SymDim::CeilDiv(depth, granule) * SymDim(granule);
}

SymDim PanelsOf(const PackFunc& func) { return SymDim::CeilDiv(func.n, func.layout.nr); }

PackSchedule SchedulePack(const PackFunc& func, const CpuMachine& machine) {
  PackSchedule schedule;
  schedule.transposed = RunsAlongDepth(func);
  schedule.width =
      machine.vector_bytes / (static_cast<int>(func.layout.kr) * SizeInBytes(func.layout.dtype));
  return schedule;
}

LaunchShape LaunchShapeOf(const PackFunc& func, const PackSchedule&, const CpuMachine& machine) {
  LaunchShape shape;
  shape.tasks = ProductOf(func.batch) * PanelsOf(func);
  const SymDim depth = PaddedDepth(func);
  const std::int64_t typical = depth.IsConstant() ? depth.constant() : kTypicalDepth;
  shape.min_tasks_per_chunk = machine.MinTasksPerChunk(
      kNsPerByte * static_cast<double>(typical * func.layout.nr * SizeInBytes(func.layout.dtype)));
  shape.dims = DimsOf(func);
  return shape;
}

std::string ToString(const PackSchedule& schedule) {
  return "schedule pack {\n  " + std::to_string(schedule.width) + " lanes" +
         (schedule.transposed ? ", transposed in registers" : "") + "\n}\n";
}

}  // namespace stoker::cpu
