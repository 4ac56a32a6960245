// Random graphs: nodes of a given kind with random legal operands and attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "protocol/graph/build/graph_builder.h"

namespace stoker::test {

class GraphGenerator {
 public:
  enum class Scale {
    kTiny,   // Sizes are 0, 1 or 2.
    kSmall,  // Up to 31, at most 4096 elements.
    kLarge,  // Up to 200, so many elements that kernels are divided into tasks.
  };
  explicit GraphGenerator(std::uint64_t seed, Scale scale = Scale::kSmall)
      : random_(seed), builder_("random"), scale_(scale) {}

  // Adds a node of `kind` whose principal operands have dtype `dtype`: new inputs (some of them
  // parameters, some seen through a view), or values added before. False when the kind has no such
  // form.
  bool Add(OpKind kind, DType dtype);
  // A chain of `length` nodes of random kinds, each reading what came before where it can.
  void AddChain(int length);
  // All values that nothing reads, at most 16 of them, are outputs.
  Result<Graph> Build();

  static bool IsChainable(OpKind kind);

 private:
  struct Entry {
    ValueId id = kNoValue;
    TensorType type;
    bool exact = true;  // Free of rounding: what jumps (compare, floor, sort) may be applied to it.
    bool used = false;
  };

  std::int64_t Below(std::int64_t n) {
    return n <= 1 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool Coin(int one_in) { return Below(one_in) == 0; }
  std::int64_t Size();
  std::vector<std::int64_t> Sizes(int min_rank, int max_rank);
  static Shape ShapeOf(const std::vector<std::int64_t>& sizes);
  static std::vector<std::int64_t> SizesOf(const Entry& entry);

  Entry NewInput(DType dtype, const std::vector<std::int64_t>& sizes);
  // A value of this type: one there is, seen through views if its shape is another, or a new input.
  Entry Operand(DType dtype, const std::vector<std::int64_t>& sizes, bool exact = false);
  // Some value of this dtype and of a rank in the range.
  Entry AnyOperand(DType dtype, int min_rank, int max_rank, bool exact = false);
  Entry Emit(OpKind kind, const std::vector<Entry>& operands, Attributes attributes = {},
             std::optional<TensorType> hint = std::nullopt, bool exact = false);
  bool EmitAll(OpKind kind, const std::vector<Entry>& operands, Attributes attributes,
               std::vector<TensorType> hints = {});
  // With dims in another order, and neighbours among them merged into one.
  Entry Regrouped(const Entry& x);
  // Within [-1, 1], so that chains neither overflow nor vanish.
  Entry Bounded(const Entry& x);

  bool Pointwise(OpKind kind, DType dtype);
  bool View(OpKind kind, DType dtype);
  bool Reduction(OpKind kind, DType dtype);
  bool Contraction(OpKind kind, DType dtype);
  bool Indexing(OpKind kind, DType dtype);
  bool Attend(DType dtype);

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<Entry> values_;
  bool chaining_ = false;
  Scale scale_;
};

}  // namespace stoker::test
