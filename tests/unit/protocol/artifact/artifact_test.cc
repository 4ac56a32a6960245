#include "protocol/artifact/artifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/protocol/artifact/sample_artifact.h"

namespace stoker {
namespace {

TEST(EncodeArtifact, Golden) {
  const std::string bytes = EncodeArtifact(SampleArtifact());
  EXPECT_EQ(bytes.substr(0, 8), std::string("STKA\6\0\0\0", 8));
  EXPECT_EQ(Sha256Of(bytes).ToHex(),
            "92a01389a87a689f97d705d46e76ba89c3b748505705851ba99f4b883a02bd8b");
}

TEST(DecodeArtifact, RoundTrip_SameBytes) {
  const std::string bytes = EncodeArtifact(SampleArtifact());
  auto decoded = DecodeArtifact(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(EncodeArtifact(*decoded), bytes);
  EXPECT_EQ(SampleMatMul(*decoded).label, "matmul");
  EXPECT_EQ(SampleHostCall(*decoded).target, "aten.sort.values");
  EXPECT_EQ(SampleMatMul(*decoded).flops, SymDim(512) * SymDim::Symbol(0));
  EXPECT_EQ(decoded->guards.guards().size(), 7U);
}

TEST(DecodeArtifact, LibraryCall_RoundTrip_SameBytes) {
  const std::string bytes = EncodeArtifact(SampleLibraryArtifact());
  auto decoded = DecodeArtifact(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(EncodeArtifact(*decoded), bytes);
  Artifact sample = SampleLibraryArtifact();
  EXPECT_EQ(SampleLibraryMatmul(*decoded), SampleLibraryMatmul(sample));
  SampleLibraryMatmul(sample).c.reset();
  SampleLibraryMatmul(sample).beta = 0;
  SampleLibraryMatmul(sample).bias.reset();
  decoded = DecodeArtifact(EncodeArtifact(sample));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(SampleLibraryMatmul(*decoded), SampleLibraryMatmul(sample));
}

TEST(DecodeArtifact, EveryTruncation_IsRefused) {
  const std::string bytes = EncodeArtifact(SampleArtifact());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeArtifact(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeArtifact(bytes + "x").ok());
}

TEST(DecodeArtifact, EveryFlippedBit_IsRefused) {
  const std::string bytes = EncodeArtifact(SampleArtifact());
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(DecodeArtifact(flipped).ok()) << "bit " << i;
  }
}

// With the digest made right again after each change, what remains are the decoder's own checks:
// whatever it accepts is canonical.
TEST(DecodeArtifact, EveryByteChangedUnderARightDigest_IsRefusedOrCanonical) {
  for (const Artifact& artifact : {SampleArtifact(), SampleLibraryArtifact()}) {
    const std::string bytes = EncodeArtifact(artifact);
    const std::size_t body_end = bytes.size() - Digest::kSize - 4;
    int accepted = 0;
    for (std::size_t i = 0; i < body_end; ++i) {
      for (const int delta : {1, 0x7f, 0x80, 0xff}) {
        std::string body = bytes.substr(0, body_end);
        body[i] = static_cast<char>(body[i] + delta);
        const std::string whole =
            body + std::string(Sha256Of(body).AsBytes()) + std::string(4, '\0');
        const auto decoded = DecodeArtifact(whole);
        if (!decoded.ok()) {
          EXPECT_NE(decoded.error().message.find('\''), std::string::npos)
              << "no field is named: " << decoded.error().message;
          continue;
        }
        ++accepted;
        EXPECT_EQ(EncodeArtifact(*decoded), whole) << "byte " << i;
      }
    }
    EXPECT_GT(accepted, 0);  // Names, digests and costs may be anything.
  }
}

struct Refusal {
  std::string name;
  std::function<void(Artifact&)> apply;
  std::string message;  // Its beginning.
};

SymDim S(std::uint32_t symbol) { return SymDim::Symbol(symbol); }

void SetGuards(Artifact& a, std::vector<Guard> guards) {
  const std::vector<Guard>& kept = a.guards.guards();
  guards.insert(guards.begin(), kept.begin(), kept.end());
  a.guards = GuardSet(std::move(guards));
}

const std::vector<Refusal>& Refusals() {
  static const std::vector<Refusal> refusals = {
      {"DuplicateKernel", [](Artifact& a) { a.kernels[1].key = a.kernels[0].key; },
       "Field 'kernels.key' has"},
      {"EmptyKernel", [](Artifact& a) { a.kernels[0].size_bytes = 0; },
       "Field 'kernels.size_bytes' is 0."},
      {"DuplicateConstant", [](Artifact& a) { a.constants.push_back(a.constants[0]); },
       "Field 'constants.blob' has"},
      {"KernelIndex", [](Artifact& a) { SampleBias(a).kernel = 2; },
       "plan.steps[2]: Field 'launch.kernel' is 2; there are 2."},
      {"ChunkSize", [](Artifact& a) { SampleMatMul(a).min_tasks_per_chunk = 0; },
       "plan.steps[0]: Field 'launch.min_tasks_per_chunk' is 0; it must be at least 1."},
      {"CallSize", [](Artifact& a) { SampleMatMul(a).min_tasks_per_call = 0; },
       "plan.steps[0]: Field 'launch.min_tasks_per_call' is 0; it must be at least 1."},
      {"ChunksOnAGpu", [](Artifact& a) { a.target = Target::Parse("cuda/sm_90a").value(); },
       "plan.steps[0]: Field 'launch.scratch_bytes' is for a CPU; the target is cuda/sm_90a."},
      {"Scratch", [](Artifact& a) { a.plan.prepare[0].scratch_bytes = -1; },
       "plan.prepare[0]: Field 'launch.scratch_bytes' is -1;"},
      {"InputIndex", [](Artifact& a) { SampleMatMul(a).buffers[0].index = 2; },
       "plan.steps[0]: Field 'buffer.index' is 2; there are 2."},
      {"OutputIndex", [](Artifact& a) { SampleBias(a).buffers[2].index = 9; },
       "plan.steps[2]: Field 'buffer.index' is 9; there are 2."},
      {"ConstantIndex", [](Artifact& a) { SampleBias(a).buffers[1].index = 1; },
       "plan.steps[2]: Field 'buffer.index' is 1; there are 1."},
      {"OutputThatIsAnInput", [](Artifact& a) { SampleBias(a).buffers[2].index = 1; },
       "plan.steps[2]: Field 'buffer.kind' names an output that is an input in"},
      {"ActivationInPrepare", [](Artifact& a) { a.plan.prepare[0].buffers[0].index = 0; },
       "plan.prepare[0]: Field 'buffer.kind' names an input that is no parameter in"},
      {"ArenaInPrepare",
       [](Artifact& a) { a.plan.prepare[0].buffers[1].kind = BufferKind::kArena; },
       "plan.prepare[0]: Field 'buffer.kind' names the arena of calls in"},
      {"OutputInPrepare",
       [](Artifact& a) {
         a.plan.prepare[0].buffers[1] = {BufferKind::kOutput, 0, {}, 0};
       },
       "plan.prepare[0]: Field 'buffer.kind' names an output in"},
      {"PrepareArenaInCalls",
       [](Artifact& a) { SampleMatMul(a).buffers[2].kind = BufferKind::kPrepareArena; },
       "plan.steps[0]: Field 'buffer.kind' names the arena of prepare in"},
      {"OffsetInInput", [](Artifact& a) { SampleMatMul(a).buffers[0].offset = 64; },
       "plan.steps[0]: Field 'buffer.offset' is 64 in memory named by index."},
      {"IndexInArena", [](Artifact& a) { SampleMatMul(a).buffers[2].index = 1; },
       "plan.steps[0]: Field 'buffer.index' is 1 in memory without index."},
      {"UnboundTasks", [](Artifact& a) { SampleMatMul(a).tasks = S(1); },
       "plan.steps[0]: Field 'launch.tasks' is s1; no guard binds s1 before."},
      {"HostCallOfNothing", [](Artifact& a) { SampleHostCall(a).target.clear(); },
       "plan.steps[1]: Field 'host_call.target' is empty."},
      {"HostCallWithoutResults", [](Artifact& a) { SampleHostCall(a).results.clear(); },
       "plan.steps[1]: Field 'host_call.results' is empty."},
      {"HostCallThatWritesAnInput",
       [](Artifact& a) { SampleHostCall(a).results[0] = SampleHostCall(a).operands[1]; },
       "plan.steps[1]: Field 'buffer.kind' of a host call's result names what is only read."},
      {"HostCallOutputIndex",
       [](Artifact& a) {
         SampleHostCall(a).results[0].buffer = {BufferKind::kOutput, 2, {}, SymDim(64) * S(0)};
       },
       "plan.steps[1]: Field 'buffer.index' is 2; there are 2."},
      {"HostCallThatWritesInsideAnOutput",
       [](Artifact& a) {
         SampleHostCall(a).results[0].buffer = {BufferKind::kOutput, 0, 64, SymDim(64) * S(0)};
       },
       "plan.steps[1]: Field 'buffer.offset' is 64 in memory named by index."},
      {"HostCallOfUnboundType",
       [](Artifact& a) {
         SampleHostCall(a).operands[0].type.shape = Shape{S(9), SymDim(16)};
       },
       "plan.steps[1]: Field 'host_call.type' is s9; no guard binds s9 before."},
      {"SymbolInPrepare", [](Artifact& a) { a.plan.prepare[0].tasks = S(0); },
       "plan.prepare[0]: Field 'launch.tasks' is s0; no guard binds s0 before."},
      {"SymbolInPreparedBytes", [](Artifact& a) { a.plan.prepared_bytes = S(0); },
       "Field 'plan.prepared_bytes' is s0; no guard binds s0 before."},
      {"UnboundArena", [](Artifact& a) { a.plan.arena_bytes = S(7); },
       "Field 'plan.arena_bytes' is s7; no guard binds s7 before."},
      {"SymbolicParameter",
       [](Artifact& a) {
         a.plan.inputs[1] = {DType::kBF16, Shape{S(0), SymDim(16)}};
         a.plan.outputs[1].type = a.plan.inputs[1];
       },
       "Field 'plan.inputs' has parameter 1 of symbolic type bf16[s0,16]."},
      {"SameAsInputIndex", [](Artifact& a) { a.plan.outputs[1].same_as_input = 2; },
       "Field 'plan.outputs.same_as_input' is 2; there are 2."},
      {"SameAsInputNegative", [](Artifact& a) { a.plan.outputs[1].same_as_input = -2; },
       "Field 'plan.outputs.same_as_input' is -2."},
      {"SameAsInputOfAnotherType", [](Artifact& a) { a.plan.outputs[1].same_as_input = 0; },
       "Field 'plan.outputs.same_as_input' names an input of type f32[s0,16] for an output of type "
       "bf16[16,16]."},
      {"UpdatesInputIndex", [](Artifact& a) { a.plan.outputs[0].updates_input = 2; },
       "Field 'plan.outputs.updates_input' is 2; there are 2."},
      {"UpdatesInputNegative", [](Artifact& a) { a.plan.outputs[0].updates_input = -2; },
       "Field 'plan.outputs.updates_input' is -2."},
      {"UpdatesInputOfAnotherType", [](Artifact& a) { a.plan.outputs[1].updates_input = 0; },
       "Field 'plan.outputs.updates_input' names an input of type f32[s0,16] for an output of type "
       "bf16[16,16]."},
      {"UpdatesInputOfAnOutputThatIsOne", [](Artifact& a) { a.plan.outputs[1].updates_input = 1; },
       "Field 'plan.outputs.updates_input' names input 1 of an output that is an input."},
      {"UpdatesParameter",
       [](Artifact& a) {
         a.plan.outputs[1].same_as_input = -1;
         a.plan.outputs[1].updates_input = 1;
       },
       "Field 'plan.outputs.updates_input' names input 1, a parameter."},
      {"UpdatesOneInputTwice",
       [](Artifact& a) {
         a.plan.outputs[0].updates_input = 0;
         a.plan.outputs.push_back(a.plan.outputs[0]);
       },
       "Field 'plan.outputs.updates_input' names input 0 twice."},
      {"UpdatesWhatAnotherOutputIs",
       [](Artifact& a) {
         a.plan.outputs[0].updates_input = 0;
         a.plan.outputs[1] = {.type = a.plan.inputs[0], .same_as_input = 0};
       },
       "Field 'plan.outputs.updates_input' names input 0, which another output is as it stands."},
      {"ReadsInputWhenItIsOverwritten",
       [](Artifact& a) {
         a.plan.outputs[0].updates_input = 0;
         SampleBias(a).buffers[0] = SampleMatMul(a).buffers[0];
       },
       "plan.steps[2]: Field 'plan.outputs.updates_input' names an input that is read when it is "
       "overwritten."},
      {"CallsTheHostWhenAnInputIsOverwritten",
       [](Artifact& a) {
         a.plan.outputs[0].updates_input = 0;
         std::swap(a.plan.steps[1], a.plan.steps[2]);
       },
       "plan.steps[2]: Field 'plan.outputs.updates_input' names an input that is overwritten when "
       "the host is called."},
      {"NegativeSize",
       [](Artifact& a) {
         a.plan.inputs[1] = {DType::kBF16, Shape{SymDim(-1), SymDim(16)}};
       },
       "Field 'plan.inputs' has the negative size -1."},
      {"PreparedTooSmall", [](Artifact& a) { a.plan.prepared_bytes = 448; },
       "plan.prepare[0] (pack): operand 2: Field 'buffer.size': bytes 0 to 512 do not lie in "
       "memory of 448 bytes."},
      {"ParameterTooSmall", [](Artifact& a) { a.plan.prepare[0].buffers[0].size = 513; },
       "plan.prepare[0] (pack): operand 0: Field 'buffer.size': bytes 0 to 513 do not lie in"},
      {"PreparedOffset",
       [](Artifact& a) {
         a.plan.prepare[0].buffers[2].offset = 32;
         a.plan.prepare[0].buffers[2].size = 64;
       },
       "plan.prepare[0] (pack): operand 2: Field 'buffer.offset' is 32, no multiple of 64."},
      {"NegativeTasks", [](Artifact& a) { a.plan.prepare[0].tasks = -1; },
       "plan.prepare[0] (pack): Field 'launch.tasks' is -1 = -1; it must not be negative."},
      {"GuardInput",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kRank, 2, -1, 2, 0, {}}});
       },
       "Field 'guard.input' is 2; there are 2."},
      {"GuardDim",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kSizeEquals, 0, 2, 2, 0, {}}});
       },
       "Field 'guard.dim' is 2 in: input 0 size 2 == 2; the input has rank 2."},
      {"GuardWithoutDim",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kRank, 0, 1, 2, 0, {}}});
       },
       "Field 'guard.dim' is 1 in: input 0 rank == 2; the input has rank 2."},
      {"GuardDType",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kDType, 0, -1, 10, 0, {}}});
       },
       "Field 'guard.value' is bad in: input 0 dtype == dtype code 10."},
      {"GuardRank",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kRank, 0, -1, 9, 0, {}}});
       },
       "Field 'guard.value' is bad in: input 0 rank == 9."},
      {"GuardRange",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kSizeRange, 0, 0, 5, 4, {}}});
       },
       "Field 'guard.value' is bad in: input 0 size 0 in [5,4]."},
      {"GuardNotNegativeValue",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kNotNegative, 0, -1, 1, 0, {}}});
       },
       "Field 'guard.value' is bad in: 0 >= 0."},
      {"GuardNotNegativeUnbound",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kNotNegative, 0, -1, 0, 0, S(3) - 1}});
       },
       "Field 'guard.expr' is s3-1; no guard binds s3 before."},
      {"GuardSymbol",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kBindSymbol, 0, 0, -1, 0, {}}});
       },
       "Field 'guard.value' is bad in: input 0 size 0 binds s-1."},
      {"GuardLimit",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kRank, 0, -1, 2, 3, {}}});
       },
       "Field 'guard.limit' is set in: input 0 rank == 2."},
      {"GuardExprUnset",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kRank, 0, -1, 2, 0, S(0)}});
       },
       "Field 'guard.expr' is set in: input 0 rank == 2."},
      {"GuardExprUnbound",
       [](Artifact& a) {
         SetGuards(a, {{GuardKind::kSizeExpr, 0, 0, 0, 0, S(3)}});
       },
       "Field 'guard.expr' is s3; no guard binds s3 before."},
  };
  return refusals;
}

TEST(DecodeArtifact, BrokenRule_IsRefusedByName) {
  for (const Refusal& refusal : Refusals()) {
    Artifact artifact = SampleArtifact();
    refusal.apply(artifact);
    const auto decoded = DecodeArtifact(EncodeArtifact(artifact));
    ASSERT_FALSE(decoded.ok()) << refusal.name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument) << refusal.name;
    EXPECT_EQ(decoded.error().message.substr(0, refusal.message.size()), refusal.message)
        << refusal.name;
  }
}

const std::vector<Refusal>& LibraryRefusals() {
  static const std::vector<Refusal> refusals = {
      {"OnACpu", [](Artifact& a) { a.target = SampleArtifact().target; },
       "plan.steps[0]: Field 'library_call.library' is cublasLt, which does not run on cpu/"},
      {"Integers", [](Artifact& a) { SampleLibraryMatmul(a).factor = DType::kI32; },
       "plan.steps[0]: Field 'matmul.factor' is i32, which no library multiplies to f32 that way."},
      {"WiderFactor", [](Artifact& a) { SampleLibraryMatmul(a).result = DType::kBF16; },
       "plan.steps[0]: Field 'matmul.factor' is f32, which no library multiplies to bf16 that"},
      {"Tf32OfBF16",
       [](Artifact& a) {
         SampleLibraryMatmul(a).factor = DType::kBF16;
         SampleLibraryMatmul(a).compute = MatmulCompute::kTf32;
       },
       "plan.steps[0]: Field 'matmul.factor' is bf16, which no library multiplies to f32 that"},
      {"Alpha", [](Artifact& a) { SampleLibraryMatmul(a).alpha = std::nan(""); },
       "plan.steps[0]: Field 'matmul.alpha' is not finite."},
      {"BetaOfNothing", [](Artifact& a) { SampleLibraryMatmul(a).c.reset(); },
       "plan.steps[0]: Field 'matmul.beta' is not 0, but there is no C."},
      {"NoBeta", [](Artifact& a) { SampleLibraryMatmul(a).beta = 0; },
       "plan.steps[0]: Field 'matmul.beta' is 0, but there is a C."},
      {"WritesAnInput",
       [](Artifact& a) { SampleLibraryMatmul(a).d.place = SampleLibraryMatmul(a).a.place; },
       "plan.steps[0]: Field 'buffer.kind' of a matmul's result names what is only read."},
      {"WorkspaceInAnOutput",
       [](Artifact& a) { SampleLibraryMatmul(a).workspace = SampleLibraryMatmul(a).d.place; },
       "plan.steps[0]: Field 'buffer.kind' of a workspace is not the arena."},
      {"InputIndex", [](Artifact& a) { SampleLibraryMatmul(a).bias->place.index = 4; },
       "plan.steps[0]: Field 'buffer.index' is 4; there are 4."},
      {"UnboundRows", [](Artifact& a) { SampleLibraryMatmul(a).m = S(1); },
       "plan.steps[0]: Field 'matmul' is s1; no guard binds s1 before."},
      {"UnboundLeading", [](Artifact& a) { SampleLibraryMatmul(a).c->leading = S(3); },
       "plan.steps[0]: Field 'matmul.leading' is s3; no guard binds s3 before."},
      {"UnboundOffset", [](Artifact& a) { SampleLibraryMatmul(a).bias->offset = S(3); },
       "plan.steps[0]: Field 'matmul.offset' is s3; no guard binds s3 before."},
  };
  return refusals;
}

TEST(DecodeArtifact, LibraryCall_EveryRule_IsHeld) {
  for (const Refusal& refusal : LibraryRefusals()) {
    Artifact artifact = SampleLibraryArtifact();
    refusal.apply(artifact);
    const auto decoded = DecodeArtifact(EncodeArtifact(artifact));
    ASSERT_FALSE(decoded.ok()) << refusal.name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument) << refusal.name;
    EXPECT_EQ(decoded.error().message.substr(0, refusal.message.size()), refusal.message)
        << refusal.name;
  }
}

TEST(DecodeArtifact, OtherVersion_Unimplemented) {
  std::string bytes = EncodeArtifact(SampleArtifact());
  for (const int version : {1, 2, 3, 4, 5, 7}) {
    bytes[4] = static_cast<char>(version);
    EXPECT_EQ(DecodeArtifact(bytes).error().code, ErrorCode::kUnimplemented);
    EXPECT_EQ(DecodeArtifact(bytes).error().message,
              "Field 'version' is " + std::to_string(version) + "; this build reads version 6.");
  }
}

TEST(DecodeArtifact, NoArtifact_DataLoss) {
  const auto decoded = DecodeArtifact("hello, this is something else");
  EXPECT_EQ(decoded.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(decoded.error().message, "Field 'magic' is not STKA: this is no artifact.");
}

}  // namespace
}  // namespace stoker
