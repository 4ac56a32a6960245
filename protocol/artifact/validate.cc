#include "protocol/artifact/validate.h"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "protocol/artifact/loops.h"
#include "protocol/artifact/sized_plan.h"
#include "protocol/artifact/updates.h"

namespace stoker {
namespace {

constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{1} << 40;

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field '" + std::string(field) + "' " + why);
}

Error OutOfRange(std::string_view field, std::uint64_t value, std::size_t count) {
  return Wrong(field, "is " + std::to_string(value) + "; there are " + std::to_string(count) + ".");
}

// Every symbol of `dim` is in `bound`.
Status CheckSymbols(std::string_view field, const SymDim& dim,
                    const std::set<std::uint32_t>& bound) {
  if (dim.IsConstant()) return Ok();
  for (const std::uint32_t symbol : dim.Symbols()) {
    if (!bound.contains(symbol)) {
      return Wrong(field, "is " + dim.ToString() + "; no guard binds s" + std::to_string(symbol) +
                              " before.");
    }
  }
  return Ok();
}

bool LooksAtDim(GuardKind kind) {
  switch (kind) {
    case GuardKind::kSizeEquals:
    case GuardKind::kSizeRange:
    case GuardKind::kSizeExpr:
    case GuardKind::kBindSymbol:
      return true;
    case GuardKind::kDType:
    case GuardKind::kRank:
    case GuardKind::kContiguous:
    case GuardKind::kNotNegative:
      return false;
  }
  return false;
}

Status CheckGuardValue(const Guard& guard) {
  const std::int64_t value = guard.value;
  const auto bad = [&] { return Wrong("guard.value", "is bad in: " + guard.ToString() + "."); };
  switch (guard.kind) {
    case GuardKind::kDType:
      return value >= 0 && value < kNumDTypes ? Ok() : bad();
    case GuardKind::kRank:
      return value >= 0 && value <= kMaxRank ? Ok() : bad();
    case GuardKind::kSizeEquals:
      return value >= 0 ? Ok() : bad();
    case GuardKind::kSizeRange:
      return value >= 0 && value <= guard.limit ? Ok() : bad();
    case GuardKind::kBindSymbol:
      return value >= 0 && value <= UINT32_MAX ? Ok() : bad();
    case GuardKind::kContiguous:
    case GuardKind::kSizeExpr:
    case GuardKind::kNotNegative:
      return value == 0 ? Ok() : bad();
  }
  return Ok();
}

Status CheckGuard(const Guard& guard, const LaunchPlan& plan, std::set<std::uint32_t>* bound) {
  if (guard.input >= plan.inputs.size()) {
    return OutOfRange("guard.input", guard.input, plan.inputs.size());
  }
  const int rank = plan.inputs[guard.input].shape.rank();
  const bool looks_at_dim = LooksAtDim(guard.kind);
  if (looks_at_dim ? guard.dim < 0 || guard.dim >= rank : guard.dim != -1) {
    return Wrong("guard.dim", "is " + std::to_string(guard.dim) + " in: " + guard.ToString() +
                                  "; the input has rank " + std::to_string(rank) + ".");
  }
  STOKER_RETURN_IF_ERROR(CheckGuardValue(guard));
  if (guard.kind != GuardKind::kSizeRange && guard.limit != 0) {
    return Wrong("guard.limit", "is set in: " + guard.ToString() + ".");
  }
  if (guard.kind == GuardKind::kSizeExpr || guard.kind == GuardKind::kNotNegative) {
    STOKER_RETURN_IF_ERROR(CheckSymbols("guard.expr", guard.expr, *bound));
  } else if (guard.expr != SymDim()) {
    return Wrong("guard.expr", "is set in: " + guard.ToString() + ".");
  }
  if (guard.kind == GuardKind::kBindSymbol) {
    bound->insert(static_cast<std::uint32_t>(guard.value));
  }
  return Ok();
}

// `begins_inside`: whether it may be a later part of what an index names.
Status CheckBuffer(const BufferRef& buffer, const Artifact& artifact, bool preparing,
                   bool begins_inside = false) {
  const LaunchPlan& plan = artifact.plan;
  const auto misplaced = [&](std::string_view what) {
    return Wrong("buffer.kind", "names " + std::string(what) + " in " +
                                    (preparing ? "plan.prepare." : "plan.steps."));
  };
  bool indexed = true;
  switch (buffer.kind) {
    case BufferKind::kInput:
      if (buffer.index >= plan.inputs.size()) {
        return OutOfRange("buffer.index", buffer.index, plan.inputs.size());
      }
      if (preparing && plan.input_roles[buffer.index] != InputRole::kParameter) {
        return misplaced("an input that is no parameter");
      }
      break;
    case BufferKind::kOutput:
      if (buffer.index >= plan.outputs.size()) {
        return OutOfRange("buffer.index", buffer.index, plan.outputs.size());
      }
      if (preparing) return misplaced("an output");
      if (plan.outputs[buffer.index].same_as_input >= 0) {
        return misplaced("an output that is an input");
      }
      break;
    case BufferKind::kConstant:
      if (buffer.index >= artifact.constants.size()) {
        return OutOfRange("buffer.index", buffer.index, artifact.constants.size());
      }
      break;
    case BufferKind::kArena:
      if (preparing) return misplaced("the arena of calls");
      indexed = false;
      break;
    case BufferKind::kPrepareArena:
      if (!preparing) return misplaced("the arena of prepare");
      indexed = false;
      break;
    case BufferKind::kPrepared:
      indexed = false;
      break;
  }
  if (indexed && !begins_inside && buffer.offset != SymDim()) {
    return Wrong("buffer.offset", "is " + buffer.offset.ToString() + " in memory named by index.");
  }
  if (!indexed && buffer.index != 0) {
    return Wrong("buffer.index",
                 "is " + std::to_string(buffer.index) + " in memory without index.");
  }
  return Ok();
}

Status CheckLaunch(const Launch& launch, const Artifact& artifact, bool preparing,
                   const std::set<std::uint32_t>& bound) {
  if (launch.kernel >= artifact.kernels.size()) {
    return OutOfRange("launch.kernel", launch.kernel, artifact.kernels.size());
  }
  if (launch.scratch_bytes < 0 || launch.scratch_bytes > kMaxScratchBytes) {
    return Wrong("launch.scratch_bytes", "is " + std::to_string(launch.scratch_bytes) +
                                             "; the limit is " + std::to_string(kMaxScratchBytes) +
                                             ".");
  }
  if (artifact.target.kind() == TargetKind::kCuda && launch.scratch_bytes != 0) {
    return Wrong("launch.scratch_bytes",
                 "is for a CPU; the target is " + artifact.target.ToString() + ".");
  }
  const std::array<std::pair<const char*, std::int64_t>, 2> grains = {
      {{"launch.min_tasks_per_chunk", launch.min_tasks_per_chunk},
       {"launch.min_tasks_per_call", launch.min_tasks_per_call}}};
  for (const auto& [name, tasks] : grains) {
    if (tasks < 1) return Wrong(name, "is " + std::to_string(tasks) + "; it must be at least 1.");
    if (artifact.target.kind() == TargetKind::kCuda && tasks != 1) {
      return Wrong(name, "is for a CPU; the target is " + artifact.target.ToString() + ".");
    }
  }
  STOKER_RETURN_IF_ERROR(CheckSymbols("launch.tasks", launch.tasks, bound));
  STOKER_RETURN_IF_ERROR(CheckSymbols("launch.flops", launch.flops, bound));
  STOKER_RETURN_IF_ERROR(CheckSymbols("launch.bytes", launch.bytes, bound));
  for (const SymDim& dim : launch.dims) {
    STOKER_RETURN_IF_ERROR(CheckSymbols("launch.dims", dim, bound));
  }
  for (const BufferRef& buffer : launch.buffers) {
    STOKER_RETURN_IF_ERROR(CheckBuffer(buffer, artifact, preparing));
    STOKER_RETURN_IF_ERROR(CheckSymbols("buffer.offset", buffer.offset, bound));
    STOKER_RETURN_IF_ERROR(CheckSymbols("buffer.size", buffer.size, bound));
  }
  return Ok();
}

bool MayBeWritten(BufferKind kind) {
  return kind == BufferKind::kArena || kind == BufferKind::kOutput;
}

Status CheckHostTensor(const HostTensor& tensor, bool is_operand, const Artifact& artifact,
                       const std::set<std::uint32_t>& bound) {
  for (const SymDim& dim : tensor.type.shape) {
    STOKER_RETURN_IF_ERROR(CheckSymbols("host_call.type", dim, bound));
  }
  STOKER_RETURN_IF_ERROR(CheckBuffer(tensor.buffer, artifact, false, is_operand));
  STOKER_RETURN_IF_ERROR(CheckSymbols("buffer.offset", tensor.buffer.offset, bound));
  return CheckSymbols("buffer.size", tensor.buffer.size, bound);
}

Status CheckHostCall(const HostCall& call, const Artifact& artifact,
                     const std::set<std::uint32_t>& bound) {
  if (call.target.empty()) return Wrong("host_call.target", "is empty.");
  if (call.results.empty()) return Wrong("host_call.results", "is empty.");
  for (const HostTensor& operand : call.operands) {
    STOKER_RETURN_IF_ERROR(CheckHostTensor(operand, true, artifact, bound));
  }
  for (const HostTensor& result : call.results) {
    if (!MayBeWritten(result.buffer.kind)) {
      return Wrong("buffer.kind", "of a host call's result names what is only read.");
    }
    STOKER_RETURN_IF_ERROR(CheckHostTensor(result, false, artifact, bound));
  }
  return Ok();
}

Status CheckMatmulFields(const Matmul& matmul) {
  if (!IsMatmulType(matmul.factor, matmul.result, matmul.compute)) {
    return Wrong("matmul.factor", "is " + std::string(Name(matmul.factor)) +
                                      ", which no library multiplies to " +
                                      std::string(Name(matmul.result)) + " that way.");
  }
  if (!std::isfinite(matmul.alpha)) return Wrong("matmul.alpha", "is not finite.");
  if (!std::isfinite(matmul.beta)) return Wrong("matmul.beta", "is not finite.");
  if (matmul.c.has_value() == (matmul.beta == 0) || (!matmul.c && std::signbit(matmul.beta))) {
    return Wrong("matmul.beta", std::string("is ") + (matmul.c ? "0, but there is a C."
                                                               : "not 0, but there is no C."));
  }
  if (!MayBeWritten(matmul.d.place.kind)) {
    return Wrong("buffer.kind", "of a matmul's result names what is only read.");
  }
  if (matmul.workspace.kind != BufferKind::kArena) {
    return Wrong("buffer.kind", "of a workspace is not the arena.");
  }
  return Ok();
}

Status CheckLibraryCall(const LibraryCall& call, const Artifact& artifact,
                        const std::set<std::uint32_t>& bound) {
  if (artifact.target.kind() != TargetKind::kCuda) {
    return Wrong("library_call.library",
                 "is cublasLt, which does not run on " + artifact.target.ToString() + ".");
  }
  const Matmul& matmul = call.matmul;
  STOKER_RETURN_IF_ERROR(CheckMatmulFields(matmul));
  const auto check_place = [&](const BufferRef& place, const SymDim& offset) -> Status {
    STOKER_RETURN_IF_ERROR(CheckBuffer(place, artifact, false));
    STOKER_RETURN_IF_ERROR(CheckSymbols("buffer.offset", place.offset, bound));
    STOKER_RETURN_IF_ERROR(CheckSymbols("buffer.size", place.size, bound));
    return CheckSymbols("matmul.offset", offset, bound);
  };
  for (const Matmul::Matrix* matrix :
       {&matmul.a, &matmul.b, &matmul.d, matmul.c ? &*matmul.c : nullptr}) {
    if (matrix == nullptr) continue;
    STOKER_RETURN_IF_ERROR(check_place(matrix->place, matrix->offset));
    STOKER_RETURN_IF_ERROR(CheckSymbols("matmul.leading", matrix->leading, bound));
    STOKER_RETURN_IF_ERROR(CheckSymbols("matmul.batch_stride", matrix->batch_stride, bound));
  }
  if (matmul.bias) {
    STOKER_RETURN_IF_ERROR(check_place(matmul.bias->place, matmul.bias->offset));
  }
  STOKER_RETURN_IF_ERROR(check_place(matmul.workspace, 0));
  for (const SymDim* size :
       {&matmul.batch, &matmul.m, &matmul.n, &matmul.k, &call.flops, &call.bytes}) {
    STOKER_RETURN_IF_ERROR(CheckSymbols("matmul", *size, bound));
  }
  return Ok();
}

Status CheckStep(const PlanStep& step, const Artifact& artifact,
                 const std::set<std::uint32_t>& bound) {
  if (const auto* launch = std::get_if<Launch>(&step)) {
    return CheckLaunch(*launch, artifact, false, bound);
  }
  if (const auto* call = std::get_if<LibraryCall>(&step)) {
    return CheckLibraryCall(*call, artifact, bound);
  }
  return CheckHostCall(std::get<HostCall>(step), artifact, bound);
}

Error InList(const Error& error, std::string_view field, std::size_t index) {
  return error.WithContext(std::string(field) + "[" + std::to_string(index) + "]");
}

Status CheckPrepare(const Artifact& artifact) {
  const std::vector<Launch>& launches = artifact.plan.prepare;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Status status = CheckLaunch(launches[i], artifact, true, {});
    if (!status.ok()) return InList(status.error(), "plan.prepare", i);
  }
  return Ok();
}

Status CheckSteps(const Artifact& artifact, const std::set<std::uint32_t>& bound) {
  const std::vector<PlanStep>& steps = artifact.plan.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Status status = CheckStep(steps[i], artifact, bound);
    if (!status.ok()) return InList(status.error(), "plan.steps", i);
  }
  return Ok();
}

Status CheckLoopConditions(const Artifact& artifact, const std::set<std::uint32_t>& bound) {
  const std::vector<PlanLoop>& loops = artifact.plan.loops;
  if (!loops.empty() && artifact.target.kind() != TargetKind::kCpu) {
    return Wrong("plan.loops", "is for a CPU; the target is " + artifact.target.ToString() + ".");
  }
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const BufferRef& condition = loops[i].condition;
    Status status = CheckBuffer(condition, artifact, false);
    if (status.ok()) status = CheckSymbols("buffer.offset", condition.offset, bound);
    if (status.ok()) status = CheckSymbols("buffer.size", condition.size, bound);
    if (!status.ok()) return InList(status.error(), "plan.loops", i);
  }
  return Ok();
}

Status CheckBlobs(const Artifact& artifact) {
  std::set<Digest> keys;
  for (const KernelRef& kernel : artifact.kernels) {
    if (!keys.insert(kernel.key).second) {
      return Wrong("kernels.key", "has " + kernel.key.ToHex() + " twice.");
    }
    if (kernel.size_bytes == 0 || kernel.size_bytes > kMaxBlobBytes) {
      return Wrong("kernels.size_bytes", "is " + std::to_string(kernel.size_bytes) + ".");
    }
  }
  std::set<Digest> blobs;
  for (const ConstantRef& constant : artifact.constants) {
    if (!blobs.insert(constant.blob).second) {
      return Wrong("constants.blob", "has " + constant.blob.ToHex() + " twice.");
    }
    if (constant.size_bytes > kMaxBlobBytes) {
      return Wrong("constants.size_bytes", "is " + std::to_string(constant.size_bytes) + ".");
    }
  }
  return Ok();
}

// `input`: what a field of the output names, or -1.
Status CheckInputOf(const OutputSpec& output, std::string_view field, std::int32_t input,
                    const LaunchPlan& plan) {
  if (input == -1) return Ok();
  if (input < 0) return Wrong(field, "is " + std::to_string(input) + ".");
  const auto source = static_cast<std::size_t>(input);
  if (source >= plan.inputs.size()) return OutOfRange(field, source, plan.inputs.size());
  if (plan.inputs[source] == output.type) return Ok();
  return Wrong(field, "names an input of type " + plan.inputs[source].ToString() +
                          " for an output of type " + output.type.ToString() + ".");
}

Status CheckSignature(const LaunchPlan& plan, const std::set<std::uint32_t>& bound) {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const bool parameter = plan.input_roles[i] == InputRole::kParameter;
    for (const SymDim& dim : plan.inputs[i].shape) {
      STOKER_RETURN_IF_ERROR(CheckSymbols("plan.inputs", dim, bound));
      if (parameter && !dim.IsConstant()) {
        return Wrong("plan.inputs", "has parameter " + std::to_string(i) + " of symbolic type " +
                                        plan.inputs[i].ToString() + ".");
      }
    }
  }
  for (const OutputSpec& output : plan.outputs) {
    for (const SymDim& dim : output.type.shape) {
      STOKER_RETURN_IF_ERROR(CheckSymbols("plan.outputs", dim, bound));
    }
    STOKER_RETURN_IF_ERROR(
        CheckInputOf(output, "plan.outputs.same_as_input", output.same_as_input, plan));
    STOKER_RETURN_IF_ERROR(
        CheckInputOf(output, "plan.outputs.updates_input", output.updates_input, plan));
  }
  STOKER_RETURN_IF_ERROR(CheckSymbols("plan.arena_zero_bytes", plan.arena_zero_bytes, bound));
  return CheckSymbols("plan.arena_bytes", plan.arena_bytes, bound);
}

}  // namespace

Status ValidateArtifact(const Artifact& artifact) {
  const LaunchPlan& plan = artifact.plan;
  STOKER_RETURN_IF_ERROR(CheckBlobs(artifact));
  std::set<std::uint32_t> bound;
  for (const Guard& guard : artifact.guards.guards()) {
    STOKER_RETURN_IF_ERROR(CheckGuard(guard, plan, &bound));
  }
  STOKER_RETURN_IF_ERROR(CheckSignature(plan, bound));
  STOKER_RETURN_IF_ERROR(CheckPrepare(artifact));
  STOKER_RETURN_IF_ERROR(CheckSymbols("plan.prepared_bytes", plan.prepared_bytes, {}));
  STOKER_RETURN_IF_ERROR(CheckSymbols("plan.prepare_arena_bytes", plan.prepare_arena_bytes, {}));
  STOKER_RETURN_IF_ERROR(CheckSteps(artifact, bound));
  STOKER_RETURN_IF_ERROR(CheckLoopConditions(artifact, bound));
  STOKER_RETURN_IF_ERROR(CheckLoops(plan));
  STOKER_RETURN_IF_ERROR(CheckUpdates(plan));
  STOKER_RETURN_IF_ERROR(SizePrepare(artifact));
  // Plans over symbols are sized, and checked, per set of symbol values.
  if (bound.empty()) STOKER_RETURN_IF_ERROR(SizePlan(artifact, {}));
  return Ok();
}

}  // namespace stoker
