#include "compiler/ir/text.h"
#include "compiler/schedule/program/memory_plan.h"

namespace stoker {
namespace {

struct Uses {
  std::size_t first = 0;
  std::size_t last = 0;
  bool any = false;
};

std::string LayoutText(const Layout& layout) {
  if (layout.IsRowMajor()) return "";
  std::string text = " order " + ListText(layout.order);
  if (layout.row_multiple != 1)
    text += " rows at multiples of " + std::to_string(layout.row_multiple);
  if (!layout.HasHalo()) return text;
  const auto list = [](const std::vector<std::int64_t>& sizes) {
    return ListText(std::vector<SymDim>(sizes.begin(), sizes.end()));
  };
  return text + " zeros before " + list(layout.low) + " after " + list(layout.high);
}

}  // namespace

std::string PlaceText(BufferKind kind, std::uint32_t index, const SymDim& offset) {
  const auto named = [&](const char* what) {
    const std::string place = what + std::to_string(index);
    return offset == SymDim(0) ? place : place + "+" + offset.ToString();
  };
  switch (kind) {
    case BufferKind::kInput:
      return named("input");
    case BufferKind::kOutput:
      return named("output");
    case BufferKind::kConstant:
      return named("constant");
    case BufferKind::kArena:
      return "arena+" + offset.ToString();
    case BufferKind::kPrepared:
      return "prepared+" + offset.ToString();
    case BufferKind::kPrepareArena:
      return "prepare_arena+" + offset.ToString();
  }
  return "";
}

std::string ToString(const MemoryPlan& plan, const Program& program) {
  std::vector<Uses> uses(program.storages.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const StorageId id : program.steps[i].buffers) {
      if (!uses[id].any) uses[id].first = i;
      uses[id].last = i;
      uses[id].any = true;
    }
  }
  std::string text = "storages\n";
  for (StorageId id = 0; id < program.storages.size(); ++id) {
    if (!uses[id].any) continue;
    const Storage& storage = program.storages[id];
    text += "  " + PlaceText(storage.kind, storage.index, plan.offsets[id]) + " " +
            TensorType{storage.dtype, storage.shape}.ToString() + LayoutText(storage.layout) +
            ", " + storage.bytes.ToString() + " bytes, steps " + std::to_string(uses[id].first) +
            " to " + std::to_string(uses[id].last) + "\n";
  }
  return text;
}

}  // namespace stoker
