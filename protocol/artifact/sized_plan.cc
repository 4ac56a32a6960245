#include "protocol/artifact/sized_plan.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "protocol/artifact/cuda_kernel_abi.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

// Memory that buffers of one kind and index lie in, and what else launches are held to.
struct Extents {
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> outputs;
  std::vector<std::int64_t> constants;
  std::int64_t arena = 0;
  std::int64_t prepared = 0;
  std::int64_t prepare_arena = 0;
  std::int64_t max_tasks = INT64_MAX;  // Of a launch.

  std::int64_t Of(BufferKind kind, std::uint32_t index) const {
    switch (kind) {
      case BufferKind::kInput:
        return inputs[index];
      case BufferKind::kOutput:
        return outputs[index];
      case BufferKind::kArena:
        return arena;
      case BufferKind::kPrepared:
        return prepared;
      case BufferKind::kConstant:
        return constants[index];
      case BufferKind::kPrepareArena:
        return prepare_arena;
    }
    return 0;
  }
};

// Evaluates to at least 0 and at most `limit`.
Result<std::int64_t> Evaluate(std::string_view field, const SymDim& dim,
                              const SymBindings& bindings, std::int64_t limit) {
  if (dim.IsConstant() && dim.constant() >= 0 && dim.constant() <= limit) return dim.constant();
  const Result<std::int64_t> value = dim.Evaluate(bindings);
  if (value.ok() && *value >= 0 && *value <= limit) return *value;
  const std::string name = "Field '" + std::string(field) + "'";
  if (!value.ok())
    return InvalidArgument(name + " is " + dim.ToString() + ": " + value.error().message);
  if (*value < 0) {
    return InvalidArgument(name + " is " + dim.ToString() + " = " + std::to_string(*value) +
                           "; it must not be negative.");
  }
  return ResourceExhausted(name + " is " + dim.ToString() + " = " + std::to_string(*value) +
                           ", more than the limit of " + std::to_string(limit) + ".");
}

Result<std::int64_t> TensorBytes(std::string_view field, const TensorType& type,
                                 const SymBindings& bindings, std::vector<std::int64_t>* sizes) {
  std::int64_t bytes = SizeInBytes(type.dtype);
  bool empty = false;
  for (const SymDim& dim : type.shape) {
    STOKER_TRY(const std::int64_t size, Evaluate(field, dim, bindings, kMaxArenaBytes));
    if (sizes != nullptr) sizes->push_back(size);
    empty = empty || size == 0;
    // Sizes after a zero still count: [0, 2^40, 2^40] must not overflow either.
    if (size != 0 && __builtin_mul_overflow(bytes, size, &bytes)) bytes = INT64_MAX;
  }
  if (empty) return std::int64_t{0};
  if (bytes > kMaxArenaBytes) {
    return ResourceExhausted("Field '" + std::string(field) + "' is " + type.ToString() +
                             ", more than the limit of " + std::to_string(kMaxArenaBytes) +
                             " bytes.");
  }
  return bytes;
}

Result<SizedBuffer> SizeBuffer(const BufferRef& ref, const Extents& extents,
                               const SymBindings& bindings) {
  SizedBuffer buffer{ref.kind, ref.index, 0, 0};
  STOKER_TRY(buffer.offset, Evaluate("buffer.offset", ref.offset, bindings, kMaxArenaBytes));
  STOKER_TRY(buffer.size, Evaluate("buffer.size", ref.size, bindings, kMaxArenaBytes));
  const std::int64_t extent = extents.Of(ref.kind, ref.index);
  if (buffer.offset > extent || buffer.size > extent - buffer.offset) {
    return InvalidArgument("Field 'buffer.size': bytes " + std::to_string(buffer.offset) + " to " +
                           std::to_string(buffer.offset + buffer.size) +
                           " do not lie in memory of " + std::to_string(extent) + " bytes.");
  }
  if (buffer.offset % kBufferAlignment != 0) {
    return InvalidArgument("Field 'buffer.offset' is " + std::to_string(buffer.offset) +
                           ", no multiple of " + std::to_string(kBufferAlignment) + ".");
  }
  return buffer;
}

Result<SizedLaunch> SizeLaunch(const Launch& launch, const Extents& extents,
                               const SymBindings& bindings) {
  SizedLaunch sized;
  sized.kernel = launch.kernel;
  sized.min_tasks_per_chunk = launch.min_tasks_per_chunk;
  sized.min_tasks_per_call = launch.min_tasks_per_call;
  sized.scratch_bytes = launch.scratch_bytes;
  STOKER_TRY(sized.tasks, Evaluate("launch.tasks", launch.tasks, bindings, extents.max_tasks));
  STOKER_TRY(sized.flops, Evaluate("launch.flops", launch.flops, bindings, INT64_MAX));
  STOKER_TRY(sized.bytes, Evaluate("launch.bytes", launch.bytes, bindings, INT64_MAX));
  sized.buffers.reserve(launch.buffers.size());
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const Result<SizedBuffer> buffer = SizeBuffer(launch.buffers[i], extents, bindings);
    if (!buffer.ok()) return buffer.error().WithContext("operand " + std::to_string(i));
    sized.buffers.push_back(*buffer);
  }
  sized.dims.reserve(launch.dims.size());
  for (const SymDim& dim : launch.dims) {
    STOKER_TRY(const std::int64_t value, dim.Evaluate(bindings));
    sized.dims.push_back(value);
  }
  return sized;
}

Result<SizedBuffer> SizeHostTensor(const HostTensor& tensor, const Extents& extents,
                                   const SymBindings& bindings, std::vector<std::int64_t>* sizes) {
  STOKER_TRY(const std::int64_t bytes, TensorBytes("host_call.type", tensor.type, bindings, sizes));
  STOKER_TRY(const SizedBuffer buffer, SizeBuffer(tensor.buffer, extents, bindings));
  if (buffer.size != bytes) {
    return InvalidArgument("Field 'buffer.size' is " + std::to_string(buffer.size) +
                           "; a tensor of type " + tensor.type.ToString() + " has " +
                           std::to_string(bytes) + " bytes.");
  }
  return buffer;
}

bool Overlap(const SizedBuffer& a, const SizedBuffer& b) {
  return a.kind == b.kind && a.index == b.index && a.offset < b.offset + b.size &&
         b.offset < a.offset + a.size;
}

Result<SizedHostCall> SizeHostCall(const HostCall& call, const Extents& extents,
                                   const SymBindings& bindings) {
  SizedHostCall sized;
  std::vector<SizedBuffer> used;
  const auto size_all = [&](std::string_view what, const std::vector<HostTensor>& tensors,
                            bool written, std::vector<SizedBuffer>& out) -> Status {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Result<SizedBuffer> buffer =
          SizeHostTensor(tensors[i], extents, bindings, &sized.sizes);
      const std::string name = std::string(what) + " " + std::to_string(i);
      if (!buffer.ok()) return buffer.error().WithContext(name);
      if (written &&
          std::ranges::any_of(used, [&](const SizedBuffer& b) { return Overlap(b, *buffer); })) {
        return InvalidArgument("Field 'buffer.offset' is " + std::to_string(buffer->offset) +
                               ": it overlaps with another operand or result.")
            .WithContext(name);
      }
      used.push_back(*buffer);
      out.push_back(*buffer);
    }
    return Ok();
  };
  STOKER_RETURN_IF_ERROR(size_all("operand", call.operands, false, sized.operands));
  STOKER_RETURN_IF_ERROR(size_all("result", call.results, true, sized.results));
  return sized;
}

// Sizes of one matmul; each element that it names lies in its buffer.
class MatmulSizing {
 public:
  MatmulSizing(const Extents& extents, const SymBindings& bindings)
      : extents_(extents), bindings_(bindings) {}

  Result<SizedMatmul> Size(const Matmul& matmul) {
    SizedMatmul sized;
    sized.factor = matmul.factor;
    sized.result = matmul.result;
    sized.compute = matmul.compute;
    sized.activation = matmul.activation;
    sized.a_by_columns = matmul.a_by_columns;
    sized.b_by_columns = matmul.b_by_columns;
    sized.alpha = matmul.alpha;
    sized.beta = matmul.beta;
    STOKER_TRY(sized.batch, Evaluate("matmul.batch", matmul.batch, bindings_, kMaxMatmulSize));
    STOKER_TRY(sized.m, Evaluate("matmul.m", matmul.m, bindings_, kMaxMatmulSize));
    STOKER_TRY(sized.n, Evaluate("matmul.n", matmul.n, bindings_, kMaxMatmulSize));
    STOKER_TRY(sized.k, Evaluate("matmul.k", matmul.k, bindings_, kMaxMatmulSize));
    const Box a = sized.a_by_columns ? Box{sized.k, sized.m} : Box{sized.m, sized.k};
    const Box b = sized.b_by_columns ? Box{sized.n, sized.k} : Box{sized.k, sized.n};
    const Box d{sized.m, sized.n};
    batch_ = sized.batch;
    STOKER_TRY(sized.a, Place("A", matmul.a, a, matmul.factor));
    STOKER_TRY(sized.b, Place("B", matmul.b, b, matmul.factor));
    STOKER_TRY(sized.d, Place("D", matmul.d, d, matmul.result));
    if (matmul.c) {
      STOKER_TRY(sized.c, Place("C", *matmul.c, d, matmul.result));
    }
    if (matmul.bias) {
      // One row.
      const Matmul::Matrix row{matmul.bias->place, matmul.bias->offset, matmul.n, 0};
      STOKER_TRY(const auto bias, Place("bias", row, Box{1, sized.n}, matmul.result));
      sized.bias = {bias.place, bias.offset};
    }
    const Result<SizedBuffer> workspace = SizeBuffer(matmul.workspace, extents_, bindings_);
    if (!workspace.ok()) return workspace.error().WithContext("workspace");
    sized.workspace = *workspace;
    STOKER_RETURN_IF_ERROR(CheckApart(sized));
    return sized;
  }

 private:
  struct Box {
    std::int64_t lines = 0;   // That `leading` steps over.
    std::int64_t length = 0;  // Of each, in elements that are neighbours.
  };
  using Sized = MatmulMatrix<std::int64_t, SizedBuffer>;

  Result<Sized> Place(std::string_view name, const Matmul::Matrix& matrix, const Box& box,
                      DType dtype) {
    const auto place = [&]() -> Result<Sized> {
      Sized sized;
      STOKER_TRY(sized.place, SizeBuffer(matrix.place, extents_, bindings_));
      STOKER_TRY(sized.offset, Evaluate("matmul.offset", matrix.offset, bindings_, kMaxArenaBytes));
      STOKER_TRY(sized.leading,
                 Evaluate("matmul.leading", matrix.leading, bindings_, kMaxMatmulSize));
      STOKER_TRY(sized.batch_stride,
                 Evaluate("matmul.batch_stride", matrix.batch_stride, bindings_, kMaxArenaBytes));
      if (box.lines == 0 || box.length == 0 || batch_ == 0) return sized;  // Reads nothing.
      if (box.lines > 1 && sized.leading < box.length) {
        return InvalidArgument("Field 'matmul.leading' is " + std::to_string(sized.leading) +
                               ", less than the " + std::to_string(box.length) +
                               " elements of a line.");
      }
      // Each factor is below 2^43 and 2^31: this does not overflow.
      const __int128 last = static_cast<__int128>(batch_ - 1) * sized.batch_stride +
                            static_cast<__int128>(box.lines - 1) * sized.leading +
                            (box.length - 1) + sized.offset;
      const std::int64_t elements = sized.place.size / SizeInBytes(dtype);
      if (last >= elements) {
        return InvalidArgument("Field 'matmul.offset' is " + std::to_string(sized.offset) +
                               ": the matrix does not lie in a buffer of " +
                               std::to_string(elements) + " elements.");
      }
      return sized;
    };
    Result<Sized> sized = place();
    if (!sized.ok()) return sized.error().WithContext(std::string(name));
    return sized;
  }

  // D and the workspace are written while the others are read; C may be D.
  static Status CheckApart(const SizedMatmul& sized) {
    std::vector<SizedBuffer> read = {sized.a.place, sized.b.place};
    if (sized.bias) read.push_back(sized.bias->place);
    if (sized.c && *sized.c != sized.d) read.push_back(sized.c->place);
    const auto overlaps = [&](const SizedBuffer& written) {
      return std::ranges::any_of(read, [&](const SizedBuffer& b) { return Overlap(b, written); });
    };
    if (overlaps(sized.d.place)) return InvalidArgument("D overlaps with what is read.");
    read.push_back(sized.d.place);
    if (overlaps(sized.workspace)) {
      return InvalidArgument("The workspace overlaps with an operand.");
    }
    return Ok();
  }

  const Extents& extents_;
  const SymBindings& bindings_;
  std::int64_t batch_ = 0;
};

Result<SizedLibraryCall> SizeLibraryCall(const LibraryCall& call, const Extents& extents,
                                         const SymBindings& bindings) {
  SizedLibraryCall sized;
  sized.library = call.library;
  STOKER_TRY(sized.matmul, MatmulSizing(extents, bindings).Size(call.matmul));
  STOKER_TRY(sized.flops, Evaluate("library_call.flops", call.flops, bindings, INT64_MAX));
  STOKER_TRY(sized.bytes, Evaluate("library_call.bytes", call.bytes, bindings, INT64_MAX));
  return sized;
}

Error AtStep(const Error& error, std::string_view field, std::size_t index,
             const std::string& label) {
  return error.WithContext(std::string(field) + "[" + std::to_string(index) + "] (" + label + ")");
}

// The marks of a plan's steps, loops taken apart.
class MarkWriter {
 public:
  // `conditions`: of the loops.
  MarkWriter(const LaunchPlan& plan, std::span<const SizedBuffer> conditions)
      : plan_(plan), conditions_(conditions) {}

  std::vector<PlanMark> Write() && {
    Range(0, plan_.steps.size());
    return std::move(marks_);
  }

 private:
  // Loops nest no deeper than kMaxLoopDepth.
  void Range(std::size_t first, std::size_t last) {
    while (next_ < plan_.loops.size() && plan_.loops[next_].begin < last) {
      const PlanLoop& loop = plan_.loops[next_];
      const SizedBuffer& condition = conditions_[next_++];
      Steps(first, loop.begin);
      const std::size_t begin = Add(PlanMark::Kind::kBegin, 0);
      Range(loop.begin, loop.test);
      const std::size_t test = Add(PlanMark::Kind::kTest, 0);
      marks_[test].condition = condition;
      Range(loop.test, loop.end);
      marks_[test].number = Add(PlanMark::Kind::kRepeat, begin);
      first = loop.end;
    }
    Steps(first, last);
  }

  void Steps(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (std::holds_alternative<HostCall>(plan_.steps[i])) {
        Add(PlanMark::Kind::kHostCall, host_calls_++);
      } else {
        ++launches_;
      }
    }
  }

  std::size_t Add(PlanMark::Kind kind, std::size_t number) {
    marks_.push_back({launches_, kind, number, {}});
    return marks_.size() - 1;
  }

  const LaunchPlan& plan_;
  const std::span<const SizedBuffer> conditions_;
  std::vector<PlanMark> marks_;
  std::size_t next_ = 0;  // Loop.
  std::size_t launches_ = 0;
  std::size_t host_calls_ = 0;
};

Result<std::vector<PlanMark>> MarksOf(const LaunchPlan& plan, const Extents& extents,
                                      const SymBindings& bindings) {
  std::vector<SizedBuffer> conditions;
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    const Result<SizedBuffer> condition = SizeBuffer(plan.loops[i].condition, extents, bindings);
    if (!condition.ok()) return AtStep(condition.error(), "plan.loops", i, "condition");
    conditions.push_back(*condition);
  }
  return MarkWriter(plan, conditions).Write();
}

Status SizeSteps(const std::vector<PlanStep>& steps, const Extents& extents,
                 const SymBindings& bindings, SizedPlan* sized) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const auto* launch = std::get_if<Launch>(&steps[i])) {
      Result<SizedLaunch> made = SizeLaunch(*launch, extents, bindings);
      if (!made.ok()) return AtStep(made.error(), "plan.steps", i, launch->label);
      sized->launches.push_back(*std::move(made));
      continue;
    }
    if (const auto* call = std::get_if<LibraryCall>(&steps[i])) {
      Result<SizedLibraryCall> made = SizeLibraryCall(*call, extents, bindings);
      if (!made.ok()) return AtStep(made.error(), "plan.steps", i, call->label);
      sized->launches.push_back(*std::move(made));
      continue;
    }
    const auto& call = std::get<HostCall>(steps[i]);
    Result<SizedHostCall> made = SizeHostCall(call, extents, bindings);
    if (!made.ok()) return AtStep(made.error(), "plan.steps", i, call.target);
    sized->host_calls.push_back(*std::move(made));
  }
  return Ok();
}

// Constants and what does not depend on symbols.
Result<Extents> FixedExtents(const Artifact& artifact) {
  Extents extents;
  if (artifact.target.kind() == TargetKind::kCuda) extents.max_tasks = kMaxCudaBlocks;
  for (const ConstantRef& constant : artifact.constants) {
    extents.constants.push_back(static_cast<std::int64_t>(constant.size_bytes));
  }
  STOKER_TRY(extents.prepared,
             Evaluate("plan.prepared_bytes", artifact.plan.prepared_bytes, {}, kMaxArenaBytes));
  STOKER_TRY(
      extents.prepare_arena,
      Evaluate("plan.prepare_arena_bytes", artifact.plan.prepare_arena_bytes, {}, kMaxArenaBytes));
  return extents;
}

}  // namespace

Result<SizedPlan> SizePlan(const Artifact& artifact, const SymBindings& bindings) {
  const LaunchPlan& plan = artifact.plan;
  SizedPlan sized;
  STOKER_TRY(Extents extents, FixedExtents(artifact));
  for (const TensorType& type : plan.inputs) {
    STOKER_TRY(const std::int64_t bytes, TensorBytes("plan.inputs", type, bindings, nullptr));
    extents.inputs.push_back(bytes);
  }
  for (const OutputSpec& output : plan.outputs) {
    STOKER_TRY(const std::int64_t bytes, TensorBytes("plan.outputs", output.type, bindings,
                                                     &sized.output_sizes.emplace_back()));
    extents.outputs.push_back(bytes);
  }
  STOKER_TRY(extents.arena,
             Evaluate("plan.arena_bytes", plan.arena_bytes, bindings, kMaxArenaBytes));
  sized.arena_bytes = extents.arena;
  STOKER_TRY(sized.arena_zero_bytes,
             Evaluate("plan.arena_zero_bytes", plan.arena_zero_bytes, bindings, sized.arena_bytes));
  static std::atomic<std::uint64_t> last_serial = 0;
  sized.serial = ++last_serial;
  STOKER_RETURN_IF_ERROR(SizeSteps(plan.steps, extents, bindings, &sized));
  STOKER_TRY(sized.marks, MarksOf(plan, extents, bindings));
  return sized;
}

Result<SizedPrepare> SizePrepare(const Artifact& artifact) {
  const LaunchPlan& plan = artifact.plan;
  STOKER_TRY(Extents extents, FixedExtents(artifact));
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    std::int64_t bytes = 0;
    if (plan.input_roles[i] == InputRole::kParameter) {
      STOKER_TRY(bytes, TensorBytes("plan.inputs", plan.inputs[i], {}, nullptr));
    }
    extents.inputs.push_back(bytes);
  }
  SizedPrepare sized;
  sized.prepared_bytes = extents.prepared;
  sized.prepare_arena_bytes = extents.prepare_arena;
  for (std::size_t i = 0; i < plan.prepare.size(); ++i) {
    Result<SizedLaunch> launch = SizeLaunch(plan.prepare[i], extents, {});
    if (!launch.ok()) {
      return AtStep(launch.error(), "plan.prepare", i, plan.prepare[i].label);
    }
    sized.launches.push_back(*std::move(launch));
  }
  return sized;
}

}  // namespace stoker
