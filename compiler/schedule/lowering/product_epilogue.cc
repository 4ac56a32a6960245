#include "compiler/schedule/lowering/product_epilogue.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

class EpilogueMatcher {
 public:
  EpilogueMatcher(const Body& body, int n) : body_(body), n_(n) {}

  std::optional<ProductEpilogue> Match(std::uint32_t root) {
    std::uint32_t sum = root;
    const auto other = BesideConstant(root, OpKind::kMaximum, 0.0);
    if (other) {
      found_.activation = MatmulActivation::kRelu;
      sum = *other;
    }
    if (!MatchSum(sum)) return std::nullopt;
    return found_;
  }

 private:
  const BodyInstr& At(std::uint32_t instr) const { return body_.instrs[instr]; }
  bool Is(std::uint32_t instr, OpKind kind) const {
    return At(instr).op == BodyOp::kPointwise && At(instr).pointwise == kind;
  }
  const BodyInstr* LoadAt(std::uint32_t instr) const {
    const BodyInstr& load = At(instr);
    const bool is_plain = load.op == BodyOp::kLoad && !load.has_predicate &&
                          load.access.indirect.empty() && load.access.index.IsAffine();
    return is_plain ? &load : nullptr;
  }

  // The argument of a `kind` whose other one is a constant: `value`, or any.
  std::optional<std::uint32_t> BesideConstant(std::uint32_t instr, OpKind kind,
                                              std::optional<double> value,
                                              double* found = nullptr) const {
    if (!Is(instr, kind)) return std::nullopt;
    const std::vector<std::uint32_t>& args = At(instr).args;
    for (std::size_t i = 0; i < 2; ++i) {
      const BodyInstr& constant = At(args[i]);
      if (constant.op != BodyOp::kConstant || (value && constant.constant != *value)) continue;
      if (found != nullptr) *found = constant.constant;
      return args[1 - i];
    }
    return std::nullopt;
  }

  bool MatchSum(std::uint32_t instr) {
    if (Is(instr, OpKind::kAdd)) {
      const std::vector<std::uint32_t>& args = At(instr).args;
      for (std::size_t i = 0; i < 2; ++i) {
        const BodyInstr* const load = LoadAt(args[i]);
        if (load != nullptr && Take(load->access)) return MatchSum(args[1 - i]);
      }
      return false;
    }
    const auto factor = BesideConstant(instr, OpKind::kMultiply, std::nullopt, &found_.alpha);
    const BodyInstr& product = At(factor.value_or(instr));
    // A library does not look at the product where alpha is 0.
    const bool is_scale = std::isfinite(found_.alpha) && found_.alpha != 0;
    return is_scale && product.op == BodyOp::kInput && product.input == 0;
  }

  bool Take(const Access& access) {
    const bool is_row = std::ranges::all_of(access.index.terms,
                                            [&](const IndexTerm& term) { return term.dim == n_; });
    // Of a product of one row, a matrix is a row too.
    std::optional<Access>& place = is_row && !found_.bias ? found_.bias : found_.matrix;
    if (place) return false;
    place = access;
    return true;
  }

  const Body& body_;
  const int n_;
  ProductEpilogue found_;
};

}  // namespace

std::optional<ProductEpilogue> FindProductEpilogue(const Body& body, std::uint32_t root, int n) {
  return EpilogueMatcher(body, n).Match(root);
}

}  // namespace stoker
