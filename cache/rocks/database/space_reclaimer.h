// SpaceReclaimer: one thread that runs the compaction which turns deleted blobs into free disk
// space, once enough has been deleted to be worth it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace stoker {

class SpaceReclaimer {
 public:
  // `compact` should return soon after its argument becomes true. It says whether the space of what
  // was deleted before it began is given back.
  SpaceReclaimer(std::uint64_t threshold_bytes,
                 std::function<bool(std::atomic<bool>& canceled)> compact);
  ~SpaceReclaimer();
  SpaceReclaimer(const SpaceReclaimer&) = delete;
  SpaceReclaimer& operator=(const SpaceReclaimer&) = delete;

  // So many bytes were deleted since the last call.
  void AddGarbage(std::uint64_t bytes);
  // Compacts soon, however little was deleted.
  void Request();
  // Bytes that were deleted and whose space is not given back.
  std::uint64_t owed_bytes() const;

 private:
  void Run();

  const std::uint64_t threshold_bytes_;
  const std::function<bool(std::atomic<bool>&)> compact_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::uint64_t garbage_bytes_ = 0;  // Since the last compaction began.
  std::uint64_t owed_bytes_ = 0;
  bool requested_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace stoker
