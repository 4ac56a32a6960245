// Device: where executables run, and what those of a process share there: loaded kernels,
// constants, prepared parameters.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/artifact/sized_plan.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"
#include "runtime/content_watch.h"
#include "runtime/device_memory.h"
#include "runtime/prepared.h"
#include "runtime/queue.h"
#include "runtime/weak_cache.h"

namespace stoker {

// Gives the bytes of a blob; called only for blobs that are not loaded yet.
using BlobSource = std::function<Result<std::string>(const Digest& blob)>;

// One compiled function in a form that the device can run.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

// The memory that launches work in.
struct ArenaUse {
  BufferKind kind = BufferKind::kArena;  // Of a call, or kPrepareArena.
  std::int64_t bytes = 0;
  // The first of them are zero before the list's first run; after that what its own launches made
  // of them.
  std::int64_t zero_bytes = 0;
  std::uint64_t user = 0;  // No other list has this number but those of prepare, which have 0.
};

// Thread-safe. Must outlive the executables and bindings made on it. A process needs one of a kind.
class Device {
 public:
  virtual ~Device() = default;

  const Target& target() const { return target_; }  // What it can run.
  // Digests of the kernel blobs that are loaded, sorted: what need not be sent again.
  std::vector<Digest> LoadedKernels() const { return kernels_.Keys(); }

  // What executables ask for.

  // DataLoss, naming `blob`, when the bytes are not what it names or no kernel of this device.
  virtual Result<std::shared_ptr<const LoadedKernel>> LoadKernel(const Digest& blob,
                                                                 std::string_view bytes) = 0;
  // 64-byte aligned and uninitialized. ResourceExhausted when there is no memory left.
  virtual Result<DeviceMemory> Allocate(std::int64_t bytes) = 0;
  virtual Result<DeviceMemory> AllocateWith(std::string_view contents) = 0;
  // FailedPrecondition, naming the library and where it was sought, where the device has none.
  virtual Status LoadLibrary(Library library) = 0;
  // Takes the time ahead that the first call of each library takes longer. Fails as LoadLibrary.
  virtual Status WarmUp() = 0;
  // `marks`: of the plan that the launches are of. `kernels`: by their number in the launches; they
  // must outlive the list. What a library cannot do is Unimplemented, and so are loops where the
  // device runs none.
  virtual Result<std::unique_ptr<const LaunchList>> Ready(
      std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
      const AddressLayout& layout,
      std::span<const std::shared_ptr<const LoadedKernel>> kernels) = 0;
  // What `give` gives to the stream that it is given, which is done when the recording is given to
  // a queue, and not before; null where that is more than one kernel, where `give` fails, or where
  // the device records nothing.
  virtual std::shared_ptr<const Recording> Record(const std::function<Status(void* stream)>&) {
    return nullptr;
  }
  // Whether it can watch. Where it cannot, a write that changes no version is not noticed.
  virtual bool watches() const = 0;
  // Over regions of this device's memory, as they are when all that is in the queue is done. Of a
  // device that watches.
  virtual std::unique_ptr<ContentWatch> Watch(std::span<const Bytes> regions, Queue& queue) = 0;

 protected:
  explicit Device(Target target) : target_(std::move(target)) {}

 private:
  friend class Executable;

  const Target target_;
  WeakCache<LoadedKernel> kernels_;    // By blob digest.
  WeakCache<DeviceMemory> constants_;  // By blob digest.
  WeakCache<Prepared> prepared_;       // By PreparedKey.
};

}  // namespace stoker
