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
  // `compact` should return soon after its argument becomes true.
  SpaceReclaimer(std::uint64_t threshold_bytes,
                 std::function<void(std::atomic<bool>& canceled)> compact);
  ~SpaceReclaimer();
  SpaceReclaimer(const SpaceReclaimer&) = delete;
  SpaceReclaimer& operator=(const SpaceReclaimer&) = delete;

  // So many bytes were deleted since the last call.
  void AddGarbage(std::uint64_t bytes);
  // Compacts soon, however little was deleted.
  void Request();

 private:
  void Run();

  const std::uint64_t threshold_bytes_;
  const std::function<void(std::atomic<bool>&)> compact_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::uint64_t garbage_bytes_ = 0;
  bool requested_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace stoker
