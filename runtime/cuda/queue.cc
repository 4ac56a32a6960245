#include "runtime/cuda/queue.h"

#include <string>
#include <utility>

#include "runtime/cuda/launch_list.h"

namespace stoker::cuda {
namespace {

CuPointer PointerOf(const std::byte* address) {
  return static_cast<CuPointer>(reinterpret_cast<std::uintptr_t>(address));
}

// What is given of one entry of a list.
struct Giving {
  const Context& context;
  CuStream stream;
  const LaunchList& list;
  const LaunchList::Entry& entry;
  std::span<std::byte* const> addresses;
};

// The parameters of one launch, where the driver reads them.
class Parameters {
 public:
  explicit Parameters(std::size_t most) : values_(most), pointers_(most) {
    for (std::size_t i = 0; i < most; ++i) pointers_[i] = &values_[i];
  }

  void** Fill(const Giving& giving) {
    std::size_t i = 0;
    for (const LaunchList::Operand& operand : giving.list.OperandsOf(giving.entry)) {
      values_[i++] =
          PointerOf(giving.addresses[operand.address]) + static_cast<std::uint64_t>(operand.offset);
    }
    for (const std::int64_t dim : giving.list.DimsOf(giving.entry)) {
      values_[i++] = static_cast<std::uint64_t>(dim);
    }
    return pointers_.data();
  }

 private:
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
};

Status Launch(const Giving& giving, Parameters& parameters) {
  const LaunchList::Entry& entry = giving.entry;
  const int result =
      giving.context.api().launch(entry.function, entry.blocks, 1, 1, entry.threads, 1, 1, 0,
                                  giving.stream, parameters.Fill(giving), nullptr);
  if (result == kCuSuccess) return Ok();  // No text is made.
  return giving.context.Check(result, "Launch of " + std::to_string(entry.blocks) + " blocks of " +
                                          std::to_string(entry.threads) + " threads");
}

Status Multiply(const Giving& giving) {
  const LaunchList::MatmulUse& use = giving.list.MatmulOf(giving.entry);
  const auto operands = giving.list.OperandsOf(giving.entry);
  std::size_t next = 0;
  const auto address = [&] {
    const LaunchList::Operand& operand = operands[next++];
    return giving.addresses[operand.address] + operand.offset;
  };
  LtMatmul::Operands at;
  at.a = address();
  at.b = address();
  at.d = address();
  at.workspace = address();
  if (use.has_c) at.c = address();
  if (use.has_bias) at.bias = address();
  return use.matmul->Run(at, use.alpha, use.beta, giving.stream);
}

Status Give(const Giving& giving, Parameters& parameters) {
  if (giving.entry.blocks == 0) return Ok();
  return giving.entry.matmul == LaunchList::kNoMatmul ? Launch(giving, parameters)
                                                      : Multiply(giving);
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
  STOKER_CHECK(list.pauses().empty() || pauses != nullptr);
  const ArenaUse& use = list.arena();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  if (use.bytes == 0) return RunLaunches(list, addresses, pauses, seconds);
  const std::shared_ptr<const CallMemory> memory = device_.call_memory();
  STOKER_TRY(const CuPointer arena, memory->Take(static_cast<std::size_t>(use.bytes), stream_));
  auto* const start = reinterpret_cast<std::byte*>(arena);
  addresses[list.arena_address()] = start;
  Status status = Fill(start, 0, static_cast<std::size_t>(use.zero_bytes));
  if (status.ok()) status = RunLaunches(list, addresses, pauses, seconds);
  const Status given_back = memory->GiveBack(arena, stream_);
  return status.ok() ? given_back : status;
}

Status Queue::RunLaunches(const LaunchList& list, std::span<std::byte* const> addresses,
                          Pauses* pauses, std::vector<double>* seconds) {
  std::vector<std::unique_ptr<Mark>> marks;
  const auto mark = [&]() -> Status {
    if (seconds == nullptr) return Ok();
    STOKER_TRY(auto here, MarkHere());
    marks.push_back(std::move(here));
    return Ok();
  };
  std::size_t pause = 0;
  const auto pause_after = [&](std::size_t done) -> Status {
    for (; pause < list.pauses().size() && list.pauses()[pause] == done; ++pause) {
      STOKER_RETURN_IF_ERROR(pauses->At(pause, addresses));
    }
    return Ok();
  };
  Parameters parameters(list.max_parameters());
  for (std::size_t i = 0; i < list.entries().size(); ++i) {
    const LaunchList::Entry& entry = list.entries()[i];
    STOKER_RETURN_IF_ERROR(pause_after(i));
    STOKER_RETURN_IF_ERROR(mark());
    STOKER_RETURN_IF_ERROR(Give({*context_, stream_, list, entry, addresses}, parameters));
    STOKER_RETURN_IF_ERROR(mark());
  }
  STOKER_RETURN_IF_ERROR(pause_after(list.entries().size()));
  if (seconds == nullptr) return Ok();
  STOKER_RETURN_IF_ERROR(Wait());
  for (std::size_t i = 0; i + 1 < marks.size(); i += 2) {  // Before and after each launch.
    STOKER_TRY(const double took, SecondsBetween(*marks[i], *marks[i + 1]));
    seconds->push_back(took);
  }
  return Ok();
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
