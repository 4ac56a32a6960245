#include "tests/conformance/compiler/with_updates.h"

#include <random>
#include <string>
#include <vector>

namespace stoker::test {

Result<Graph> WithUpdates(const Graph& graph, std::uint64_t seed, std::size_t* count) {
  std::mt19937_64 random(seed);
  std::vector<bool> is_updated(graph.inputs().size());
  std::string outputs;
  for (const ValueId output : graph.outputs()) {
    outputs += (outputs.empty() ? "%" : ", %") + std::to_string(output);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const GraphInput& input = graph.inputs()[i];
      if (is_updated[i] || input.role != InputRole::kActivation || random() % 4 == 0 ||
          graph.type(input.value) != graph.type(output)) {
        continue;
      }
      outputs += " updates %" + std::to_string(input.value);
      is_updated[i] = true;
      ++*count;
      break;
    }
  }
  const std::string text = PrintGraph(graph);
  return ParseGraph(text.substr(0, text.rfind("return ")) + "return " + outputs + "\n}\n");
}

}  // namespace stoker::test
