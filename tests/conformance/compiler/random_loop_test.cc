// Random loops, in each other and one after the other, beside the interpreter: what is carried
// changes places, comes twice, stays as it is or is an input; bodies update rows and call the host.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

// Few types, so that values of one type meet. Rows are those of kRows.
enum Type { kMatrix, kVector, kSquare, kScalar, kCount, kRows, kEmpty, kNumTypes };
constexpr std::array<const char*, kNumTypes> kTypes = {
    "f32[4,6]", "f32[6]", "f32[5,5]", "f32[]", "i64[]", "f32[3,4,6]", "f32[0,6]"};
constexpr int kMaxDepth = 2;  // Of loops in loops.

struct Value {
  std::string name;
  Type type;
};
using Values = std::vector<Value>;

std::string NamesOf(const Values& values, bool typed) {
  std::string text;
  for (const Value& value : values) {
    text += (text.empty() ? "" : ", ") + value.name;
    if (typed) text += std::string(": ") + kTypes[value.type];
  }
  return text;
}

std::string TypesOf(const Values& values) {
  std::string text;
  for (const Value& value : values)
    text += (text.empty() ? "" : ", ") + std::string(kTypes[value.type]);
  return text;
}

class LoopGenerator {
 public:
  explicit LoopGenerator(std::uint64_t seed) : random_(seed) {}

  std::string Text() {
    Values inputs;
    for (const Type type : {kMatrix, kMatrix, kVector, kSquare, kScalar, kRows, kEmpty}) {
      inputs.push_back({Fresh(), type});
    }
    std::string text = "graph @g(" + NamesOf(inputs, true) + ") {\n";
    Values values = inputs;
    Constant(kCount, "0", values, text);
    Constant(kMatrix, "0.5", values, text);
    Nodes(1 + Below(3), 0, values, text);
    Values outputs;
    for (int loops = 1 + Below(2); loops > 0; --loops) {
      const Values results = While(1, values, text);
      outputs.insert(outputs.end(), results.begin(), results.end());
    }
    Nodes(Below(3), 0, values, text);
    outputs.push_back(values.back());
    if (Coin(3)) outputs.push_back(Any(values));
    return text + "  return " + Returned(inputs, outputs) + "\n}\n";
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool Coin(int one_in) { return Below(one_in) == 0; }
  std::string Fresh() { return "%v" + std::to_string(next_++); }
  const Value& Any(const Values& values) {
    return values[static_cast<std::size_t>(Below(static_cast<int>(values.size())))];
  }
  const Value* OfType(const Values& values, Type type) {
    std::vector<const Value*> places;
    for (const Value& value : values) {
      if (value.type == type) places.push_back(&value);
    }
    return places.empty()
               ? nullptr
               : places[static_cast<std::size_t>(Below(static_cast<int>(places.size())))];
  }

  void Emit(Type type, const std::string& node, Values& values, std::string& text) {
    values.push_back({Fresh(), type});
    text += "  " + values.back().name + " = " + node + " : " + kTypes[type] + "\n";
  }
  std::string Raw(const std::string& type, const std::string& node, std::string& text) {
    const std::string name = Fresh();
    text += "  " + name + " = " + node + " : " + type + "\n";
    return name;
  }
  void Constant(Type type, const std::string& value, Values& values, std::string& text) {
    Emit(type, "constant() value(" + value + ")", values, text);
  }

  void Nodes(int count, int depth, Values& values, std::string& text) {
    while (count > 0) count -= Node(depth, values, text) ? 1 : 0;
  }

  // False where no value has the type that it takes. Results stay small, and nothing jumps.
  bool Node(int depth, Values& values, std::string& text) {
    constexpr std::array kUnary = {"tanh", "sine", "negate", "abs", "logistic"};
    constexpr std::array kBinary = {"maximum", "minimum"};
    const auto take = [&](Type type) { return OfType(values, type); };
    switch (Below(12)) {
      case 0: {
        const Value x = Any(values);
        if (x.type == kCount) return false;
        Emit(x.type, std::string(kUnary[static_cast<std::size_t>(Below(5))]) + "(" + x.name + ")",
             values, text);
        return true;
      }
      case 1: {
        const Value x = Any(values);
        const Value y = *take(x.type);
        const std::string operands = "(" + x.name + ", " + y.name + ")";
        if (x.type == kCount || Coin(2)) {
          Emit(x.type, kBinary[static_cast<std::size_t>(Below(2))] + operands, values, text);
        } else {
          const std::string sum =
              Raw(kTypes[x.type], (Coin(2) ? "add" : "subtract") + operands, text);
          Emit(x.type, "sine(" + sum + ")", values, text);
        }
        return true;
      }
      case 2:
        if (const Value* x = take(kSquare)) {
          Emit(kSquare, "transpose(" + std::string(x->name) + ") {dims=[1,0]}", values, text);
          return true;
        }
        return false;
      case 3:
        if (const Value* x = take(kMatrix)) {
          Emit(kVector, "reduce(" + std::string(x->name) + ") {dims=[0], kind=\"maximum\"}", values,
               text);
          return true;
        }
        return false;
      case 4:
        if (const Value* x = take(kVector)) {
          Emit(kMatrix, "broadcast_in_dim(" + std::string(x->name) + ") {dims=[1]}", values, text);
          return true;
        }
        return false;
      case 5: {
        const Value* x = take(kSquare);
        if (x == nullptr) return false;
        const std::string eighth = Raw(kTypes[kSquare], "constant() value(0.125)", text);
        const std::string small =
            Raw(kTypes[kSquare], "multiply(" + x->name + ", " + eighth + ")", text);
        Emit(kSquare,
             "dot_general(" + small + ", " + take(kSquare)->name +
                 ") {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]}",
             values, text);
        return true;
      }
      case 6: {
        const Value* rows = take(kRows);
        const Value* at = take(kCount);
        if (rows == nullptr || at == nullptr) return false;
        const std::string zero = Raw("i64[]", "constant() value(0)", text);
        const std::string row = Raw("f32[1,4,6]",
                                    "dynamic_slice(" + rows->name + ", " + at->name + ", " + zero +
                                        ", " + zero + ") {slice_sizes=[1,4,6]}",
                                    text);
        Emit(kMatrix, "reshape(" + row + ")", values, text);
        return true;
      }
      case 7: {
        const Value* rows = take(kRows);
        const Value* at = take(kCount);
        const Value* row = take(kMatrix);
        if (rows == nullptr || at == nullptr || row == nullptr) return false;
        const std::string zero = Raw("i64[]", "constant() value(0)", text);
        const std::string update = Raw("f32[1,4,6]", "reshape(" + row->name + ")", text);
        Emit(kRows,
             "dynamic_update_slice(" + rows->name + ", " + update + ", " + at->name + ", " + zero +
                 ", " + zero + ")",
             values, text);
        return true;
      }
      case 8: {
        const Value x = Any(values);
        if (x.type == kCount || x.type == kEmpty || !Coin(3)) return false;
        const std::string given =
            Raw(kTypes[x.type], "extern_call(" + x.name + ") {target=\"op\"}", text);
        Emit(x.type, "tanh(" + given + ")", values, text);
        return true;
      }
      case 9:
        if (depth >= kMaxDepth || !Coin(2)) return false;
        While(depth + 1, values, text);
        return true;
      case 10:
        return depth < kMaxDepth && Coin(2) && Scan(depth + 1, values, text);
      case 11:
        if (const Value* x = take(kCount)) {
          const std::string one = Raw("i64[]", "constant() value(1)", text);
          Emit(kCount, "subtract(" + std::string(x->name) + ", " + one + ")", values, text);
          return true;
        }
        return false;
      default:
        return false;
    }
  }

  Values Named(const Values& values) {
    Values named;
    for (const Value& value : values) named.push_back({Fresh(), value.type});
    return named;
  }

  // What a body gives for these: anything that it has of their types.
  std::string Next(const Values& carried, const Values& inside) {
    Values next;
    for (const Value& value : carried) next.push_back(*OfType(inside, value.type));
    return NamesOf(next, false);
  }

  // The results, which are among the values from then on.
  Values While(int depth, Values& values, std::string& text) {
    Values operands;
    for (int count = 1 + Below(4); count > 0; --count) operands.push_back(Any(values));
    const std::size_t carried = operands.size();
    for (int count = Below(4); count > 0; --count) operands.push_back(Any(values));
    // The counter is carried last.
    const auto counter = static_cast<std::ptrdiff_t>(carried);
    operands.insert(operands.begin() + counter,
                    {Raw("i64[]", "constant() value(0)", text), kCount});
    const Values of_condition = Named(operands);
    const Values of_body = Named(operands);
    std::string node = "while(" + NamesOf(operands, false) + ") {condition=graph @c(" +
                       NamesOf(of_condition, true) + ") {\n";
    const std::string limit =
        Raw("i64[]", "constant() value(" + std::to_string(Below(4)) + ")", node);
    std::string goes_on =
        Raw("bool[]",
            "compare(" + of_condition[carried].name + ", " + limit + ") {direction=\"LT\"}", node);
    if (const Value* x = OfType(of_condition, kVector)) {
      const std::string most =
          Raw("f32[]", "reduce(" + x->name + ") {dims=[0], kind=\"maximum\"}", node);
      const std::string finite = Raw("bool[]", "is_finite(" + most + ")", node);
      goes_on = Raw("bool[]", "and(" + goes_on + ", " + finite + ")", node);
    }
    node += "  return " + goes_on + "\n}, body=graph @b(" + NamesOf(of_body, true) + ") {\n";
    Values inside = of_body;
    Nodes(Below(5), depth, inside, node);
    const std::string one = Raw("i64[]", "constant() value(1)", node);
    const std::string next_count =
        Raw("i64[]", "add(" + of_body[carried].name + ", " + one + ")", node);
    const Values first(of_body.begin(), of_body.begin() + counter);
    node += "  return " + Next(first, inside) + ", " + next_count + "\n}}";
    const Values results = Named({operands.begin(), operands.begin() + counter + 1});
    text += "  " + NamesOf(results, false) + " = " + node + " : " + TypesOf(results) + "\n";
    values.insert(values.end(), results.begin(), results.end());
    return results;
  }

  bool Scan(int depth, Values& values, std::string& text) {
    const Value* rows = OfType(values, kRows);
    if (rows == nullptr) return false;
    Values operands;
    for (int count = Below(3); count > 0; --count) operands.push_back(Any(values));
    const std::size_t carried = operands.size();
    operands.push_back(*rows);
    for (int count = Below(3); count > 0; --count) operands.push_back(Any(values));
    Values inside = Named(operands);
    inside[carried].type = kMatrix;
    const Values given = inside;
    std::string node =
        "scan(" + NamesOf(operands, false) + ") {body=graph @s(" + NamesOf(given, true) + ") {\n";
    Nodes(Below(4), depth, inside, node);
    const Values first(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(carried));
    const std::string next = Next(first, inside);
    node += "  return " + next + (next.empty() ? "" : ", ") + OfType(inside, kMatrix)->name +
            "\n}, carried=" + std::to_string(carried) + ", scanned=1}";
    Values results =
        Named({operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carried)});
    results.push_back({Fresh(), kRows});
    text += "  " + NamesOf(results, false) + " = " + node + " : " + TypesOf(results) + "\n";
    values.insert(values.end(), results.begin(), results.end());
    return true;
  }

  // Some outputs update inputs, each another one.
  std::string Returned(const Values& inputs, const Values& outputs) {
    std::string text;
    std::vector<bool> is_updated(inputs.size());
    for (const Value& output : outputs) {
      text += (text.empty() ? "" : ", ") + output.name;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (is_updated[i] || inputs[i].type != output.type || !Coin(4)) continue;
        is_updated[i] = true;
        text += " updates " + inputs[i].name;
        break;
      }
    }
    return text;
  }

  std::mt19937_64 random_;
  int next_ = 0;
};

TEST(RandomLoops, AgreeWithTheInterpreter) {
  const Tolerance tolerance{1e-8, 1e-3, 5e-2, 3e-1};  // Errors of trips add up.
  int failures = 0;
  for (const std::uint64_t seed : Seeds(1, 40)) {
    if (failures == 3) break;
    const std::string text = LoopGenerator(seed).Text();
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed << "\n" << text;
    const Outcome outcome = CompareWithInterpreter(*graph, RandomInputs(*graph, seed), tolerance);
    EXPECT_EQ(outcome.error, "") << "seed " << seed << "\n" << text;
    failures += outcome.error.empty() ? 0 : 1;
  }
}

}  // namespace
}  // namespace stoker::test
