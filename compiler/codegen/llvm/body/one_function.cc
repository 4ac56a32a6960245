#include "compiler/codegen/llvm/body/one_function.h"

#include <cstddef>

namespace stoker::codegen {
namespace {

constexpr float kRootOfHalf = 0.70710678F;

bool IsConstant(const BodyInstr& instr, float value) {
  return instr.op == BodyOp::kConstant && instr.dtype == DType::kF32 &&
         static_cast<float>(instr.constant) == value;
}

// The first that `of` finds among the arguments of an operation that does not mind their order:
// of(one, the other).
template <typename Of>
std::optional<std::uint32_t> InEitherOrder(const BodyInstr& instr, OpKind kind, Of of) {
  if (!IsF32(instr, kind)) return std::nullopt;
  const auto found = of(instr.args[0], instr.args[1]);
  return found ? found : of(instr.args[1], instr.args[0]);
}

// x, of x times the constant.
std::optional<std::uint32_t> Scaled(const Body& body, std::uint32_t instr, float by) {
  return InEitherOrder(body.instrs[instr], OpKind::kMultiply,
                       [&](std::uint32_t x, std::uint32_t c) -> std::optional<std::uint32_t> {
                         if (IsConstant(body.instrs[c], by)) return x;
                         return std::nullopt;
                       });
}

// Is it 1 + erf(x / sqrt(2))?
bool IsTwiceTheNormal(const Body& body, std::uint32_t instr, std::uint32_t x) {
  const auto argument = OnePlusErfOf(body, body.instrs[instr]);
  return argument && Scaled(body, *argument, kRootOfHalf) == x;
}

}  // namespace

std::optional<std::uint32_t> OnePlusErfOf(const Body& body, const BodyInstr& instr) {
  return InEitherOrder(instr, OpKind::kAdd,
                       [&](std::uint32_t one, std::uint32_t erf) -> std::optional<std::uint32_t> {
                         if (!IsConstant(body.instrs[one], 1)) return std::nullopt;
                         if (!IsF32(body.instrs[erf], OpKind::kErf)) return std::nullopt;
                         return body.instrs[erf].args[0];
                       });
}

std::optional<std::uint32_t> GeluOf(const Body& body, const BodyInstr& instr) {
  using Found = std::optional<std::uint32_t>;
  const auto of_half = [&](std::uint32_t half, std::uint32_t normal) -> Found {
    const auto x = Scaled(body, half, 0.5F);
    return x && IsTwiceTheNormal(body, normal, *x) ? x : std::nullopt;
  };
  const auto of_normal = [&](std::uint32_t x, std::uint32_t half) -> Found {
    const auto normal = Scaled(body, half, 0.5F);
    return normal && IsTwiceTheNormal(body, *normal, x) ? Found(x) : std::nullopt;
  };
  const auto of_product = [&](std::uint32_t product, std::uint32_t half) -> Found {
    if (!IsConstant(body.instrs[half], 0.5F)) return std::nullopt;
    return InEitherOrder(body.instrs[product], OpKind::kMultiply,
                         [&](std::uint32_t x, std::uint32_t normal) -> Found {
                           return IsTwiceTheNormal(body, normal, x) ? Found(x) : std::nullopt;
                         });
  };
  if (const Found x = InEitherOrder(instr, OpKind::kMultiply, of_half)) return x;
  if (const Found x = InEitherOrder(instr, OpKind::kMultiply, of_normal)) return x;
  return InEitherOrder(instr, OpKind::kMultiply, of_product);
}

std::optional<MultiplyAdd> MultiplyAddOf(const Body& body, const BodyInstr& instr) {
  const bool subtracts = IsF32(instr, OpKind::kSubtract);
  if (!subtracts && !IsF32(instr, OpKind::kAdd)) return std::nullopt;
  const auto is_product = [&](std::size_t arg) {
    return IsF32(body.instrs[instr.args[arg]], OpKind::kMultiply);
  };
  if (is_product(0) == is_product(1)) return std::nullopt;
  const std::size_t product = is_product(0) ? 0 : 1;
  const BodyInstr& factors = body.instrs[instr.args[product]];
  for (const std::uint32_t factor : factors.args) {
    if (body.instrs[factor].op == BodyOp::kConstant) return std::nullopt;
  }
  return MultiplyAdd{.x = factors.args[0],
                     .y = factors.args[1],
                     .z = instr.args[1 - product],
                     .negates_product = subtracts && product == 1,
                     .negates_z = subtracts && product == 0};
}

}  // namespace stoker::codegen
