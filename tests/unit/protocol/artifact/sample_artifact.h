// A small artifact with one of everything that the format has.
#pragma once

#include "protocol/artifact/artifact.h"

namespace stoker {

// Inputs: f32[s0,16] and the parameter bf16[16,16]; outputs: f32[s0,16] and the parameter itself.
// One prepare launch packs the parameter; two launches go through the arena, and a host call
// between them takes the first half of it to the second.
inline Artifact SampleArtifact() {
  Artifact artifact;
  artifact.request_key = Sha256Of("request");
  artifact.graph_name = "sample";
  artifact.target = Target::Parse("cpu/x86-64-v4+amx_bf16").value();
  artifact.compiler_epoch = "stoker-1;llvm-22.1.8";
  artifact.kernels = {{Sha256Of("k0"), Sha256Of("b0"), 4096},
                      {Sha256Of("k1"), Sha256Of("b1"), 8192}};
  artifact.constants = {{Sha256Of("c0"), 128}};

  const SymDim n = SymDim::Symbol(0);
  const TensorType activation{DType::kF32, Shape{n, SymDim(16)}};
  const TensorType parameter{DType::kBF16, Shape{SymDim(16), SymDim(16)}};
  LaunchPlan& plan = artifact.plan;
  plan.inputs = {activation, parameter};
  plan.input_roles = {InputRole::kActivation, InputRole::kParameter};
  plan.outputs = {OutputSpec{activation, -1}, OutputSpec{parameter, 1}};
  plan.arena_bytes = SymDim(128) * n;
  plan.arena_zero_bytes = SymDim(8) * n;
  plan.prepared_bytes = 512;
  plan.prepare_arena_bytes = 64;

  Launch pack;
  pack.kernel = 0;
  pack.tasks = 16;
  pack.buffers = {{BufferKind::kInput, 1, {}, 512},
                  {BufferKind::kPrepareArena, 0, 0, 64},
                  {BufferKind::kPrepared, 0, 0, 512}};
  pack.label = "pack";
  plan.prepare = {pack};

  Launch matmul;
  matmul.kernel = 1;
  matmul.tasks = n;
  matmul.min_tasks_per_chunk = 2;
  matmul.min_tasks_per_call = 3;
  matmul.scratch_bytes = 256;
  matmul.buffers = {{BufferKind::kInput, 0, {}, SymDim(64) * n},
                    {BufferKind::kPrepared, 0, 0, 512},
                    {BufferKind::kArena, 0, 0, SymDim(64) * n}};
  matmul.dims = {n, 16};
  matmul.label = "matmul";
  matmul.flops = SymDim(512) * n;
  matmul.bytes = SymDim(128) * n;
  Launch bias = matmul;
  bias.buffers = {{BufferKind::kArena, 0, SymDim(64) * n, SymDim(64) * n},
                  {BufferKind::kConstant, 0, {}, 64},
                  {BufferKind::kOutput, 0, {}, SymDim(64) * n}};
  bias.label = "bias";
  HostCall sort;
  sort.target = "aten.sort.values";
  sort.operands = {{activation, {BufferKind::kArena, 0, 0, SymDim(64) * n}},
                   {parameter, {BufferKind::kInput, 1, {}, 512}}};
  sort.results = {{activation, {BufferKind::kArena, 0, SymDim(64) * n, SymDim(64) * n}}};
  plan.steps = {matmul, sort, bias};

  artifact.guards = GuardSet({{GuardKind::kDType, 0, -1, 1, 0, {}},
                              {GuardKind::kRank, 0, -1, 2, 0, {}},
                              {GuardKind::kBindSymbol, 0, 0, 0, 0, {}},
                              {GuardKind::kSizeRange, 0, 0, 1, 512, {}},
                              {GuardKind::kSizeEquals, 0, 1, 16, 0, {}},
                              {GuardKind::kContiguous, 0, -1, 0, 0, {}},
                              {GuardKind::kNotNegative, 0, -1, 0, 0, SymDim(1024) - n * 2}});
  return artifact;
}

// For a GPU: relu(2 * x w + r + b) over f32[s0,16], one call of a library. w lies by columns.
inline Artifact SampleLibraryArtifact() {
  Artifact artifact;
  artifact.request_key = Sha256Of("library request");
  artifact.graph_name = "linear";
  artifact.target = Target::Parse("cuda/sm_90a").value();
  artifact.compiler_epoch = "stoker-1;llvm-22.1.8";
  const SymDim n = SymDim::Symbol(0);
  const TensorType activation{DType::kF32, Shape{n, SymDim(16)}};
  LaunchPlan& plan = artifact.plan;
  plan.inputs = {activation,
                 activation,
                 {DType::kF32, Shape{SymDim(16), SymDim(16)}},
                 {DType::kF32, Shape{SymDim(16)}}};
  plan.input_roles = {InputRole::kActivation, InputRole::kActivation, InputRole::kParameter,
                      InputRole::kParameter};
  plan.outputs = {OutputSpec{activation, -1}};
  plan.arena_bytes = 1024;
  LibraryCall call;
  Matmul& matmul = call.matmul;
  matmul.batch = 1;
  matmul.m = n;
  matmul.n = 16;
  matmul.k = 16;
  matmul.activation = MatmulActivation::kRelu;
  matmul.a = {{BufferKind::kInput, 0, {}, SymDim(64) * n}, 0, 16, 0};
  matmul.b = {{BufferKind::kInput, 2, {}, 1024}, 0, 16, 0};
  matmul.b_by_columns = true;
  matmul.d = {{BufferKind::kOutput, 0, {}, SymDim(64) * n}, 0, 16, 0};
  matmul.alpha = 2;
  matmul.beta = 1;
  matmul.c = {{BufferKind::kInput, 1, {}, SymDim(64) * n}, 0, 16, 0};
  matmul.bias = {{BufferKind::kInput, 3, {}, 64}, 0};
  matmul.workspace = {BufferKind::kArena, 0, 0, 1024};
  call.label = "matmul+scale+matrix+bias+relu";
  call.flops = SymDim(512) * n;
  call.bytes = SymDim(192) * n;
  plan.steps = {call};
  artifact.guards = GuardSet({{GuardKind::kBindSymbol, 0, 0, 0, 0, {}}});
  return artifact;
}
inline Matmul& SampleLibraryMatmul(Artifact& a) {
  return std::get<LibraryCall>(a.plan.steps[0]).matmul;
}

// Steps of SampleArtifact.
inline Launch& SampleMatMul(Artifact& a) { return std::get<Launch>(a.plan.steps[0]); }
inline HostCall& SampleHostCall(Artifact& a) { return std::get<HostCall>(a.plan.steps[1]); }
inline Launch& SampleBias(Artifact& a) { return std::get<Launch>(a.plan.steps[2]); }

}  // namespace stoker
