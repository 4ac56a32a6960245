// Artifacts. An input is an artifact without its trailer: the digest is made to fit, since damage
// that the digest shows never gets further. What decodes has one encoding and can be sized.
#include "protocol/artifact/artifact.h"

#include "protocol/artifact/artifact_signature.h"
#include "protocol/artifact/sized_plan.h"
#include "protocol/base/bytes.h"
#include "protocol/base/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace stoker::fuzz {
namespace {

constexpr std::size_t kTrailerBytes = Digest::kSize + 4;  // Digest, no signatures.

std::string Sealed(std::string_view body) {
  ByteWriter out;
  out.Raw(body);
  out.Raw(Sha256Of(body).AsBytes());
  out.U32(0);
  return std::move(out).Take();
}

// y = f(x, packed w, c) over one symbolic dim, and an op of the host on a part of it.
Artifact Sample() {
  const SymDim s0 = *SymDim::Parse("s0");
  const SymDim bytes = *SymDim::Parse("32*s0");
  Artifact artifact;
  artifact.request_key = Sha256Of("request");
  artifact.graph_name = "sample";
  artifact.target = *Target::Parse("cpu/x86-64-v4+avx512_bf16");
  artifact.compiler_epoch = "stoker-1;llvm-22.1.8";
  artifact.kernels = {{Sha256Of("pack key"), Sha256Of("pack"), 4096},
                      {Sha256Of("run key"), Sha256Of("run"), 8192}};
  artifact.constants = {{Sha256Of("constant"), 64}};
  artifact.guards =
      GuardSet({{.kind = GuardKind::kRank, .input = 0, .value = 2, .expr = {}},
                {.kind = GuardKind::kBindSymbol, .input = 0, .dim = 0, .expr = {}},
                {.kind = GuardKind::kSizeEquals, .input = 0, .dim = 1, .value = 8, .expr = {}}});
  LaunchPlan& plan = artifact.plan;
  plan.inputs = {*TensorType::Parse("f32[s0,8]"), *TensorType::Parse("f32[8,8]")};
  plan.input_roles = {InputRole::kActivation, InputRole::kParameter};
  plan.outputs = {{.type = *TensorType::Parse("f32[s0,8]"), .updates_input = 0},
                  {.type = plan.inputs[1], .same_as_input = 1}};
  plan.arena_bytes = *SymDim::Parse("64*s0");
  plan.prepared_bytes = SymDim(256);
  Launch& pack = plan.prepare.emplace_back();
  pack.tasks = SymDim(1);
  pack.buffers = {{BufferKind::kInput, 1, SymDim(0), SymDim(256)},
                  {BufferKind::kPrepared, 0, SymDim(0), SymDim(256)}};
  pack.label = "pack";
  Launch run;
  run.kernel = 1;
  run.tasks = s0;
  run.scratch_bytes = 512;
  run.buffers = {{BufferKind::kInput, 0, SymDim(0), bytes},
                 {BufferKind::kPrepared, 0, SymDim(0), SymDim(256)},
                 {BufferKind::kConstant, 0, SymDim(0), SymDim(64)},
                 {BufferKind::kArena, 0, SymDim(0), bytes},
                 {BufferKind::kOutput, 0, SymDim(0), bytes}};
  run.dims = {s0};
  run.label = "matmul+bias";
  HostCall host;
  host.target = "aten.sort.values";
  host.operands = {{plan.inputs[0], {BufferKind::kArena, 0, SymDim(0), bytes}}};
  host.results = {{plan.inputs[0], {BufferKind::kArena, 0, bytes, bytes}}};
  Launch last = run;
  last.buffers.erase(last.buffers.begin());
  run.buffers.pop_back();
  plan.steps = {run, host, last};
  return artifact;
}

// The same steps in a loop, and one of them in another in its body.
Artifact LoopSample() {
  Artifact artifact = Sample();
  LaunchPlan& plan = artifact.plan;
  plan.outputs[0].updates_input = -1;  // A loop would read what it has overwritten.
  const BufferRef condition{BufferKind::kArena, 0, plan.arena_bytes, SymDim(1)};
  plan.arena_bytes = plan.arena_bytes + 64;
  std::get<Launch>(plan.steps[0]).buffers.push_back(condition);
  plan.loops = {{0, 1, 3, condition}, {1, 1, 2, condition}};
  return artifact;
}

// y = relu(x w + y + c) by a library of a GPU.
Artifact LibrarySample() {
  Artifact artifact = Sample();
  artifact.target = *Target::Parse("cuda/sm_90a");
  artifact.plan.outputs[0].updates_input = -1;  // Two buffers may not name the input then.
  const SymDim s0 = *SymDim::Parse("s0");
  const SymDim bytes = *SymDim::Parse("32*s0");
  LibraryCall call;
  Matmul& matmul = call.matmul;
  matmul.batch = 1;
  matmul.m = s0;
  matmul.n = 8;
  matmul.k = 8;
  matmul.activation = MatmulActivation::kRelu;
  matmul.a = {{BufferKind::kInput, 0, SymDim(0), bytes}, 0, 8, 0};
  matmul.b = {{BufferKind::kInput, 1, SymDim(0), SymDim(256)}, 0, 8, 0};
  matmul.b_by_columns = true;
  matmul.d = {{BufferKind::kOutput, 0, SymDim(0), bytes}, 0, 8, 0};
  matmul.beta = 1;
  matmul.c = matmul.d;
  matmul.bias = {{BufferKind::kConstant, 0, SymDim(0), SymDim(64)}, 8};
  matmul.workspace = {BufferKind::kArena, 0, SymDim(0), bytes};
  call.label = "matmul";
  artifact.plan.steps = {call};
  return artifact;
}

std::string BodyOf(const Artifact& artifact) {
  const std::string encoded = EncodeArtifact(artifact);
  std::string body = encoded.substr(0, encoded.size() - kTrailerBytes);
  STOKER_CHECK(DecodeArtifact(Sealed(body)).ok());
  return body;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {BodyOf(Sample()), BodyOf(LoopSample()), BodyOf(LibrarySample())};
}

void TryInput(std::string_view bytes) {
  (void)SignaturesOf(bytes);
  const std::string sealed = Sealed(bytes);
  const Result<Artifact> artifact = DecodeArtifact(sealed);
  if (!artifact.ok()) return;
  STOKER_CHECK(EncodeArtifact(*artifact) == sealed);
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{7}, INT64_MAX}) {
    SymBindings bindings;
    for (std::uint32_t symbol = 0; symbol < 4; ++symbol) bindings[symbol] = size;
    (void)SizePlan(*artifact, bindings);
  }
  (void)SizePrepare(*artifact);
}

}  // namespace stoker::fuzz
