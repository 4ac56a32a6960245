// The text form of graphs: what parses prints as a text that parses to the same graph, and printing
// that changes nothing more.
#include "protocol/base/check.h"
#include "protocol/graph/graph.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/graph_seeds.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  const std::vector<std::string> texts = GraphTexts();
  for (const std::string& text : texts) STOKER_CHECK(ParseGraph(text).ok());
  return texts;
}

void TryInput(std::string_view bytes) {
  const Result<Graph> graph = ParseGraph(bytes);
  if (!graph.ok()) return;
  const std::string text = PrintGraph(*graph);
  const Result<Graph> again = ParseGraph(text);
  STOKER_CHECK(again.ok());
  STOKER_CHECK(again->digest() == graph->digest());
  STOKER_CHECK(PrintGraph(*again) == text);
}

}  // namespace stoker::fuzz
