// The digest of a graph: what it does not depend on, and that it depends on everything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "protocol/graph/graph.h"
#include "tests/unit/protocol/graph/random_graph.h"

namespace stoker {
namespace {

Graph Build(const Recipe& recipe, const BuildVariation& variation, std::mt19937& random) {
  Result<Graph> graph = BuildRecipe(recipe, variation, random);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *std::move(graph);
}

TEST(GraphDigest, Accidents_OfBuilding_DoNotMatter) {
  const std::pair<const char*, BuildVariation> variations[] = {
      {"name", {.name = "another name"}},       {"insertion order", {.shuffle_nodes = true}},
      {"dead nodes", {.add_dead_nodes = true}}, {"repeated nodes", {.repeat_nodes = true}},
      {"symbol names", {.symbol_step = 5}},     {"all", {"h", true, true, true, 3}},
  };
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Recipe recipe = RandomRecipe(random, 30);
    const Graph graph = Build(recipe, {}, random);
    for (const auto& [what, variation] : variations) {
      const Graph varied = Build(recipe, variation, random);
      EXPECT_EQ(varied.digest(), graph.digest()) << what << ", seed " << seed;
      EXPECT_EQ(EncodeGraph(varied), EncodeGraph(graph)) << what << ", seed " << seed;
    }
  }
}

TEST(GraphDigest, RandomGraphs_TextAndEncoding_RoundTrip) {
  std::set<std::string> digests;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = Build(RandomRecipe(random, 5 + static_cast<int>(seed) / 2), {}, random);
    digests.insert(graph.digest().ToHex());
    const std::string bytes = EncodeGraph(graph);
    const std::string text = PrintGraph(graph);
    EXPECT_EQ(graph.digest(), Sha256Of(bytes));

    const Result<Graph> decoded = DecodeGraph(bytes);
    ASSERT_TRUE(decoded.ok()) << text << decoded.error().message;
    EXPECT_EQ(EncodeGraph(*decoded), bytes);

    const Result<Graph> parsed = ParseGraph(text);
    ASSERT_TRUE(parsed.ok()) << text << parsed.error().message;
    EXPECT_EQ(parsed->digest(), graph.digest());
    EXPECT_EQ(PrintGraph(*parsed), text);
  }
  EXPECT_EQ(digests.size(), 100U);
}

// The canonical numbering that other parts rely on.
TEST(GraphDigest, RandomGraphs_Values_AreNumberedInOrder) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = Build(RandomRecipe(random, 40), {"g", true, true, true, 1}, random);
    ValueId next = 0;
    for (std::uint32_t i = 0; i < graph.inputs().size(); ++i, ++next) {
      EXPECT_EQ(graph.inputs()[i].value, next);
      EXPECT_EQ(graph.value(next).producer, kNoNode);
      EXPECT_EQ(graph.value(next).index, i);
    }
    std::set<ValueId> used(graph.outputs().begin(), graph.outputs().end());
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
      for (const ValueId operand : graph.node(id).operands) {
        EXPECT_LT(operand, next);
        used.insert(operand);
      }
      for (std::uint32_t i = 0; i < graph.node(id).results.size(); ++i, ++next) {
        EXPECT_EQ(graph.node(id).results[i], next);
        EXPECT_EQ(graph.value(next).producer, id);
        EXPECT_EQ(graph.value(next).index, i);
      }
    }
    EXPECT_EQ(graph.values().size(), next);
    for (const Node& node : graph.nodes()) {
      EXPECT_TRUE(std::any_of(node.results.begin(), node.results.end(),
                              [&](ValueId id) { return used.contains(id); }));
    }
  }
}

std::string DigestOf(const std::string& text) {
  const Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << text << graph.error().message;
  return graph.ok() ? graph->digest().ToHex() : "";
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

constexpr const char* kEverything =
    R"(graph @g(%0: f32[s0,4], %1: parameter f32[s0,4], %2: f32[2,3]) {
  %3 = constant() value([1,2,3]) : i64[3]
  %4 = subtract(%0, %1) : f32[s0,4]
  %5 = reduce(%4) {dims=[0], kind="add"} : f32[4]
  %6 = slice(%0) {start=[0,1], limit=[s0,4], stride=[1,2]} : f32[s0,2]
  %7 = convert(%2) : f16[2,3]
  %8, %9 = top_k(%4) {k=2, largest=true} : f32[s0,2], i64[s0,2]
  %10 = iota() {dim=0} : f32[3,3]
  %11 = extern_call(%2) {target="aten.f"} : f32[3]
  return %3, %4, %5, %6, %7, %8, %10, %11
}
)";

TEST(GraphDigest, AnyField_Changed_ChangesIt) {
  const std::pair<const char*, const char*> changes[] = {
      {"parameter ", ""},                                          // Role.
      {"%0: f32[s0,4]", "%0: f32[s0,4], %unused: f32[1]"},         // Inputs.
      {"%2: f32[2,3]", "%2: parameter f32[2,3]"},                  // Another role.
      {"constant() value([1,2,3])", "constant() value([1,2,4])"},  // Constant bytes.
      {"constant() value([1,2,3])", "constant() value(1)"},        // Splat.
      {"%3 = constant() value([1,2,3]) : i64", "%3 = constant() value([1,2,3]) : i32"},  // DType.
      {"subtract(%0, %1)", "subtract(%1, %0)"},                            // Operand order.
      {"subtract(%0, %1)", "subtract(%0, %0)"},                            // Operand.
      {"subtract", "add"},                                                 // Op.
      {"kind=\"add\"", "kind=\"maximum\""},                                // String attribute.
      {"start=[0,1], limit=[s0,4]", "start=[0,0], limit=[s0,3]"},          // Dims attribute.
      {"%7 = convert(%2) : f16", "%7 = convert(%2) : bf16"},               // Result dtype.
      {"largest=true", "largest=false"},                                   // Boolean attribute.
      {"iota() {dim=0}", "iota() {dim=1}"},                                // Integer attribute.
      {"{target=\"aten.f\"} : f32[3]", "{target=\"aten.f\"} : f32[4]"},    // Result shape.
      {"return %3, %4", "return %4, %3"},                                  // Output order.
      {"%8, %10, %11\n", "%8, %10\n"},                                     // Outputs.
      {"return %3, %4, %5, %6, %7, %8", "return %3, %4, %5, %6, %7, %9"},  // Which result.
  };
  std::set<std::string> digests = {DigestOf(kEverything)};
  for (const auto& [from, to] : changes) {
    const std::string text = Replaced(kEverything, from, to);
    EXPECT_TRUE(digests.insert(DigestOf(text)).second) << from << " -> " << to;
  }
}

// A list attribute, a float, a dim that is a number instead of a symbol, which symbol it is.
TEST(GraphDigest, ListsFloatsAndSymbols_Changed_ChangeIt) {
  const char* texts[] = {
      "graph @g(%0: f32[s0,s1], %1: f32[s0]) { return %0 }",
      "graph @g(%0: f32[s0,s1], %1: f32[s1]) { return %0 }",
      "graph @g(%0: f32[s0,s0], %1: f32[s0]) { return %0 }",
      "graph @g(%0: f32[s0,4], %1: f32[s0]) { return %0 }",
      "graph @g(%0: f32[s0,4], %1: f32[s0+1]) { return %0 }",
      "graph @g(%0: f32[2,2,2,2]) { %1 = attention(%0, %0, %0) {scale=0.5, causal=true}"
      " : f32[2,2,2,2] return %1 }",
      "graph @g(%0: f32[2,2,2,2]) { %1 = attention(%0, %0, %0) {scale=0.25, causal=true}"
      " : f32[2,2,2,2] return %1 }",
      "graph @g(%0: f32[2,2,2,2]) { %1 = attention(%0, %0, %0) {scale=0.25, causal=false}"
      " : f32[2,2,2,2] return %1 }",
      "graph @g(%0: f32[2,2,2,2]) { %1 = transpose(%0) {dims=[0,1,3,2]} : f32[2,2,2,2] return %1 }",
      "graph @g(%0: f32[2,2,2,2]) { %1 = transpose(%0) {dims=[1,0,2,3]} : f32[2,2,2,2] return %1 }",
      "graph @g(%0: f32[]) { %1 = constant() value(0) : f32[] return %1 }",
      "graph @g(%0: f32[]) { %1 = constant() value(-0) : f32[] return %1 }",
      "graph @g(%0: f32[]) { %1 = constant() value(nan) : f32[] return %1 }",
      "graph @g(%0: f32[]) { %1 = constant() bytes(\"0100c07f\") : f32[] return %1 }",
  };
  std::set<std::string> digests;
  for (const char* text : texts) EXPECT_TRUE(digests.insert(DigestOf(text)).second) << text;
}

TEST(GraphDigest, SetsOfDims_InAnyOrder_AreEqual) {
  EXPECT_EQ(DigestOf("graph @g(%0: f32[2,3,4]) {"
                     " %1 = reduce(%0) {dims=[2,0], kind=\"add\"} : f32[3] return %1 }"),
            DigestOf("graph @g(%0: f32[2,3,4]) {"
                     " %1 = reduce(%0) {dims=[0,2], kind=\"add\"} : f32[3] return %1 }"));
}

// When one of these changes, every stored key changes with it: bump the encoding's version.
TEST(GraphDigest, Golden) {
  EXPECT_EQ(DigestOf(kEverything),
            "572e61ef947c5b695ba9f39fc26042b0e3411b18bebc2d2cd59909f9513855e3");
  EXPECT_EQ(DigestOf("graph @g(%0: f32[s0]) { return %0 }"),
            "b6f43bb50192bc1e6b8fa51317eae64aec6efee66fc7a77278a6c75770648270");
}

}  // namespace
}  // namespace stoker
