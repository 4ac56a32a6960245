#include "tests/unit/protocol/graph/random_graph.h"

#include <algorithm>
#include <array>

#include "protocol/base/check.h"
#include "protocol/graph/elements.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;

class RecipeMaker {
 public:
  explicit RecipeMaker(std::mt19937& random) : random_(random) {
    const SymDim s0 = SymDim::Symbol(0);
    const SymDim s1 = SymDim::Symbol(1);
    for (const TensorType& type :
         {TensorType{DType::kF32, {s0, 4}}, TensorType{DType::kF32, {2, 4, s1}},
          TensorType{DType::kBF16, {s0, s1}}, TensorType{DType::kI32, {3}},
          TensorType{DType::kBool, {s0, 4}}}) {
      values_.push_back({-1, static_cast<std::uint32_t>(recipe_.inputs.size())});
      types_.push_back(type);
      recipe_.inputs.push_back(type);
    }
  }

  Recipe Make(int size) {
    while (static_cast<int>(recipe_.nodes.size()) < size) TryAdd();
    for (int i = 0; i < 3; ++i) recipe_.outputs.push_back(values_[values_.size() - 1 - Pick(4)]);
    return std::move(recipe_);
  }

 private:
  std::size_t Pick(std::size_t bound) { return random_() % bound; }

  // Adds a node when the verifier accepts it.
  void TryAdd() {
    constexpr std::array kUnary = {OpKind::kNegate, OpKind::kExponential, OpKind::kTanh,
                                   OpKind::kAbs,    OpKind::kNot,         OpKind::kIsNan};
    constexpr std::array kBinary = {OpKind::kAdd,     OpKind::kMultiply, OpKind::kSubtract,
                                    OpKind::kMaximum, OpKind::kAnd,      OpKind::kPower};
    const std::size_t x = Pick(values_.size());
    const int rank = types_[x].shape.rank();
    const std::int64_t dim =
        rank == 0 ? 0 : static_cast<std::int64_t>(Pick(static_cast<std::size_t>(rank)));
    switch (Pick(12)) {
      case 0:
      case 1:
        return Add(kUnary[Pick(kUnary.size())], {x});
      case 2:
      case 3:
      case 4:
        return Add(kBinary[Pick(kBinary.size())], {x, Pick(values_.size())});
      case 5:
        return Add(OpKind::kReduce, {x},
                   {{AttrName::kDims, Dims{dim}}, {AttrName::kKind, std::string("add")}});
      case 6: {
        Dims order(static_cast<std::size_t>(rank));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
        std::shuffle(order.begin(), order.end(), random_);
        return Add(OpKind::kTranspose, {x}, {{AttrName::kDims, order}});
      }
      case 7:
        return Add(OpKind::kConvert, {x}, {},
                   {{Pick(2) == 0 ? DType::kF32 : DType::kI8, types_[x].shape}});
      case 8:
        return AddConstant(types_[x]);
      case 9:
        return Add(OpKind::kTopK, {x},
                   {{AttrName::kK, std::int64_t{2}}, {AttrName::kLargest, Pick(2) == 0}});
      case 10:
        return Add(OpKind::kConcatenate, {x, x}, {{AttrName::kDim, dim}});
      default:
        return AddSlice(x);
    }
  }

  void AddSlice(std::size_t x) {
    const std::vector<SymDim>& shape = types_[x].shape.dims();
    Add(OpKind::kSlice, {x},
        {{AttrName::kStart, std::vector<SymDim>(shape.size(), 0)},
         {AttrName::kLimit, shape},
         {AttrName::kStride, Dims(shape.size(), 2)}});
  }

  void AddConstant(const TensorType& type) {
    const double value = static_cast<double>(Pick(5)) / 2;
    recipe_.nodes.push_back({OpKind::kConstant, {}, {}, {type}, ElementBytes(type.dtype, value)});
    AddResults();
  }

  void Add(OpKind kind, const std::vector<std::size_t>& operands, Attributes attributes = {},
           const std::vector<TensorType>& hints = {}) {
    std::vector<TensorType> operand_types;
    std::vector<RecipeValue> operand_values;
    for (const std::size_t operand : operands) {
      operand_types.push_back(types_[operand]);
      operand_values.push_back(values_[operand]);
    }
    Result<std::vector<TensorType>> types = InferTypes(kind, operand_types, attributes, hints);
    if (!types.ok()) return;
    recipe_.nodes.push_back(
        {kind, std::move(operand_values), std::move(attributes), *std::move(types), {}});
    AddResults();
  }

  void AddResults() {
    const auto node = static_cast<int>(recipe_.nodes.size() - 1);
    std::uint32_t result = 0;
    for (const TensorType& type : recipe_.nodes.back().types) {
      values_.push_back({node, result++});
      types_.push_back(type);
    }
  }

  std::mt19937& random_;
  Recipe recipe_;
  std::vector<RecipeValue> values_;
  std::vector<TensorType> types_;
};

std::vector<int> RandomOrder(const Recipe& recipe, std::mt19937& random) {
  std::vector<int> order;
  std::vector<bool> done(recipe.nodes.size());
  while (order.size() < recipe.nodes.size()) {
    const int node = static_cast<int>(random() % recipe.nodes.size());
    const auto& operands = recipe.nodes[static_cast<std::size_t>(node)].operands;
    const bool ready = std::all_of(operands.begin(), operands.end(), [&](const RecipeValue& v) {
      return v.node < 0 || done[static_cast<std::size_t>(v.node)];
    });
    if (!ready || done[static_cast<std::size_t>(node)]) continue;
    done[static_cast<std::size_t>(node)] = true;
    order.push_back(node);
  }
  return order;
}

// Builds a recipe with renamed symbols.
class Variant {
 public:
  Variant(const Recipe& recipe, const BuildVariation& variation, std::mt19937& random)
      : recipe_(recipe), variation_(variation), random_(random), builder_(variation.name) {
    const std::uint32_t step = variation.symbol_step;
    for (std::uint32_t i = 0; i < 2; ++i) names_.emplace(i, SymDim::Symbol(i * step + step - 1));
  }

  Result<Graph> Build() {
    for (const TensorType& type : recipe_.inputs) inputs_.push_back(builder_.Input(Renamed(type)));
    results_.resize(recipe_.nodes.size());
    std::vector<int> order(recipe_.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    if (variation_.shuffle_nodes) order = RandomOrder(recipe_, random_);
    for (const int node : order) {
      AddNode(node);
      if (variation_.repeat_nodes) AddNode(node);
      if (variation_.add_dead_nodes) {
        const ValueId id = results_[static_cast<std::size_t>(node)][0][0];
        builder_.Add(OpKind::kConvert, std::vector<ValueId>{id}, {},
                     TensorType{DType::kF64, builder_.type(id).shape});
      }
    }
    std::vector<ValueId> outputs;
    for (const RecipeValue& value : recipe_.outputs) outputs.push_back(Value(value));
    return builder_.Build(outputs);
  }

 private:
  TensorType Renamed(const TensorType& type) const {
    return {type.dtype, Renamed(type.shape.dims())};
  }
  std::vector<SymDim> Renamed(std::vector<SymDim> dims) const {
    for (SymDim& dim : dims) dim = dim.Substitute(names_);
    return dims;
  }

  ValueId Value(const RecipeValue& value) {
    if (value.node < 0) return inputs_[value.result];
    const auto& copies = results_[static_cast<std::size_t>(value.node)];
    return copies[random_() % copies.size()][value.result];
  }

  void AddNode(int index) {
    const RecipeNode& node = recipe_.nodes[static_cast<std::size_t>(index)];
    std::vector<std::vector<ValueId>>& copies = results_[static_cast<std::size_t>(index)];
    if (node.kind == OpKind::kConstant) {
      copies.push_back({builder_.Constant(Renamed(node.types[0]), node.constant)});
      return;
    }
    std::vector<ValueId> operands;
    for (const RecipeValue& operand : node.operands) operands.push_back(Value(operand));
    Attributes attributes;
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* dims = std::get_if<std::vector<SymDim>>(&value);
      attributes.Set(name, dims == nullptr ? value : AttrValue(Renamed(*dims)));
    }
    std::vector<TensorType> types;
    for (const TensorType& type : node.types) types.push_back(Renamed(type));
    copies.push_back(builder_.AddMulti(node.kind, operands, std::move(attributes), types));
  }

  const Recipe& recipe_;
  const BuildVariation& variation_;
  std::mt19937& random_;
  GraphBuilder builder_;
  std::map<std::uint32_t, SymDim> names_;
  std::vector<ValueId> inputs_;
  std::vector<std::vector<std::vector<ValueId>>> results_;  // Of each copy of each node.
};

}  // namespace

Recipe RandomRecipe(std::mt19937& random, int size) { return RecipeMaker(random).Make(size); }

Result<Graph> BuildRecipe(const Recipe& recipe, const BuildVariation& variation,
                          std::mt19937& random) {
  return Variant(recipe, variation, random).Build();
}

}  // namespace stoker
