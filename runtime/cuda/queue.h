// Queue: a stream of a GPU. What is given to it runs later, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/launch_list.h"
#include "runtime/queue.h"

namespace stoker::cuda {

class Queue final : public stoker::Queue {
 public:
  // On a stream of its own.
  static Result<std::unique_ptr<Queue>> Create(const Device& device);
  // On the caller's, which must outlive it: a CUstream or cudaStream_t of the device's primary
  // context.
  Queue(const Device& device, void* stream);
  // What was given to it still runs.
  ~Queue() override;

  // The arena is the run's own, of the device's CallMemory. Nothing is waited for: what happens at
  // a pause is in order with the launches if it goes to the same stream.
  Status Run(const stoker::LaunchList& launches, std::span<std::byte*> addresses, Pauses* pauses,
             std::vector<double>* seconds) override;
  bool takes_turns() const override { return true; }
  Status Give(const Recording& recording) override;
  Status Wait() override;

  Status CopyIn(std::byte* to, const void* from, std::size_t bytes) override;
  Status CopyOut(void* to, const std::byte* from, std::size_t bytes) override;
  Status Copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  Status Fill(std::byte* to, std::uint8_t byte, std::size_t bytes);

  // A mark in the queue, and the time between two of them once Wait has returned.
  class Mark {
   public:
    Mark(std::shared_ptr<const Context> context, CuEvent event)
        : context_(std::move(context)), event_(event) {}
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    friend class Queue;
    const std::shared_ptr<const Context> context_;
    const CuEvent event_;
  };
  Result<std::unique_ptr<Mark>> MarkHere();
  Result<double> SecondsBetween(const Mark& from, const Mark& to) const;

 private:
  Status RunLaunches(const LaunchList& list, std::span<std::byte*> addresses, Pauses* pauses,
                     std::vector<double>* seconds);

  const Device& device_;
  const std::shared_ptr<const Context> context_;
  CuStream stream_ = nullptr;
  bool owns_stream_ = false;
};

}  // namespace stoker::cuda
