#include <bit>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/format.h"
#include "protocol/base/bytes.h"

namespace stoker {
namespace {

void Put(const SymDim& dim, ByteWriter& out) {
  if (dim.IsConstant()) {
    out.U8(kConstantDim);
    out.I64(dim.constant());
  } else {
    out.U8(kExpressionDim);
    out.Bytes(dim.ToString());
  }
}

void Put(const TensorType& type, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(type.dtype));
  out.U8(static_cast<std::uint8_t>(type.shape.rank()));
  for (const SymDim& dim : type.shape) Put(dim, out);
}

void Put(const Guard& guard, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(guard.kind));
  out.U32(guard.input);
  out.U32(static_cast<std::uint32_t>(guard.dim));
  out.I64(guard.value);
  out.I64(guard.limit);
  Put(guard.expr, out);
}

void Put(const BufferRef& buffer, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(buffer.kind));
  out.U32(buffer.index);
  Put(buffer.offset, out);
  Put(buffer.size, out);
}

void Put(const Launch& launch, ByteWriter& out) {
  out.U32(launch.kernel);
  Put(launch.tasks, out);
  out.I64(launch.min_tasks_per_chunk);
  out.I64(launch.min_tasks_per_call);
  out.I64(launch.scratch_bytes);
  out.U64(launch.buffers.size());
  for (const BufferRef& buffer : launch.buffers) Put(buffer, out);
  out.U64(launch.dims.size());
  for (const SymDim& dim : launch.dims) Put(dim, out);
  out.Bytes(launch.label);
  Put(launch.flops, out);
  Put(launch.bytes, out);
}

void Put(const std::vector<HostTensor>& tensors, ByteWriter& out) {
  out.U64(tensors.size());
  for (const HostTensor& tensor : tensors) {
    Put(tensor.type, out);
    Put(tensor.buffer, out);
  }
}

void Put(const Matmul::Matrix& matrix, ByteWriter& out) {
  Put(matrix.place, out);
  Put(matrix.offset, out);
  Put(matrix.leading, out);
  Put(matrix.batch_stride, out);
}

void Put(const Matmul& matmul, ByteWriter& out) {
  for (const SymDim* size : {&matmul.batch, &matmul.m, &matmul.n, &matmul.k}) Put(*size, out);
  out.U8(static_cast<std::uint8_t>(matmul.factor));
  out.U8(static_cast<std::uint8_t>(matmul.result));
  out.U8(static_cast<std::uint8_t>(matmul.compute));
  out.U8(static_cast<std::uint8_t>(matmul.activation));
  int flags = 0;
  if (matmul.a_by_columns) flags |= kMatmulAByColumns;
  if (matmul.b_by_columns) flags |= kMatmulBByColumns;
  if (matmul.c) flags |= kMatmulHasC;
  if (matmul.bias) flags |= kMatmulHasBias;
  out.U8(static_cast<std::uint8_t>(flags));
  out.U64(std::bit_cast<std::uint64_t>(matmul.alpha));
  out.U64(std::bit_cast<std::uint64_t>(matmul.beta));
  for (const Matmul::Matrix* matrix : {&matmul.a, &matmul.b, &matmul.d}) Put(*matrix, out);
  if (matmul.c) Put(*matmul.c, out);
  if (matmul.bias) {
    Put(matmul.bias->place, out);
    Put(matmul.bias->offset, out);
  }
  Put(matmul.workspace, out);
}

void Put(const LibraryCall& call, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(call.library));
  out.U8(kMatmulOperation);
  Put(call.matmul, out);
  out.Bytes(call.label);
  Put(call.flops, out);
  Put(call.bytes, out);
}

void Put(const PlanStep& step, ByteWriter& out) {
  if (const auto* launch = std::get_if<Launch>(&step)) {
    out.U8(kLaunchStep);
    return Put(*launch, out);
  }
  if (const auto* call = std::get_if<LibraryCall>(&step)) {
    out.U8(kLibraryCallStep);
    return Put(*call, out);
  }
  const auto& call = std::get<HostCall>(step);
  out.U8(kHostCallStep);
  out.Bytes(call.target);
  Put(call.operands, out);
  Put(call.results, out);
}

void Put(const LaunchPlan& plan, ByteWriter& out) {
  STOKER_CHECK(plan.inputs.size() == plan.input_roles.size());
  out.U64(plan.inputs.size());
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    Put(plan.inputs[i], out);
    out.U8(static_cast<std::uint8_t>(plan.input_roles[i]));
  }
  out.U64(plan.outputs.size());
  for (const OutputSpec& output : plan.outputs) {
    Put(output.type, out);
    out.U32(static_cast<std::uint32_t>(output.same_as_input));
    out.U32(static_cast<std::uint32_t>(output.updates_input));
  }
  Put(plan.arena_bytes, out);
  Put(plan.arena_zero_bytes, out);
  Put(plan.prepared_bytes, out);
  Put(plan.prepare_arena_bytes, out);
  out.U64(plan.prepare.size());
  for (const Launch& launch : plan.prepare) Put(launch, out);
  out.U64(plan.steps.size());
  for (const PlanStep& step : plan.steps) Put(step, out);
  out.U64(plan.loops.size());
  for (const PlanLoop& loop : plan.loops) {
    for (const std::uint32_t place : {loop.begin, loop.test, loop.end}) out.U32(place);
    Put(loop.condition, out);
  }
}

}  // namespace

std::string EncodeArtifact(const Artifact& artifact) {
  ByteWriter out;
  out.Raw(kArtifactMagic);
  out.U32(kArtifactVersion);
  out.Raw(artifact.request_key.AsBytes());
  out.Bytes(artifact.graph_name);
  out.Bytes(artifact.target.ToString());
  out.Bytes(artifact.compiler_epoch);
  out.U64(artifact.kernels.size());
  for (const KernelRef& kernel : artifact.kernels) {
    out.Raw(kernel.key.AsBytes());
    out.Raw(kernel.blob.AsBytes());
    out.U64(kernel.size_bytes);
  }
  out.U64(artifact.constants.size());
  for (const ConstantRef& constant : artifact.constants) {
    out.Raw(constant.blob.AsBytes());
    out.U64(constant.size_bytes);
  }
  Put(artifact.plan, out);
  out.U64(artifact.guards.guards().size());
  for (const Guard& guard : artifact.guards.guards()) Put(guard, out);
  out.Raw(Sha256Of(out.str()).AsBytes());
  out.U32(0);  // Signatures.
  return std::move(out).Take();
}

}  // namespace stoker
