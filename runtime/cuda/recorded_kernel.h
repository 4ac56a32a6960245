// RecordedKernel: the one kernel that a library gives a stream for a call. A library decides anew
// in each call what it launches, and makes its parameters anew; with the same addresses it is the
// same.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "protocol/base/result.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/queue.h"

namespace stoker::cuda {

// Thread-safe. The context is current where it is made and given.
class RecordedKernel final : public Recording {
 public:
  // What a call gives to the stream.
  using GiveFn = std::function<Status(CuStream stream)>;

  // What `give` gives to `stream`, which nobody else uses; null where that is not one kernel, or
  // one that a launch cannot be made of again, where it fails, or where the driver, before CUDA 12,
  // does not tell. Nothing of it is done.
  static std::shared_ptr<const RecordedKernel> Of(std::shared_ptr<const Context> context,
                                                  CuStream stream, const GiveFn& give);
  ~RecordedKernel() override;
  RecordedKernel(const RecordedKernel&) = delete;
  RecordedKernel& operator=(const RecordedKernel&) = delete;

  Status GiveTo(CuStream stream) const;

 private:
  explicit RecordedKernel(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  // False where it cannot be launched again.
  bool TakeApart();
  bool TakeAttributes(CuGraphNode node);

  const std::shared_ptr<const Context> context_;
  CuGraph graph_ = nullptr;  // The parameters lie in it.
  CuKernelNode kernel_{};
  std::vector<CuLaunchAttribute> attributes_;
};

// Thread-safe. Of one device.
class Recorder {
 public:
  explicit Recorder(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // RecordedKernel::Of, on a stream of its own. The context is current.
  std::shared_ptr<const RecordedKernel> Record(const RecordedKernel::GiveFn& give);

 private:
  const std::shared_ptr<const Context> context_;
  std::mutex mutex_;
  CuStream stream_ = nullptr;  // Guarded by it; made when something is first recorded.
};

// Which kernel one call of a library is, at the addresses of its last runs. Thread-safe.
class RecordedCall {
 public:
  static constexpr std::size_t kMostAddresses = 6;
  using Addresses = std::array<const std::byte*, kMostAddresses>;

  // Of what record() gives, null is for good, nothing is for now.
  using RecordFn = std::function<std::optional<std::shared_ptr<const RecordedKernel>>()>;

  // The kernel at these addresses; null: it is not known. record() is called after runs there in
  // which the library may have had things to load.
  std::shared_ptr<const RecordedKernel> At(const Addresses& addresses, const RecordFn& record);

 private:
  static constexpr int kRunsBefore = 2;
  static constexpr std::size_t kMostPlaces = 4;
  struct Place {
    Addresses addresses{};
    int runs = 0;
    std::optional<std::shared_ptr<const RecordedKernel>> kernel;
  };

  std::mutex mutex_;
  std::array<Place, kMostPlaces> places_;  // Guarded by it, as next_.
  std::size_t next_ = 0;                   // The place that new addresses take.
};

}  // namespace stoker::cuda
