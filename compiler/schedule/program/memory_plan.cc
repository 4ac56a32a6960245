#include "compiler/schedule/program/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "protocol/artifact/kernel_abi.h"

namespace stoker {
namespace {

constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();

struct Lifetime {
  StorageId storage = 0;
  std::size_t first = kForever;  // Steps.
  std::size_t last = 0;
  bool Overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

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
    for (const StorageId id : program.steps[i].buffers) {
      all[id].first = std::min(all[id].first, i);
      all[id].last = std::max(all[id].last, i);
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
std::int64_t PlaceConstant(const Program& program, std::vector<Lifetime> lifetimes,
                           const SymDim& first, std::vector<SymDim>& offsets) {
  struct Placed {
    Lifetime lifetime;
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
      if (!other.lifetime.Overlaps(lifetime)) continue;
      if (begin + bytes <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    offsets[lifetime.storage] = first + begin;
    const Placed entry{lifetime, begin, begin + bytes};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        entry);
    size = std::max(size, entry.end);
  }
  return size;
}

// In order of their first use; only equal sizes share a place. Returns the end of all.
SymDim PlaceSymbolic(const Program& program, std::vector<Lifetime> lifetimes, SymDim total,
                     std::vector<SymDim>& offsets) {
  struct Slot {
    SymDim bytes;
    SymDim begin;
    std::size_t last = 0;
  };
  std::vector<Slot> slots;
  std::sort(lifetimes.begin(), lifetimes.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.first != b.first ? a.first < b.first : a.storage < b.storage;
  });
  for (const Lifetime& lifetime : lifetimes) {
    const SymDim bytes = RoundedBytes(program.storages[lifetime.storage].bytes);
    const auto free = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) {
      return slot.last < lifetime.first && slot.bytes == bytes;
    });
    if (free != slots.end()) {
      offsets[lifetime.storage] = free->begin;
      free->last = lifetime.last;
      continue;
    }
    offsets[lifetime.storage] = total;
    slots.push_back({bytes, total, lifetime.last});
    total = total + bytes;
  }
  return total;
}

// The size of the arena; sets the offsets of its storages. Those with a halo take the first
// `zero_bytes`.
SymDim PlanArena(const Program& program, BufferKind kind, std::vector<SymDim>& offsets,
                 SymDim& zero_bytes) {
  std::vector<Lifetime> constant;
  std::vector<Lifetime> symbolic;
  for (const Lifetime& lifetime : LifetimesIn(program, kind)) {
    const Storage& storage = program.storages[lifetime.storage];
    if (storage.layout.HasHalo()) {
      offsets[lifetime.storage] = zero_bytes;
      zero_bytes = zero_bytes + RoundedBytes(storage.bytes);
      continue;
    }
    (storage.bytes.IsConstant() ? constant : symbolic).push_back(lifetime);
  }
  const std::int64_t size = PlaceConstant(program, std::move(constant), zero_bytes, offsets);
  return PlaceSymbolic(program, std::move(symbolic), zero_bytes + size, offsets);
}

}  // namespace

MemoryPlan PlanMemory(const Program& program) {
  MemoryPlan plan;
  plan.offsets.resize(program.storages.size());
  SymDim prepared_zeros;
  SymDim prepare_arena_zeros;
  plan.arena_bytes = PlanArena(program, BufferKind::kArena, plan.offsets, plan.arena_zero_bytes);
  plan.prepared_bytes = PlanArena(program, BufferKind::kPrepared, plan.offsets, prepared_zeros);
  plan.prepare_arena_bytes =
      PlanArena(program, BufferKind::kPrepareArena, plan.offsets, prepare_arena_zeros);
  // Only the arena of calls has bytes that are known to be zero.
  STOKER_CHECK(prepared_zeros == SymDim(0) && prepare_arena_zeros == SymDim(0));
  return plan;
}

}  // namespace stoker
