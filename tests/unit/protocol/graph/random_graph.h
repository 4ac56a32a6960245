// Random graphs for tests: a recipe that can be built in several ways that must not matter.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "protocol/graph/build/graph_builder.h"

namespace stoker {

// A value of a recipe: result `result` of node `node`, or input `result` when node is -1.
struct RecipeValue {
  int node = -1;
  std::uint32_t result = 0;
};

struct RecipeNode {
  OpKind kind;
  std::vector<RecipeValue> operands;
  Attributes attributes;
  std::vector<TensorType> types;
  std::string constant;
};

struct Recipe {
  std::vector<TensorType> inputs;
  std::vector<RecipeNode> nodes;  // Operands before users.
  std::vector<RecipeValue> outputs;
};

// About `size` nodes of many kinds over a few inputs with symbolic sizes.
Recipe RandomRecipe(std::mt19937& random, int size);

struct BuildVariation {
  std::string name = "g";
  bool shuffle_nodes = false;     // Another topological order.
  bool add_dead_nodes = false;    // Every node gets a user that nothing uses.
  bool repeat_nodes = false;      // Every node is added twice; users take either.
  std::uint32_t symbol_step = 1;  // Symbol i is named s<i * step + step - 1>.
};

Result<Graph> BuildRecipe(const Recipe& recipe, const BuildVariation& variation,
                          std::mt19937& random);

}  // namespace stoker
