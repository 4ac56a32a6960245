#include "compiler/schedule/program/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "compiler/schedule/program/step_order.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

// What an arena may grow by for steps that run side by side: one in so many of its bytes.
constexpr std::int64_t kShareForBranches = 8;
constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();

struct Lifetime {
  StorageId storage = 0;
  std::size_t first = kForever;  // Steps.
  std::size_t last = 0;
  std::vector<std::size_t> steps;  // That use it.
  // It is a library's while it computes, which has other memory where products run side by side.
  bool is_workspace = false;
};

// Whether `other` may take the bytes of `one`.
bool EndsBefore(const Lifetime& one, const Lifetime& other, const StepOrder& order) {
  if (one.last >= other.first) return false;
  if (one.is_workspace || other.is_workspace) return true;
  if (other.first - one.last > StepOrder::kMost) return true;  // It is not asked for each step.
  return std::ranges::all_of(one.steps,
                             [&](std::size_t step) { return order.IsDone(step, other.first); });
}

bool AreApart(const Lifetime& a, const Lifetime& b, const StepOrder& order) {
  return EndsBefore(a, b, order) || EndsBefore(b, a, order);
}

// What a storage takes in an arena: whole alignment units, and what vector code may read beyond.
SymDim RoundedBytes(const SymDim& bytes) {
  const SymDim units = SymDim::CeilDiv(bytes + kBufferReadSlack, kBufferAlignment);
  return units * kBufferAlignment;
}

// What is used in a loop and outside of it stays for all trips, and so does the condition, which is
// read when the steps that compute it are done.
void StretchOverLoops(const Program& program, std::vector<Lifetime>& all) {
  for (const ProgramLoop& loop : program.loops) {  // Inner ones first.
    const std::size_t last = loop.end - 1;
    for (Lifetime& lifetime : all) {
      if (lifetime.first > last || lifetime.last < loop.begin) continue;
      const bool is_within = lifetime.first >= loop.begin && lifetime.last <= last;
      if (is_within && &lifetime != &all[loop.condition]) continue;
      lifetime.first = std::min(lifetime.first, loop.begin);
      lifetime.last = std::max(lifetime.last, last);
    }
  }
}

std::vector<Lifetime> LifetimesIn(const Program& program, BufferKind kind) {
  std::vector<Lifetime> all(program.storages.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    for (const StorageId id : step.buffers) {
      all[id].first = std::min(all[id].first, i);
      all[id].last = std::max(all[id].last, i);
      all[id].steps.push_back(i);
    }
    if (const auto* library = std::get_if<LibraryOp>(&step.work)) {
      all[step.buffers[library->matmul.workspace]].is_workspace = true;
    }
  }
  StretchOverLoops(program, all);
  std::vector<Lifetime> lifetimes;
  for (StorageId id = 0; id < all.size(); ++id) {
    if (program.storages[id].kind != kind || all[id].first == kForever) continue;
    all[id].storage = id;
    if (kind == BufferKind::kPrepared) {
      all[id].first = 0;
      all[id].last = kForever;
    }
    lifetimes.push_back(all[id]);
  }
  return lifetimes;
}

// Largest first, each at the lowest place where nothing lies at the same time. Returns their size.
std::int64_t PlaceConstant(const Program& program, const StepOrder& order,
                           std::vector<Lifetime> lifetimes, const SymDim& first,
                           std::vector<SymDim>& offsets) {
  struct Placed {
    const Lifetime* lifetime = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  const auto bytes_of = [&](const Lifetime& lifetime) {
    return RoundedBytes(program.storages[lifetime.storage].bytes).constant();
  };
  std::sort(lifetimes.begin(), lifetimes.end(), [&](const Lifetime& a, const Lifetime& b) {
    const std::int64_t x = bytes_of(a);
    const std::int64_t y = bytes_of(b);
    return x != y ? x > y : a.storage < b.storage;
  });
  std::vector<Placed> placed;  // By begin.
  std::int64_t size = 0;
  for (const Lifetime& lifetime : lifetimes) {
    const std::int64_t bytes = bytes_of(lifetime);
    std::int64_t begin = 0;
    for (const Placed& other : placed) {
      if (AreApart(*other.lifetime, lifetime, order)) continue;
      if (begin + bytes <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    offsets[lifetime.storage] = first + begin;
    const Placed entry{&lifetime, begin, begin + bytes};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        entry);
    size = std::max(size, entry.end);
  }
  return size;
}

// In order of their first use; only equal sizes share a place. Returns the end of all.
SymDim PlaceSymbolic(const Program& program, const StepOrder& order,
                     std::vector<Lifetime> lifetimes, SymDim total, std::vector<SymDim>& offsets) {
  struct Slot {
    SymDim bytes;
    SymDim begin;
    const Lifetime* last = nullptr;
  };
  std::vector<Slot> slots;
  std::sort(lifetimes.begin(), lifetimes.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.first != b.first ? a.first < b.first : a.storage < b.storage;
  });
  for (const Lifetime& lifetime : lifetimes) {
    const SymDim bytes = RoundedBytes(program.storages[lifetime.storage].bytes);
    const auto free = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) {
      return slot.bytes == bytes && EndsBefore(*slot.last, lifetime, order);
    });
    if (free != slots.end()) {
      offsets[lifetime.storage] = free->begin;
      free->last = &lifetime;
      continue;
    }
    offsets[lifetime.storage] = total;
    slots.push_back({bytes, total, &lifetime});
    total = total + bytes;
  }
  return total;
}

// The size of the arena; sets the offsets of its storages. Those with a halo take the first
// `zero_bytes`.
SymDim PlanArena(const Program& program, BufferKind kind, const StepOrder& order,
                 std::vector<SymDim>& offsets, SymDim& zero_bytes) {
  std::vector<Lifetime> constant;
  std::vector<Lifetime> symbolic;
  for (Lifetime& lifetime : LifetimesIn(program, kind)) {
    const Storage& storage = program.storages[lifetime.storage];
    if (storage.layout.HasHalo()) {
      offsets[lifetime.storage] = zero_bytes;
      zero_bytes = zero_bytes + RoundedBytes(storage.bytes);
      continue;
    }
    (storage.bytes.IsConstant() ? constant : symbolic).push_back(std::move(lifetime));
  }
  const std::int64_t size = PlaceConstant(program, order, std::move(constant), zero_bytes, offsets);
  return PlaceSymbolic(program, order, std::move(symbolic), zero_bytes + size, offsets);
}

MemoryPlan PlanInOrder(const Program& program, const StepOrder& order) {
  const StepOrder in_turn(program, 0);
  MemoryPlan plan;
  plan.offsets.resize(program.storages.size());
  SymDim prepared_zeros;
  SymDim prepare_arena_zeros;
  plan.arena_bytes =
      PlanArena(program, BufferKind::kArena, order, plan.offsets, plan.arena_zero_bytes);
  plan.prepared_bytes =
      PlanArena(program, BufferKind::kPrepared, in_turn, plan.offsets, prepared_zeros);
  plan.prepare_arena_bytes =
      PlanArena(program, BufferKind::kPrepareArena, in_turn, plan.offsets, prepare_arena_zeros);
  // Only the arena of calls has bytes that are known to be zero.
  STOKER_CHECK(prepared_zeros == SymDim(0) && prepare_arena_zeros == SymDim(0));
  return plan;
}

}  // namespace

MemoryPlan PlanMemory(const Program& program, std::size_t side_by_side) {
  MemoryPlan plan = PlanInOrder(program, StepOrder(program, 0));
  if (side_by_side == 0) return plan;
  MemoryPlan wide = PlanInOrder(program, StepOrder(program, side_by_side));
  if (wide.arena_bytes == plan.arena_bytes) return wide;
  if (!wide.arena_bytes.IsConstant() || !plan.arena_bytes.IsConstant()) return plan;
  const std::int64_t bytes = plan.arena_bytes.constant();
  return wide.arena_bytes.constant() <= bytes + bytes / kShareForBranches ? wide : plan;
}

}  // namespace stoker
