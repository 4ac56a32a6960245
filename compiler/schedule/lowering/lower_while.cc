// Loops: the programs of their regions, again and again.
#include "compiler/schedule/lowering/builder/inline_region.h"
#include "compiler/schedule/lowering/lowering.h"

namespace stoker {

// What a trip carries on lies in the results' memory: it starts there, and the body, whose outputs
// update its inputs, leaves it there.
Result<std::vector<StorageId>> Lowering::StartLoop(const Node& node,
                                                   const std::vector<ResultStorages>& results) {
  std::vector<StorageId> inputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    STOKER_RETURN_IF_ERROR(CopyTo(node.operands[i], results[i].written, false));
    inputs.push_back(results[i].written);
  }
  for (std::size_t i = results.size(); i < node.operands.size(); ++i) {
    STOKER_TRY(const StorageId storage, RowMajorStorage(node.operands[i]));
    inputs.push_back(storage);
  }
  return inputs;
}

Status Lowering::LowerWhile(const Group& group) {
  if (!machine_.runs_loops()) return Unimplemented("The target's plans have no loops.");
  const Node& node = graph_.node(group.hero);
  const WhilePrograms& programs = scheduled_.whiles.at(group.hero);
  std::vector<TensorType> types;
  for (const ValueId operand : node.operands) types.push_back(graph_.type(operand));
  std::vector<ResultStorages> results;
  for (const ValueId value : node.results) results.push_back(AddRowMajorResult(value));
  STOKER_TRY(const std::vector<StorageId> inputs, StartLoop(node, results));
  const auto inlined = [&](const Program& program, AttrName name) -> Result<InlinedRegion> {
    STOKER_TRY(RegionSymbols symbols, BindRegion(node.attributes.GraphOf(name), types));
    return InlinedRegion(program, inputs, std::move(symbols), builder_);
  };
  STOKER_TRY(InlinedRegion condition, inlined(programs.condition, AttrName::kCondition));
  STOKER_TRY(InlinedRegion body, inlined(programs.body, AttrName::kBody));
  condition.AppendPrepared();
  body.AppendPrepared();
  Program& program = builder_.program();
  ProgramLoop loop;
  loop.begin = program.steps.size();
  condition.AppendTrip();
  loop.test = program.steps.size();
  body.AppendTrip();
  loop.end = program.steps.size();
  loop.condition = condition.OutputOf(0);
  // Such a loop would end at once or never.
  if (loop.begin == loop.end)
    return Unimplemented("Neither its condition nor its body does anything.");
  program.loops.push_back(loop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    STOKER_RETURN_IF_ERROR(CopyResult(node.results[i], results[i], false));
  }
  return Ok();
}

}  // namespace stoker
