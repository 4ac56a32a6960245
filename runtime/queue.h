// Queue: where the work of one caller goes, in order. Device and Queue are what a kind of processor
// has to offer to run artifacts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"

namespace stoker {

// Numbers what a BufferRef can name: the three arenas, then inputs, outputs and constants.
class AddressLayout {
 public:
  AddressLayout(std::size_t inputs, std::size_t outputs, std::size_t constants)
      : output_base_(3 + inputs),
        constant_base_(output_base_ + outputs),
        size_(constant_base_ + constants) {}

  std::size_t size() const { return size_; }
  std::size_t IndexOf(BufferKind kind, std::uint32_t index = 0) const {
    switch (kind) {
      case BufferKind::kArena:
        return 0;
      case BufferKind::kPrepared:
        return 1;
      case BufferKind::kPrepareArena:
        return 2;
      case BufferKind::kInput:
        return 3 + index;
      case BufferKind::kOutput:
        return output_base_ + index;
      case BufferKind::kConstant:
        break;
    }
    return constant_base_ + index;
  }

 private:
  std::size_t output_base_;
  std::size_t constant_base_;
  std::size_t size_;
};

// What Device::Ready made of launches. Immutable.
class LaunchList {
 public:
  virtual ~LaunchList() = default;
};

// What happens between the launches of a list, beside them.
class Pauses {
 public:
  virtual ~Pauses() = default;

  // Host call number `pause`: in the queue's order all launches before it come before what happens
  // here, and none after it. Where work is done when it is given to the queue, they are done. What
  // is put into a GPU's stream here is in that order. `addresses` are those of the run, that of the
  // arena among them. On the thread that called Run.
  virtual Status At(std::size_t pause, std::span<std::byte* const> addresses) = 0;

  // Whether Before is to be called: of a queue that takes turns.
  virtual bool has_turns() const { return false; }
  // Before the launch or pause number `step`, counted over both: from here on what lies at
  // `addresses` may be somewhere else.
  virtual Status Before(std::size_t /*step*/, std::span<std::byte*> /*addresses*/) { return Ok(); }
};

// What Device::Record has seen: what a library gives its device, with all of its parameters.
class Recording {
 public:
  virtual ~Recording() = default;
};

// Not thread-safe. Takes the lists, and the memory, of its own device alone.
class Queue {
 public:
  virtual ~Queue() = default;

  // Runs the launches as if in order, and after all that was given to this queue before.
  // `addresses`: one for each number of the layout that the list was made with; the queue fills in
  // that of the list's arena. They have been read when Run returns; what lies there is in use until
  // the queue has come so far. `pauses`: runs the host calls of the list; null where it has none.
  // The first that fails ends the run. When `seconds` is given, it receives the duration of each
  // launch, all its trips together, and Run has waited.
  virtual Status Run(const LaunchList& launches, std::span<std::byte*> addresses, Pauses* pauses,
                     std::vector<double>* seconds) = 0;

  // Whether addresses may change while it runs a list: see Pauses::Before.
  virtual bool takes_turns() const { return false; }

  // Of its device. In order with what else is given to it.
  virtual Status Give(const Recording&) { return Unimplemented("This device records nothing."); }

  // Until everything is done that was given to it.
  virtual Status Wait() = 0;

  // In order with what else is given to it. `to` and `from` are addresses of the device, but those
  // of CopyIn's source and CopyOut's destination, which are the processor's and must stay as they
  // are until the queue has come so far.
  virtual Status Copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Status CopyIn(std::byte* to, const void* from, std::size_t bytes) = 0;
  virtual Status CopyOut(void* to, const std::byte* from, std::size_t bytes) = 0;
};

}  // namespace stoker
