#include "compiler/codegen/nvptx/hidden_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"
#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {
namespace {

// What is made of e = exp(x); `one` is the constant 1.
struct Made {
  const char* name;
  std::function<std::uint32_t(BodyBuilder& body, std::uint32_t x, std::uint32_t e,
                              std::uint32_t one)>
      of;
  bool hides;                  // e may be off by more than f32 shows.
  DType dtype = DType::kBF16;  // Of the result.
};

constexpr std::int64_t kSize = 64;

// f32 to the dtype, point by point.
LoopFunc FuncOf(const Made& made, std::uint32_t* e) {
  LoopFunc func;
  func.dims = {kSize};
  func.num_outer = 1;
  func.operands = {{DType::kF32, false, false}, {made.dtype, true, false}};
  Stage stage;
  BodyBuilder body(stage.body);
  const std::uint32_t x = body.Load(At(0, DType::kF32, Affine({{0, 1}})));
  *e = body.Op(OpKind::kExponential, {x});
  const std::uint32_t result = made.of(body, x, *e, body.Constant(DType::kF32, 1));
  stage.stores = {{result, At(1, made.dtype, Affine({{0, 1}}))}};
  func.stages = {stage};
  return func;
}

std::uint32_t Squared(BodyBuilder& body, std::uint32_t x, int times) {
  return times == 0 ? x : Squared(body, body.Op(OpKind::kMultiply, {x, x}), times - 1);
}

const Made kMade[] = {
    {"itself", [](auto&, auto, auto e, auto) { return e; }, true},
    {"itself in f32", [](auto&, auto, auto e, auto) { return e; }, false, DType::kF32},
    {"a product",
     [](auto& b, auto x, auto e, auto) {
       return b.Op(OpKind::kMultiply, {x, e});
     },
     true},
    {"a quotient",
     [](auto& b, auto x, auto e, auto) {
       return b.Op(OpKind::kDivide, {x, e});
     },
     true},
    {"the eighth power", [](auto& b, auto, auto e, auto) { return Squared(b, e, 3); }, true},
    {"the 16th power", [](auto& b, auto, auto e, auto) { return Squared(b, e, 4); }, false},
    {"a sum of what is above zero",
     [](auto& b, auto, auto e, auto one) {
       return b.Op(OpKind::kAdd, {e, one});
     },
     true},
    {"a sum of whatever sign",
     [](auto& b, auto x, auto e, auto) {
       return b.Op(OpKind::kAdd, {e, x});
     },
     false},
    {"a difference",
     [](auto& b, auto, auto e, auto one) {
       return b.Op(OpKind::kSubtract, {e, one});
     },
     false},
    {"a difference of what was rounded",
     [](auto& b, auto, auto e, auto one) {
       return b.Op(OpKind::kSubtract, {b.Convert(DType::kF32, e, DType::kBF16), one});
     },
     true},
    {"a sine", [](auto& b, auto, auto e, auto) { return b.Op(OpKind::kSine, {e}); }, false},
    {"an exponential", [](auto& b, auto, auto e, auto) { return b.Op(OpKind::kExponential, {e}); },
     false},
    {"a logarithm", [](auto& b, auto, auto e, auto) { return b.Op(OpKind::kLog, {e}); }, false},
    {"what is chosen",
     [](auto& b, auto x, auto e, auto one) {
       return b.Op(OpKind::kSelect, {b.Compare(CompareDirection::kLt, x, one), e, one});
     },
     true},
    {"what chooses",
     [](auto& b, auto x, auto e, auto one) {
       return b.Op(OpKind::kSelect, {b.Compare(CompareDirection::kLt, e, one), x, one});
     },
     false},
    {"a whole number",
     [](auto& b, auto, auto e, auto) {
       return b.Convert(DType::kF32, b.Convert(DType::kI32, e), DType::kBF16);
     },
     false},
};

TEST(HiddenErrors, AnExponential_MayBeOffWhereARoundingHidesIt) {
  for (const Made& made : kMade) {
    std::uint32_t e = 0;
    const LoopFunc func = FuncOf(made, &e);
    EXPECT_EQ(codegen::HiddenErrors(func).Of(func.stages[0])[e], made.hides) << made.name;
  }
}

// Softmax, and its logarithm, of rows; `is_log` takes the logarithm of the sum.
LoopFunc SoftmaxOf(bool is_log) {
  LoopFunc func;
  func.dims = {2, kSize};
  func.num_outer = 1;
  func.operands = {{DType::kF32, false, false}, {DType::kBF16, true, false}};
  Stage sum, quotient;
  sum.loops = quotient.loops = {1};
  const IndexMap at = Affine({{0, kSize}, {1, 1}});
  BodyBuilder s(sum.body);
  const std::uint32_t e = s.Op(OpKind::kExponential, {s.Load(At(0, DType::kF32, at))});
  sum.temporaries = {{0, e, DType::kF32}};
  sum.reductions = {{1, e, Combine::kAdd, DType::kF32, {1}}};
  BodyBuilder q(quotient.body);
  const std::uint32_t total = q.Input(1, DType::kF32);
  const std::uint32_t over = q.Op(
      OpKind::kDivide, {q.Input(0, DType::kF32), is_log ? q.Op(OpKind::kLog, {total}) : total});
  quotient.stores = {{over, At(1, DType::kBF16, at)}};
  func.stages = {sum, quotient};
  return func;
}

TEST(HiddenErrors, AcrossStages_AreFollowed) {
  for (const bool is_log : {false, true}) {
    const LoopFunc func = SoftmaxOf(is_log);
    EXPECT_EQ(codegen::HiddenErrors(func).Of(func.stages[0])[1], !is_log);
  }
}

// What comes of them, as threads of a GPU compute it: off by what f32 is off by, and one rounding.
TEST(HiddenErrors, Results_AreRoundedOnce) {
  struct Case {
    Made made;
    std::function<double(double x)> exact;
    double low, step;  // Of the arguments.
    double terms;      // How large they are.
  };
  const Case cases[] = {
      {{"a difference that is almost 0",
        [](auto& b, auto, auto e, auto) {
          return b.Op(OpKind::kSubtract, {e, b.Constant(DType::kF32, 3269017)});
        },
        false},
       [](double x) { return std::exp(x) - 3269017; },
       15,
       0x1p-20,
       3269017},
      {{"1 + erf(x) less 1",
        [](auto& b, auto x, auto, auto one) {
          const std::uint32_t sum = b.Op(OpKind::kAdd, {b.Op(OpKind::kErf, {x}), one});
          return b.Op(OpKind::kSubtract, {sum, one});
        },
        false},
       [](double x) { return std::erf(x); },
       0x1p-20,
       0x1p-20,
       0.25},
      {{"subnormal numbers times large ones",
        [](auto& b, auto, auto e, auto) {
          return b.Op(OpKind::kMultiply, {e, b.Constant(DType::kF32, 0x1p100)});
        },
        true},
       [](double x) { return std::exp(x) * 0x1p100; },
       -94,
       0.125,
       0},
  };
  const Target target = Target::Parse("cuda/sm_90a").value();
  for (const Case& c : cases) {
    std::uint32_t e = 0;
    const LoopFunc func = FuncOf(c.made, &e);
    TestArray x(DType::kF32, kSize), y(DType::kBF16, kSize);
    for (std::int64_t i = 0; i < kSize; ++i) x.Set(i, c.low + c.step * static_cast<double>(i));
    const auto kernel = EmulatedKernel::Make(Candidates(func, target)->front(), target).value();
    kernel->Run({x.data(), y.data()});
    for (std::int64_t i = 0; i < kSize; ++i) {
      const double exact = c.exact(x.Get(i));
      const double bound = std::fabs(exact) * 0x1.1p-8 + 3 * 0x1p-23 * c.terms;
      EXPECT_LE(std::fabs(y.Get(i) - exact), bound) << c.made.name << " of " << x.Get(i);
    }
  }
}

}  // namespace
}  // namespace stoker
