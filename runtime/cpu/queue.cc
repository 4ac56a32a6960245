#include "runtime/cpu/queue.h"

#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "protocol/artifact/kernel_abi.h"
#include "runtime/cpu/launch_list.h"
#include "runtime/cpu/threads/flush_mode.h"

namespace stoker::cpu {
namespace {

using Clock = std::chrono::steady_clock;

struct KernelCall {
  CpuKernelFn function;
  void* const* buffers;
  const std::int64_t* dims;
  std::byte* scratch;  // Of thread 0, its header first; those of the others follow.
  std::int64_t stride;
  FlushMode flush_mode;  // The caller's, which its workers compute in.
};

void RunChunk(const void* context, std::int64_t begin, std::int64_t end, ThreadPool::Share share) {
  const auto& call = *static_cast<const KernelCall*>(context);
  std::byte* const base = call.scratch + share.thread * call.stride;
  if (share.begins) {
    call.flush_mode.Enter();
    new (base) ScratchHeader{.threads = share.threads};
  }
  call.function(call.buffers, call.dims, begin, end, base + kScratchHeaderBytes);
}

// What lies in one piece of memory: the arena and what may be read past its end, scratch of each
// thread, addresses of one launch's operands.
struct WorkingMemory {
  WorkingMemory(const LaunchList& list, int threads)
      : scratch((list.arena().bytes + kBufferReadSlack + kBufferAlignment - 1) / kBufferAlignment *
                kBufferAlignment),
        table(scratch + threads * list.scratch_stride()),
        bytes(table + static_cast<std::int64_t>(list.max_operands() * sizeof(void*))) {}

  std::int64_t scratch;
  std::int64_t table;
  std::int64_t bytes;
};

bool Holds(std::span<std::byte* const> addresses, const LaunchList::Operand& condition) {
  return *(addresses[condition.address] + condition.offset) != std::byte{0};
}

class ListRun {
 public:
  ListRun(const LaunchList& list, std::span<std::byte* const> addresses, ThreadPool::Team& team,
          std::byte* memory, const WorkingMemory& layout)
      : list_(list),
        addresses_(addresses),
        team_(team),
        scratch_(memory + layout.scratch),
        table_(reinterpret_cast<void**>(memory + layout.table)) {}

  // Entries [first, last).
  void Range(std::size_t first, std::size_t last, std::vector<double>* seconds) {
    for (const LaunchList::Entry& entry : list_.entries().subspan(first, last - first)) {
      if (seconds == nullptr) {
        One(entry);
        continue;
      }
      const Clock::time_point start = Clock::now();
      One(entry);
      const auto at = static_cast<std::size_t>(&entry - list_.entries().data());
      (*seconds)[at] += std::chrono::duration<double>(Clock::now() - start).count();
    }
  }

 private:
  void One(const LaunchList::Entry& entry) {
    if (entry.tasks == 0) return;
    std::size_t i = 0;
    for (const LaunchList::Operand& operand : list_.OperandsOf(entry)) {
      table_[i++] = addresses_[operand.address] + operand.offset;
    }
    if (entry.chunks() <= 1) {
      new (scratch_) ScratchHeader;
      entry.function(table_, list_.DimsOf(entry), 0, entry.tasks, scratch_ + kScratchHeaderBytes);
      return;
    }
    const KernelCall call{entry.function,         table_,     list_.DimsOf(entry), scratch_,
                          list_.scratch_stride(), flush_mode_};
    team_.Run(entry.tasks, entry.grain, &call, RunChunk);
  }

  const LaunchList& list_;
  const std::span<std::byte* const> addresses_;
  ThreadPool::Team& team_;
  std::byte* const scratch_;
  void** const table_;
  const FlushMode flush_mode_ = FlushMode::OfThisThread();
};

}  // namespace

ThreadPool::Team Queue::Gather(std::int64_t pieces) const {
  return device_.threads_.Gather(ThreadsFor(pieces));
}

Status Queue::Run(const stoker::LaunchList& launches, std::span<std::byte*> addresses,
                  Pauses* pauses, std::vector<double>* seconds) {
  const auto& list = static_cast<const LaunchList&>(launches);
  STOKER_CHECK(pauses != nullptr || !list.calls_host());
  if (seconds != nullptr) seconds->assign(list.entries().size(), 0);
  const ArenaUse& use = list.arena();
  std::optional<ThreadPool::Team> team(Gather(list.max_chunks()));
  const WorkingMemory layout(list, team->threads());
  std::byte*& arena_address = addresses[list.arena_address()];
  if (use.kind == BufferKind::kPrepareArena) {
    // Once in the life of a binding: not worth keeping.
    STOKER_TRY(const Region memory, Region::Allocate(layout.bytes));
    arena_address = memory.data();
    const WithFlushMode whole(FlushMode{});
    ListRun(list, addresses, *team, memory.data(), layout).Range(0, list.entries().size(), seconds);
    return Ok();
  }
  STOKER_TRY(Arena arena, device_.arenas_.Take(layout.bytes));
  arena_address = arena.memory.data();
  if (arena.last_user != use.user) {
    std::memset(arena_address, 0, static_cast<std::size_t>(use.zero_bytes));
    arena.last_user = use.user;
  }
  Status status = Ok();
  if (list.marks().empty()) {
    ListRun(list, addresses, *team, arena_address, layout).Range(0, list.entries().size(), seconds);
  } else {
    status = RunMarked(list, addresses, arena_address, std::move(*team), pauses, seconds);
  }
  device_.arenas_.Return(std::move(arena));
  return status;
}

Status Queue::CopyOut(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from, bytes);
  return Ok();
}

Status Queue::RunMarked(const LaunchList& list, std::span<std::byte*> addresses, std::byte* memory,
                        ThreadPool::Team first_team, Pauses* pauses, std::vector<double>* seconds) {
  const int threads = first_team.threads();  // No more than there is scratch for.
  const WorkingMemory layout(list, threads);
  std::optional<ThreadPool::Team> team(std::move(first_team));
  std::optional<ListRun> run;
  std::size_t done = 0;  // Entries.
  for (std::size_t next = 0;; ++next) {
    const bool is_last = next == list.marks().size();
    const std::size_t end = is_last ? list.entries().size() : list.marks()[next].entries_before;
    if (done < end) {
      if (!team) team.emplace(device_.threads_.Gather(threads));
      if (!run) run.emplace(list, addresses, *team, memory, layout);
      run->Range(done, end, seconds);
      done = end;
    }
    if (is_last) return Ok();
    const LaunchList::Mark& mark = list.marks()[next];
    switch (mark.kind) {
      case PlanMark::Kind::kBegin:
        continue;
      case PlanMark::Kind::kHostCall:
        run.reset();
        team.reset();
        STOKER_RETURN_IF_ERROR(pauses->At(mark.number, addresses));
        continue;
      case PlanMark::Kind::kTest:
        if (Holds(addresses, mark.condition)) continue;
        break;
      case PlanMark::Kind::kRepeat:
        break;
    }
    next = mark.number;
    done = list.marks()[next].entries_before;
  }
}

}  // namespace stoker::cpu
