#include "runtime/cuda/queue.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/cuda/branched_run.h"
#include "runtime/cuda/giving.h"
#include "runtime/cuda/launch_list.h"

namespace stoker::cuda {
namespace {

CuPointer PointerOf(const std::byte* address) {
  return static_cast<CuPointer>(reinterpret_cast<std::uintptr_t>(address));
}

// Of launches: inputs may have been written, so this is no matter of what the call asked for.
Status Begun(Status status) {
  if (status.ok() || status.error().code != ErrorCode::kResourceExhausted) return status;
  return Internal(status.error().message);
}

}  // namespace

Result<std::unique_ptr<Queue>> Queue::Create(const Device& device) {
  const Context& context = *device.context();
  STOKER_TRY(const Context::Current current, context.MakeCurrent());
  CuStream stream = nullptr;
  STOKER_RETURN_IF_ERROR(
      context.Check(context.api().create_stream(&stream, kCuStreamNonBlocking), "cuStreamCreate"));
  auto queue = std::make_unique<Queue>(device, stream);
  queue->owns_stream_ = true;
  return queue;
}

Queue::Queue(const Device& device, void* stream)
    : device_(device), context_(device.context()), stream_(static_cast<CuStream>(stream)) {}

Queue::~Queue() {
  if (!owns_stream_) return;
  if (const auto current = context_->MakeCurrent(); current.ok())
    context_->api().destroy_stream(stream_);
}

Status Queue::Run(const stoker::LaunchList& launches, std::span<std::byte*> addresses,
                  Pauses* pauses, std::vector<double>* seconds) {
  const auto& list = static_cast<const LaunchList&>(launches);
  STOKER_CHECK(!list.has_pauses() || pauses != nullptr);
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  // Outside of a graph events that join streams would cost the caller more than they gain.
  std::optional<BranchedRun> branched;
  const bool has_turns = pauses != nullptr && pauses->has_turns();
  if (seconds == nullptr && !has_turns)
    branched = BranchedRun::Of(*context_, stream_, list, addresses);
  const ArenaUse& use = list.arena();
  const auto own_bytes = static_cast<std::size_t>(use.bytes);
  const std::size_t bytes = own_bytes + (branched ? branched->workspace_bytes() : 0);
  if (bytes == 0) return Begun(RunLaunches(list, addresses, pauses, seconds));
  const std::shared_ptr<const CallMemory> memory = device_.call_memory();
  STOKER_TRY(const CuPointer arena, memory->Take(bytes, stream_));
  auto* const start = reinterpret_cast<std::byte*>(arena);
  addresses[list.arena_address()] = start;
  Status status = Fill(start, 0, static_cast<std::size_t>(use.zero_bytes));
  if (status.ok()) {
    status = Begun(branched ? branched->Run(addresses, start + own_bytes, pauses)
                            : RunLaunches(list, addresses, pauses, seconds));
  }
  const Status given_back = memory->GiveBack(arena, stream_);
  return status.ok() ? given_back : status;
}

Status Queue::RunLaunches(const LaunchList& list, std::span<std::byte*> addresses, Pauses* pauses,
                          std::vector<double>* seconds) {
  std::vector<std::unique_ptr<Mark>> marks;
  const auto mark = [&]() -> Status {
    if (seconds == nullptr) return Ok();
    STOKER_TRY(auto here, MarkHere());
    marks.push_back(std::move(here));
    return Ok();
  };
  const bool has_turns = pauses != nullptr && pauses->has_turns();
  std::size_t step = 0;
  const auto turn = [&] { return has_turns ? pauses->Before(step++, addresses) : Ok(); };
  Giving giving(*context_, &device_.recorder(), stream_, list, addresses);
  STOKER_RETURN_IF_ERROR(list.Walk(
      [&](const LaunchList::Entry& entry) -> Status {
        STOKER_RETURN_IF_ERROR(turn());
        STOKER_RETURN_IF_ERROR(mark());
        STOKER_RETURN_IF_ERROR(giving.Give(entry));
        return mark();
      },
      [&](std::size_t pause) -> Status {
        STOKER_RETURN_IF_ERROR(turn());
        return pauses->At(pause, addresses);
      }));
  if (seconds == nullptr) return Ok();
  STOKER_RETURN_IF_ERROR(Wait());
  for (std::size_t i = 0; i + 1 < marks.size(); i += 2) {  // Before and after each launch.
    STOKER_TRY(const double took, SecondsBetween(*marks[i], *marks[i + 1]));
    seconds->push_back(took);
  }
  return Ok();
}

Status Queue::Give(const Recording& recording) {
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return static_cast<const RecordedKernel&>(recording).GiveTo(stream_);
}

Status Queue::Wait() {
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return context_->Check(context_->api().wait_stream(stream_), "cuStreamSynchronize");
}

Status Queue::CopyIn(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return Ok();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return context_->Check(context_->api().copy_in(PointerOf(to), from, bytes, stream_),
                         "Copy of " + std::to_string(bytes) + " bytes to the GPU");
}

Status Queue::CopyOut(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return Ok();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return context_->Check(context_->api().copy_out(to, PointerOf(from), bytes, stream_),
                         "Copy of " + std::to_string(bytes) + " bytes from the GPU");
}

Status Queue::Copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return Ok();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return context_->Check(context_->api().copy(PointerOf(to), PointerOf(from), bytes, stream_),
                         "Copy of " + std::to_string(bytes) + " bytes on the GPU");
}

Status Queue::Fill(std::byte* to, std::uint8_t byte, std::size_t bytes) {
  if (bytes == 0) return Ok();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  return context_->Check(context_->api().fill(PointerOf(to), byte, bytes, stream_),
                         "Fill of " + std::to_string(bytes) + " bytes");
}

Queue::Mark::~Mark() {
  if (const auto current = context_->MakeCurrent(); current.ok())
    context_->api().destroy_event(event_);
}

Result<std::unique_ptr<Queue::Mark>> Queue::MarkHere() {
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  CuEvent event = nullptr;
  STOKER_RETURN_IF_ERROR(
      context_->Check(context_->api().create_event(&event, kCuEventDefault), "cuEventCreate"));
  auto mark = std::make_unique<Mark>(context_, event);
  STOKER_RETURN_IF_ERROR(
      context_->Check(context_->api().record_event(event, stream_), "cuEventRecord"));
  return mark;
}

Result<double> Queue::SecondsBetween(const Mark& from, const Mark& to) const {
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  float ms = 0;
  STOKER_RETURN_IF_ERROR(context_->Check(context_->api().elapsed_ms(&ms, from.event_, to.event_),
                                         "cuEventElapsedTime"));
  return static_cast<double>(ms) * 1e-3;
}

}  // namespace stoker::cuda
