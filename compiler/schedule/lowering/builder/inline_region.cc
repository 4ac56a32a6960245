#include "compiler/schedule/lowering/builder/inline_region.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

bool IsPrepared(BufferKind kind) {
  return kind == BufferKind::kPrepared || kind == BufferKind::kPrepareArena;
}

Storage Outside(Storage storage, const RegionSymbols& symbols) {
  storage.shape = TypeOutside({storage.dtype, storage.shape}, symbols).shape;
  storage.bytes = storage.bytes.Substitute(symbols);
  return storage;
}

void MoveOutside(Step& step, const RegionSymbols& symbols) {
  for (SymDim& offset : step.offsets) offset = offset.Substitute(symbols);
  step.flops = step.flops.Substitute(symbols);
  step.bytes = step.bytes.Substitute(symbols);
  if (auto* op = std::get_if<HostOp>(&step.work)) {
    for (TensorType& type : op->operands) type = TypeOutside(type, symbols);
    for (TensorType& type : op->results) type = TypeOutside(type, symbols);
  }
  // Machines that run loops call no library, whose sizes would be moved here.
  STOKER_CHECK(!std::holds_alternative<LibraryOp>(step.work));
  if (step.symbols.empty()) {
    step.symbols = symbols;
  } else {
    for (auto& [symbol, dim] : step.symbols) dim = dim.Substitute(symbols);
  }
}

}  // namespace

InlinedRegion::InlinedRegion(const Program& region, std::vector<StorageId> inputs,
                             RegionSymbols symbols, ProgramBuilder& builder)
    : region_(region),
      inputs_(std::move(inputs)),
      symbols_(std::move(symbols)),
      builder_(builder),
      in_call_(region.storages.size(), false),
      placed_(region.storages.size(), kNoStorage) {
  PlaceOutputs();
  FindPreparedOutside();
  PlaceStorages();
}

void InlinedRegion::PlaceOutputs() {
  for (const OutputSpec& output : region_.outputs) {
    const std::int32_t input = std::max(output.same_as_input, output.updates_input);
    outputs_.push_back(input < 0 ? builder_.AddInArena(TypeOutside(output.type, symbols_))
                                 : inputs_[static_cast<std::size_t>(input)]);
  }
}

bool InlinedRegion::IsPreparedOutside(const Step& step) const {
  return std::ranges::all_of(step.buffers, [&](StorageId id) {
    const Storage& storage = region_.storages[id];
    if (storage.kind == BufferKind::kInput) {
      return builder_.IsReadable(inputs_[storage.index], /*prepared=*/true);
    }
    return !in_call_[id];
  });
}

// A step that reads what only a call knows makes what only a call knows, and so on.
void InlinedRegion::FindPreparedOutside() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Step& step : region_.steps) {
      if (!step.prepared || IsPreparedOutside(step)) continue;
      for (const StorageId id : step.buffers) {
        if (!IsPrepared(region_.storages[id].kind) || in_call_[id]) continue;
        in_call_[id] = changed = true;
      }
    }
  }
}

void InlinedRegion::PlaceStorages() {
  for (StorageId id = 0; id < placed_.size(); ++id) placed_[id] = Place(id);
}

StorageId InlinedRegion::Place(StorageId id) const {
  const Storage& storage = region_.storages[id];
  switch (storage.kind) {
    case BufferKind::kInput:
      return inputs_[storage.index];
    case BufferKind::kOutput:
      return outputs_[storage.index];
    case BufferKind::kConstant:
      return builder_.AddConstant(storage, region_.constants[storage.index]);
    case BufferKind::kArena:
    case BufferKind::kPrepared:
    case BufferKind::kPrepareArena:
      break;
  }
  Storage outside = Outside(storage, symbols_);
  if (in_call_[id]) outside.kind = BufferKind::kArena;
  return builder_.AddStorage(std::move(outside));
}

void InlinedRegion::Append(const Step& from, bool prepared) {
  Step step = from;
  step.prepared = prepared;
  for (StorageId& id : step.buffers) id = placed_[id];
  MoveOutside(step, symbols_);
  builder_.Append(std::move(step));
}

void InlinedRegion::AppendPrepared() {
  for (const Step& step : region_.steps) {
    if (step.prepared) Append(step, IsPreparedOutside(step));
  }
}

void InlinedRegion::AppendTrip() {
  std::vector<std::size_t> place_of;  // Where each of the region's steps is, or would be.
  for (const Step& step : region_.steps) {
    place_of.push_back(builder_.program().steps.size());
    if (!step.prepared) Append(step, false);
  }
  place_of.push_back(builder_.program().steps.size());
  for (const ProgramLoop& loop : region_.loops) {
    const StorageId condition = placed_[loop.condition];
    builder_.program().loops.push_back(
        {place_of[loop.begin], place_of[loop.test], place_of[loop.end], condition});
  }
}

}  // namespace stoker
