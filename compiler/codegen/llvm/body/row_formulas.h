// What a loop over rows computes in several steps, and is one formula.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/loop_func.h"

namespace stoker::codegen {

// Of a function that outlives this. Numbers are of instructions of the same body.
class RowFormulas {
 public:
  // `hides_errors`: whether an instruction of a stage may be off by more than f32 shows. Of others
  // exponentials are not looked for.
  using HidesErrors = std::function<bool(const Stage& stage, std::uint32_t instr)>;
  RowFormulas(const LoopFunc& func, const HidesErrors& hides_errors);

  // exp((x - most) * scale), `most` the largest x of the row, of which nothing is used but which
  // share of their sum each is: a factor of all of them does not show.
  struct Exponential {
    std::uint32_t x;
    std::uint32_t most;
    double scale;    // Above 0, and 1 at most.
    bool is_16_bit;  // x is a 16-bit float, or one times a constant.
  };
  std::optional<Exponential> ExponentialOf(const BodyInstr& instr) const;
  // The value of a stage that temporary or reduction `id` has: `value`, but for what only such
  // exponentials read: these take it without the scale.
  std::uint32_t ValueOf(std::uint32_t id, std::uint32_t value) const;
  // Is it such a share, a quotient?
  bool IsShare(const Body& body, const BodyInstr& instr) const;

  // (x - mean) * scale, `mean` that of the row's x, each of which is a difference from the row's
  // mean itself, and `scale` a reciprocal root.
  struct Normalized {
    std::uint32_t x;
    std::uint32_t mean;
    std::uint32_t scale;
  };
  std::optional<Normalized> NormalizedOf(const Body& body, const BodyInstr& instr) const;

 private:
  // Where a kInput value comes from.
  struct Source {
    const Stage* stage;
    std::uint32_t value;
    const Reduction* reduction;  // Null: a temporary.
  };

  void FindSources();
  void AddExponential(const Stage& stage, std::uint32_t number);
  // `kind` over the row of what `kept` is.
  bool IsReduced(const BodyInstr& reduced, Combine kind, const BodyInstr& kept) const;
  bool Is16Bit(const Body& body, std::uint32_t instr) const;
  bool IsMeanOf(const Body& body, std::uint32_t mean, std::uint32_t x) const;
  // Is it kept, and a difference from its row's mean?
  bool IsFromMean(const BodyInstr& kept) const;
  // Is `user` all that reads the instruction or leaves the stage with it?
  static bool IsOnlyFor(const Stage& stage, std::uint32_t instr, std::uint32_t user);
  void TakeScale(const Stage& stage, std::uint32_t number, Exponential& exponential);
  // Are quotients of the two their only use?
  bool AreOnlyDivided(std::uint32_t kept, std::uint32_t sum) const;

  const LoopFunc& func_;
  std::map<std::uint32_t, Source> sources_;
  std::map<const BodyInstr*, Exponential> exponentials_;
  std::map<std::uint32_t, std::uint32_t> unscaled_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> shares_;  // Of kept exponentials and sums.
};

}  // namespace stoker::codegen
