// Random loop functions: compiled code against the interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/random_loop.h"

namespace stoker {
namespace {

class LoopRandomTest : public testing::TestWithParam<Target> {};

TEST_P(LoopRandomTest, AnyFunction_MatchesInterpreter) {
  double compile_ms = 0;
  constexpr unsigned kFunctions = 200;
  for (unsigned seed = 0; seed < kFunctions; ++seed) {
    const RandomLoop loop(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + ToString(loop.func));
    std::vector<std::string> expected = loop.buffers;
    auto kernel = LoadedKernel::Make(loop.func, GetParam());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    compile_ms += (*kernel)->compile_ms();
    if (!(*kernel)->Runs()) continue;
    InterpretLoop(loop.func, loop.symbols, expected);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<void*> pointers;
    for (const std::string& bytes : loop.buffers) {
      buffers.push_back(std::make_unique<GuardedBuffer>(bytes.size()));
      pointers.push_back(buffers.back()->data());
      std::memcpy(pointers.back(), bytes.data(), bytes.size());
    }
    (*kernel)->Run(pointers, loop.symbols, 1 + seed % 5);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const DType dtype = loop.func.operands[i].dtype;
      const std::string actual(static_cast<const char*>(pointers[i]), expected[i].size());
      const auto elements = static_cast<std::int64_t>(expected[i].size()) / SizeInBytes(dtype);
      for (std::int64_t at = 0; at < elements; ++at) {
        const ScalarValue want = ReadElement(expected[i], dtype, at);
        const ScalarValue got = ReadElement(actual, dtype, at);
        ASSERT_TRUE(want.real == got.real && want.integer == got.integer)
            << "operand " << i << " element " << at << ": " << got.real << " " << got.integer
            << ", not " << want.real << " " << want.integer;
      }
    }
  }
  std::cout << "  " << compile_ms / kFunctions << " ms a kernel\n";
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopRandomTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
