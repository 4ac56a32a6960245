// The binary encoding of graphs: only the one encoding of a graph decodes, and its digest names it.
#include "protocol/base/check.h"
#include "protocol/graph/graph.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/graph_seeds.h"

namespace stoker::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& text : GraphTexts()) seeds.push_back(EncodeGraph(*ParseGraph(text)));
  return seeds;
}

void TryInput(std::string_view bytes) {
  const Result<Graph> graph = DecodeGraph(bytes);
  if (!graph.ok()) return;
  STOKER_CHECK(EncodeGraph(*graph) == bytes);
  STOKER_CHECK(Sha256Of(bytes) == graph->digest());
}

}  // namespace stoker::fuzz
