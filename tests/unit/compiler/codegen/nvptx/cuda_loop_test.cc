// What the code of CUDA kernels computes, thread by thread on this processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"
#include "tests/unit/compiler/codegen/random_loop.h"

namespace stoker {
namespace {

const Target& Hopper() {
  static const Target target = Target::Parse("cuda/sm_90a").value();
  return target;
}

constexpr unsigned kFunctions = 40;

std::int64_t ElementsOf(const std::string& bytes, DType dtype) {
  return static_cast<std::int64_t>(bytes.size()) / SizeInBytes(dtype);
}

// Runs the kernel; what lies in its buffers then is exact.
void CheckBuffers(const ScheduledKernel& scheduled, const SymBindings& symbols,
                  const std::vector<std::string>& inputs, const std::vector<std::string>& expected,
                  const std::vector<DType>& dtypes) {
  const auto kernel = EmulatedKernel::Make(scheduled, Hopper());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<void*> pointers;
  for (const std::string& bytes : inputs) {
    buffers.push_back(std::make_unique<GuardedBuffer>(bytes.size()));
    pointers.push_back(buffers.back()->data());
    std::memcpy(pointers.back(), bytes.data(), bytes.size());
  }
  (*kernel)->Run(pointers, symbols);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const DType dtype = dtypes[i];
    const std::string actual(static_cast<const char*>(pointers[i]), expected[i].size());
    for (std::int64_t at = 0; at < ElementsOf(expected[i], dtype); ++at) {
      const ScalarValue want = ReadElement(expected[i], dtype, at);
      const ScalarValue got = ReadElement(actual, dtype, at);
      ASSERT_TRUE(want.real == got.real && want.integer == got.integer)
          << "operand " << i << " element " << at << ": " << got.real << " " << got.integer
          << ", not " << want.real << " " << want.integer;
    }
  }
}

// Runs every schedule, if there is one; results are exact.
void CheckExact(const LoopFunc& func, const SymBindings& symbols,
                const std::vector<std::string>& inputs, int* schedules) {
  const auto candidates = Candidates(func, Hopper());
  if (!candidates.ok()) {
    ASSERT_EQ(candidates.error().code, ErrorCode::kUnimplemented) << candidates.error().message;
    return;
  }
  std::vector<std::string> expected = inputs;
  InterpretLoop(func, symbols, expected);
  std::vector<DType> dtypes;
  for (const Operand& operand : func.operands) dtypes.push_back(operand.dtype);
  for (const ScheduledKernel& scheduled : *candidates) {
    SCOPED_TRACE(ToString(scheduled));
    CheckBuffers(scheduled, symbols, inputs, expected, dtypes);
    if (testing::Test::HasFatalFailure()) return;
    ++*schedules;
  }
}

TEST(CudaLoopTest, RandomFunctions_EverySchedule_MatchesInterpreter) {
  int schedules = 0;
  int functions = 0;
  for (unsigned seed = 0; seed < kFunctions; ++seed) {
    const RandomLoop loop(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + ToString(loop.func));
    const int before = schedules;
    CheckExact(loop.func, loop.symbols, loop.buffers, &schedules);
    functions += schedules > before ? 1 : 0;
    if (testing::Test::HasFatalFailure()) return;
  }
  std::printf("  %d schedules of %d functions\n", schedules, functions);
  EXPECT_GE(functions, kFunctions / 2);
}

TEST(CudaLoopTest, LongRowsAndColumns_Symbolic_MatchInterpreter) {
  const SymBindings sizes = {{0, 5}, {1, 2311}};
  const auto numbers = [](std::int64_t count, DType dtype) {
    std::string bytes(static_cast<std::size_t>(count * SizeInBytes(dtype)), '\0');
    for (std::int64_t i = 0; i < count; ++i) {
      WriteElement(bytes, dtype, i, {static_cast<double>(i * 37 % 11 - 5), i * 37 % 11 - 5});
    }
    return bytes;
  };
  for (const bool is_rows : {true, false}) {
    // A sum over the second dim, or the first, and what is beside it.
    LoopFunc func;
    func.dims = {SymDim::Symbol(0), SymDim::Symbol(1)};
    if (!is_rows) std::swap(func.dims[0], func.dims[1]);
    func.num_outer = is_rows ? 1 : 0;
    func.operands = {{DType::kF32, false, false}, {DType::kF32, true, false}};
    const IndexMap all = Affine({{0, func.dims[1]}, {1, 1}});
    const std::vector<int> loops = is_rows ? std::vector<int>{1} : std::vector<int>{0, 1};
    Stage sum;
    sum.loops = loops;
    BodyBuilder s(sum.body);
    sum.reductions = {
        {0, s.Load(At(0, DType::kF32, all)), Combine::kAdd, DType::kF32, {is_rows ? 1 : 0}}};
    Stage subtract;
    subtract.loops = loops;
    BodyBuilder d(subtract.body);
    const std::uint32_t x = d.Load(At(0, DType::kF32, all));
    subtract.stores = {
        {d.Op(OpKind::kSubtract, {x, d.Input(0, DType::kF32)}), At(1, DType::kF32, all)}};
    func.stages = {sum, subtract};
    int schedules = 0;
    CheckExact(func, sizes, {numbers(5 * 2311, DType::kF32), numbers(5 * 2311, DType::kF32)},
               &schedules);
    EXPECT_GT(schedules, 0);
  }
}

// Points of known sizes, with each other in one kernel: each part computes what it computes alone.
TEST(CudaLoopTest, LoopsSideBySide_MatchInterpreter) {
  JoinedFunc joined;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::vector<DType> dtypes;
  for (unsigned seed = 0; joined.parts.size() < 9; ++seed) {
    const RandomLoop loop(seed);
    const JoinedFunc more{{loop.func}};
    if (!loop.symbols.empty() || !Candidates(more, Hopper()).ok()) continue;
    std::vector<std::string> results = loop.buffers;
    InterpretLoop(loop.func, loop.symbols, results);
    joined.parts.push_back(loop.func);
    inputs.insert(inputs.end(), loop.buffers.begin(), loop.buffers.end());
    expected.insert(expected.end(), results.begin(), results.end());
    for (const Operand& operand : loop.func.operands) dtypes.push_back(operand.dtype);
  }
  // Equal ones share their code, each with buffers of its own.
  LoopFunc negate;
  negate.dims = {300};
  negate.num_outer = 1;
  negate.operands = {{DType::kF32, false, false}, {DType::kF32, true, false}};
  negate.stages.resize(1);
  BodyBuilder body(negate.stages[0].body);
  const IndexMap all = Affine({{0, 1}});
  const std::uint32_t x = body.Load(At(0, DType::kF32, all));
  negate.stages[0].stores = {{body.Op(OpKind::kNegate, {x}), At(1, DType::kF32, all)}};
  for (int part = 0; part < 5; ++part) {
    std::vector<std::string> buffers(2, std::string(300 * sizeof(float), '\0'));
    for (std::int64_t i = 0; i < 300; ++i) {
      WriteElement(buffers[0], DType::kF32, i, {static_cast<double>(300 * part + i), 0});
    }
    inputs.insert(inputs.end(), buffers.begin(), buffers.end());
    InterpretLoop(negate, {}, buffers);
    expected.insert(expected.end(), buffers.begin(), buffers.end());
    dtypes.insert(dtypes.end(), 2, DType::kF32);
    joined.parts.push_back(negate);
  }
  const auto scheduled = ScheduleKernel(joined, Hopper());
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  SCOPED_TRACE(ToString(*scheduled));
  CheckBuffers(*scheduled, {}, inputs, expected, dtypes);
}

// out = are all 100 of a row? It is required of each row.
LoopFunc RequiredRows(std::int64_t rows) {
  LoopFunc func;
  func.dims = {rows, 100};
  func.num_outer = 1;
  func.operands = {{DType::kBool, false, false}, {DType::kBool, true, false}};
  Stage reduce;
  reduce.loops = {1};
  BodyBuilder b(reduce.body);
  reduce.reductions = {{0,
                        b.Load(At(0, DType::kBool, Affine({{0, 100}, {1, 1}}))),
                        Combine::kAnd,
                        DType::kBool,
                        {1}}};
  Stage require;
  BodyBuilder c(require.body);
  const std::uint32_t result = c.Op(OpKind::kRequire, {c.Input(0, DType::kBool)});
  require.body.instrs[result].message = "row \"is\" full";
  require.stores = {{result, At(1, DType::kBool, Affine({{0, 1}}))}};
  func.stages = {reduce, require};
  return func;
}

TEST(CudaLoopTest, Require_WhatDoesNotHold_FailsTheKernel) {
  for (const std::int64_t rows : {1, 5, 300}) {
    const auto candidates = Candidates(RequiredRows(rows), Hopper()).value();
    for (const ScheduledKernel& scheduled : candidates) {
      SCOPED_TRACE(ToString(scheduled));
      const auto kernel = EmulatedKernel::Make(scheduled, Hopper()).value();
      std::string in(static_cast<std::size_t>(rows * 100), 1);
      std::string out(static_cast<std::size_t>(rows), 7);
      EmulatedKernel::TakeFailures();
      kernel->Run({in.data(), out.data()});
      EXPECT_EQ(EmulatedKernel::TakeFailures(), 0);
      EXPECT_EQ(out, std::string(static_cast<std::size_t>(rows), 1));
      in.back() = 0;
      kernel->Run({in.data(), out.data()});
      EXPECT_GT(EmulatedKernel::TakeFailures(), 0);
      EXPECT_EQ(out.back(), 0);
    }
  }
}

TEST(CudaLoopTest, Require_IsWhatTheDriverKnows) {
  const auto scheduled = ScheduleKernel(RequiredRows(5), Hopper()).value();
  const auto code = GenerateKernel(scheduled, Hopper());
  if (!code.ok() && code.error().code == ErrorCode::kFailedPrecondition) {
    GTEST_SKIP() << code.error().message;
  }
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_THAT(code->elf, testing::HasSubstr("__assertfail"));
  EXPECT_THAT(code->elf, testing::HasSubstr("row \"is\" full"));
}

}  // namespace
}  // namespace stoker
