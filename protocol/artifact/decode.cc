#include <algorithm>
#include <bit>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/format.h"
#include "protocol/artifact/trailer.h"
#include "protocol/artifact/validate.h"
#include "protocol/base/bytes.h"

namespace stoker {
namespace {

// Fewest bytes that an element of each list takes, so that a damaged count is refused at once.
constexpr std::size_t kDimBytes = 9;
constexpr std::size_t kTypeBytes = 2;
constexpr std::size_t kBufferBytes = 1 + 4 + 2 * kDimBytes;
constexpr std::size_t kLaunchBytes = 4 + kDimBytes + 8 + 8 + 8 + 8 + 8 + 2 * kDimBytes;
constexpr std::size_t kHostTensorBytes = kTypeBytes + kBufferBytes;
constexpr std::size_t kHostCallBytes = 3 * 8;
constexpr std::size_t kStepBytes = 1 + std::min(kLaunchBytes, kHostCallBytes);  // Or a library's.
constexpr std::size_t kLoopBytes = 3 * 4 + kBufferBytes;
constexpr std::size_t kGuardBytes = 1 + 4 + 4 + 8 + 8 + kDimBytes;
constexpr std::size_t kKernelBytes = 2 * Digest::kSize + 8;
constexpr std::size_t kConstantBytes = Digest::kSize + 8;

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field '" + std::string(field) + "' " + why);
}

Status Get(std::string_view field, ByteReader& in, Digest* out) {
  STOKER_TRY(const std::string_view bytes, in.Raw(field, Digest::kSize));
  STOKER_TRY(*out, Digest::FromBytes(bytes));
  return Ok();
}

Status Get(std::string_view field, ByteReader& in, std::string* out) {
  STOKER_TRY(const std::string_view bytes, in.Bytes(field, kMaxArtifactTextBytes));
  *out = std::string(bytes);
  return Ok();
}

Status Get(std::string_view field, ByteReader& in, SymDim* out) {
  STOKER_TRY(const std::uint8_t form, in.U8(field));
  if (form == kConstantDim) {
    STOKER_TRY(const std::int64_t value, in.I64(field));
    *out = SymDim(value);
    return Ok();
  }
  if (form != kExpressionDim) {
    return Wrong(field, "has dim form " + std::to_string(form) + ", which does not exist.");
  }
  STOKER_TRY(const std::string_view text, in.Bytes(field, kMaxDimTextBytes));
  Result<SymDim> dim = SymDim::Parse(text);
  if (!dim.ok()) return Wrong(field, "is no expression: " + dim.error().message);
  // One artifact has one encoding.
  if (dim->IsConstant() || dim->ToString() != text) {
    return Wrong(field, "is '" + std::string(text) + "', whose canonical form is '" +
                            dim->ToString() + "'.");
  }
  *out = std::move(dim).value();
  return Ok();
}

Status Get(std::string_view field, ByteReader& in, TensorType* out) {
  STOKER_TRY(const std::uint8_t code, in.U8(field));
  const auto dtype = DTypeFromCode(code);
  if (!dtype) return Wrong(field, "has dtype code " + std::to_string(code) + ", which is none.");
  STOKER_TRY(const std::uint8_t rank, in.U8(field));
  if (rank > kMaxRank) {
    return Wrong(field, "has rank " + std::to_string(rank) + ", more than the limit of " +
                            std::to_string(kMaxRank) + ".");
  }
  std::vector<SymDim> dims(rank);
  for (SymDim& dim : dims) {
    STOKER_RETURN_IF_ERROR(Get(field, in, &dim));
    if (dim.IsConstant() && dim.constant() < 0) {
      return Wrong(field, "has the negative size " + dim.ToString() + ".");
    }
  }
  *out = TensorType{*dtype, Shape(std::move(dims))};
  return Ok();
}

Status Get(ByteReader& in, BufferRef* out) {
  STOKER_TRY(const std::uint8_t kind, in.U8("buffer.kind"));
  if (kind > static_cast<std::uint8_t>(BufferKind::kPrepareArena)) {
    return Wrong("buffer.kind", "is " + std::to_string(kind) + ", which is none.");
  }
  out->kind = static_cast<BufferKind>(kind);
  STOKER_TRY(out->index, in.U32("buffer.index"));
  STOKER_RETURN_IF_ERROR(Get("buffer.offset", in, &out->offset));
  return Get("buffer.size", in, &out->size);
}

Status Get(ByteReader& in, Launch* out) {
  STOKER_TRY(out->kernel, in.U32("launch.kernel"));
  STOKER_RETURN_IF_ERROR(Get("launch.tasks", in, &out->tasks));
  STOKER_TRY(out->min_tasks_per_chunk, in.I64("launch.min_tasks_per_chunk"));
  STOKER_TRY(out->min_tasks_per_call, in.I64("launch.min_tasks_per_call"));
  STOKER_TRY(out->scratch_bytes, in.I64("launch.scratch_bytes"));
  STOKER_TRY(const std::uint64_t buffers, in.Count("launch.buffers", kBufferBytes));
  out->buffers.resize(buffers);
  for (BufferRef& buffer : out->buffers) STOKER_RETURN_IF_ERROR(Get(in, &buffer));
  STOKER_TRY(const std::uint64_t dims, in.Count("launch.dims", kDimBytes));
  out->dims.resize(dims);
  for (SymDim& dim : out->dims) STOKER_RETURN_IF_ERROR(Get("launch.dims", in, &dim));
  STOKER_RETURN_IF_ERROR(Get("launch.label", in, &out->label));
  STOKER_RETURN_IF_ERROR(Get("launch.flops", in, &out->flops));
  return Get("launch.bytes", in, &out->bytes);
}

Status Get(std::string_view field, ByteReader& in, std::vector<HostTensor>* out) {
  STOKER_TRY(const std::uint64_t count, in.Count(field, kHostTensorBytes));
  out->resize(count);
  for (HostTensor& tensor : *out) {
    STOKER_RETURN_IF_ERROR(Get(field, in, &tensor.type));
    STOKER_RETURN_IF_ERROR(Get(in, &tensor.buffer));
  }
  return Ok();
}

Status Get(ByteReader& in, HostCall* out) {
  STOKER_TRY(const std::string_view target, in.Bytes("host_call.target", kMaxTargetBytes));
  out->target = std::string(target);
  STOKER_RETURN_IF_ERROR(Get("host_call.operands", in, &out->operands));
  return Get("host_call.results", in, &out->results);
}

// An enum of `count` values from 0 on.
template <typename Enum>
Status Get(std::string_view field, ByteReader& in, int count, Enum* out) {
  STOKER_TRY(const std::uint8_t code, in.U8(field));
  if (code >= count) return Wrong(field, "is " + std::to_string(code) + ", which is none.");
  *out = static_cast<Enum>(code);
  return Ok();
}

Status Get(ByteReader& in, Matmul::Matrix* out) {
  STOKER_RETURN_IF_ERROR(Get(in, &out->place));
  STOKER_RETURN_IF_ERROR(Get("matmul.offset", in, &out->offset));
  STOKER_RETURN_IF_ERROR(Get("matmul.leading", in, &out->leading));
  return Get("matmul.batch_stride", in, &out->batch_stride);
}

Status Get(ByteReader& in, Matmul* out) {
  STOKER_RETURN_IF_ERROR(Get("matmul.batch", in, &out->batch));
  STOKER_RETURN_IF_ERROR(Get("matmul.m", in, &out->m));
  STOKER_RETURN_IF_ERROR(Get("matmul.n", in, &out->n));
  STOKER_RETURN_IF_ERROR(Get("matmul.k", in, &out->k));
  STOKER_RETURN_IF_ERROR(Get("matmul.factor", in, kNumDTypes, &out->factor));
  STOKER_RETURN_IF_ERROR(Get("matmul.result", in, kNumDTypes, &out->result));
  STOKER_RETURN_IF_ERROR(Get("matmul.compute", in, kNumMatmulComputes, &out->compute));
  STOKER_RETURN_IF_ERROR(Get("matmul.activation", in, kNumMatmulActivations, &out->activation));
  STOKER_TRY(const std::uint8_t flags, in.U8("matmul.flags"));
  if (flags > kMatmulFlags) {
    return Wrong("matmul.flags", "is " + std::to_string(flags) + "; the limit is " +
                                     std::to_string(kMatmulFlags) + ".");
  }
  out->a_by_columns = (flags & kMatmulAByColumns) != 0;
  out->b_by_columns = (flags & kMatmulBByColumns) != 0;
  STOKER_TRY(const std::uint64_t alpha, in.U64("matmul.alpha"));
  STOKER_TRY(const std::uint64_t beta, in.U64("matmul.beta"));
  out->alpha = std::bit_cast<double>(alpha);
  out->beta = std::bit_cast<double>(beta);
  STOKER_RETURN_IF_ERROR(Get(in, &out->a));
  STOKER_RETURN_IF_ERROR(Get(in, &out->b));
  STOKER_RETURN_IF_ERROR(Get(in, &out->d));
  if ((flags & kMatmulHasC) != 0) STOKER_RETURN_IF_ERROR(Get(in, &out->c.emplace()));
  if ((flags & kMatmulHasBias) != 0) {
    STOKER_RETURN_IF_ERROR(Get(in, &out->bias.emplace().place));
    STOKER_RETURN_IF_ERROR(Get("matmul.bias.offset", in, &out->bias->offset));
  }
  return Get(in, &out->workspace);
}

Status Get(ByteReader& in, LibraryCall* out) {
  STOKER_RETURN_IF_ERROR(Get("library_call.library", in, kNumLibraries, &out->library));
  STOKER_TRY(const std::uint8_t operation, in.U8("library_call.operation"));
  if (operation != kMatmulOperation) {
    return Wrong("library_call.operation", "is " + std::to_string(operation) + ", which is none.");
  }
  STOKER_RETURN_IF_ERROR(Get(in, &out->matmul));
  STOKER_RETURN_IF_ERROR(Get("library_call.label", in, &out->label));
  STOKER_RETURN_IF_ERROR(Get("library_call.flops", in, &out->flops));
  return Get("library_call.bytes", in, &out->bytes);
}

Status Get(ByteReader& in, PlanStep* out) {
  STOKER_TRY(const std::uint8_t work, in.U8("step.work"));
  if (work == kLaunchStep) return Get(in, &out->emplace<Launch>());
  if (work == kHostCallStep) return Get(in, &out->emplace<HostCall>());
  if (work == kLibraryCallStep) return Get(in, &out->emplace<LibraryCall>());
  return Wrong("step.work", "is " + std::to_string(work) + ", which is none.");
}

Status Get(ByteReader& in, PlanLoop* out) {
  STOKER_TRY(out->begin, in.U32("loop.begin"));
  STOKER_TRY(out->test, in.U32("loop.test"));
  STOKER_TRY(out->end, in.U32("loop.end"));
  return Get(in, &out->condition);
}

// A list of launches, of steps, or of loops.
template <typename Element>
Status GetList(std::string_view field, std::size_t min_bytes, ByteReader& in,
               std::vector<Element>* out) {
  STOKER_TRY(const std::uint64_t count, in.Count(field, min_bytes));
  out->resize(count);
  for (std::size_t i = 0; i < out->size(); ++i) {
    const Status status = Get(in, &(*out)[i]);
    if (!status.ok()) {
      return status.error().WithContext(std::string(field) + "[" + std::to_string(i) + "]");
    }
  }
  return Ok();
}

Status Get(ByteReader& in, LaunchPlan* out) {
  STOKER_TRY(const std::uint64_t inputs, in.Count("plan.inputs", kTypeBytes + 1));
  out->inputs.resize(inputs);
  out->input_roles.resize(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    STOKER_RETURN_IF_ERROR(Get("plan.inputs", in, &out->inputs[i]));
    STOKER_TRY(const std::uint8_t role, in.U8("plan.input_roles"));
    if (role > static_cast<std::uint8_t>(InputRole::kParameter)) {
      return Wrong("plan.input_roles", "has role " + std::to_string(role) + ", which is none.");
    }
    out->input_roles[i] = static_cast<InputRole>(role);
  }
  STOKER_TRY(const std::uint64_t outputs, in.Count("plan.outputs", kTypeBytes + 4 + 4));
  out->outputs.resize(outputs);
  for (OutputSpec& output : out->outputs) {
    STOKER_RETURN_IF_ERROR(Get("plan.outputs", in, &output.type));
    STOKER_TRY(const std::uint32_t same_as, in.U32("plan.outputs.same_as_input"));
    output.same_as_input = static_cast<std::int32_t>(same_as);
    STOKER_TRY(const std::uint32_t updates, in.U32("plan.outputs.updates_input"));
    output.updates_input = static_cast<std::int32_t>(updates);
  }
  STOKER_RETURN_IF_ERROR(Get("plan.arena_bytes", in, &out->arena_bytes));
  STOKER_RETURN_IF_ERROR(Get("plan.arena_zero_bytes", in, &out->arena_zero_bytes));
  STOKER_RETURN_IF_ERROR(Get("plan.prepared_bytes", in, &out->prepared_bytes));
  STOKER_RETURN_IF_ERROR(Get("plan.prepare_arena_bytes", in, &out->prepare_arena_bytes));
  STOKER_RETURN_IF_ERROR(GetList("plan.prepare", kLaunchBytes, in, &out->prepare));
  STOKER_RETURN_IF_ERROR(GetList("plan.steps", kStepBytes, in, &out->steps));
  return GetList("plan.loops", kLoopBytes, in, &out->loops);
}

Status Get(ByteReader& in, Guard* out) {
  STOKER_TRY(const std::uint8_t code, in.U8("guard.kind"));
  const std::optional<GuardKind> kind = GuardKindFromCode(code);
  if (!kind) return Wrong("guard.kind", "is " + std::to_string(code) + ", which is none.");
  out->kind = *kind;
  STOKER_TRY(out->input, in.U32("guard.input"));
  STOKER_TRY(const std::uint32_t dim, in.U32("guard.dim"));
  out->dim = static_cast<std::int32_t>(dim);
  STOKER_TRY(out->value, in.I64("guard.value"));
  STOKER_TRY(out->limit, in.I64("guard.limit"));
  return Get("guard.expr", in, &out->expr);
}

Status GetBody(ByteReader& in, Artifact* out) {
  STOKER_RETURN_IF_ERROR(Get("request_key", in, &out->request_key));
  STOKER_RETURN_IF_ERROR(Get("graph_name", in, &out->graph_name));
  std::string target;
  STOKER_RETURN_IF_ERROR(Get("target", in, &target));
  Result<Target> parsed = Target::Parse(target);
  if (!parsed.ok()) return parsed.error().WithContext("Field 'target'");
  out->target = std::move(parsed).value();
  if (out->target.ToString() != target) {
    return Wrong("target",
                 "is '" + target + "', whose canonical form is '" + out->target.ToString() + "'.");
  }
  STOKER_RETURN_IF_ERROR(Get("compiler_epoch", in, &out->compiler_epoch));
  STOKER_TRY(const std::uint64_t kernels, in.Count("kernels", kKernelBytes));
  out->kernels.resize(kernels);
  for (KernelRef& kernel : out->kernels) {
    STOKER_RETURN_IF_ERROR(Get("kernels.key", in, &kernel.key));
    STOKER_RETURN_IF_ERROR(Get("kernels.blob", in, &kernel.blob));
    STOKER_TRY(kernel.size_bytes, in.U64("kernels.size_bytes"));
  }
  STOKER_TRY(const std::uint64_t constants, in.Count("constants", kConstantBytes));
  out->constants.resize(constants);
  for (ConstantRef& constant : out->constants) {
    STOKER_RETURN_IF_ERROR(Get("constants.blob", in, &constant.blob));
    STOKER_TRY(constant.size_bytes, in.U64("constants.size_bytes"));
  }
  STOKER_RETURN_IF_ERROR(Get(in, &out->plan));
  STOKER_TRY(const std::uint64_t guards, in.Count("guards", kGuardBytes));
  std::vector<Guard> list(guards);
  for (Guard& guard : list) STOKER_RETURN_IF_ERROR(Get(in, &guard));
  out->guards = GuardSet(std::move(list));
  return Ok();
}

}  // namespace

Result<Artifact> DecodeArtifact(std::string_view bytes) {
  ByteReader header(bytes);
  STOKER_TRY(const std::string_view magic, header.Raw("magic", kArtifactMagic.size()));
  if (magic != kArtifactMagic) return DataLoss("Field 'magic' is not STKA: this is no artifact.");
  STOKER_TRY(const std::uint32_t version, header.U32("version"));
  if (version != kArtifactVersion) {
    return Unimplemented("Field 'version' is " + std::to_string(version) +
                         "; this build reads version " + std::to_string(kArtifactVersion) + ".");
  }

  STOKER_TRY(const Trailer trailer, TrailerOf(bytes));
  const Digest actual = Sha256Of(trailer.signed_bytes);
  if (trailer.digest != actual) {
    return DataLoss("Field 'digest' is " + trailer.digest.ToHex() + ", the bytes have " +
                    actual.ToHex() + ".");
  }

  ByteReader body(trailer.signed_bytes.substr(kArtifactHeaderBytes));
  Artifact artifact;
  STOKER_RETURN_IF_ERROR(GetBody(body, &artifact));
  if (!body.AtEnd()) {
    return Wrong("guards",
                 "is the last one, but " + std::to_string(body.remaining()) + " bytes follow it.");
  }
  STOKER_RETURN_IF_ERROR(ValidateArtifact(artifact));
  return artifact;
}

}  // namespace stoker
