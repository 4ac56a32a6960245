// PreparedStore: prepared memory in files of this host. A process that starts again with weights
// that an earlier one has packed maps what that one packed.
//
// A file is named by what was done to which contents, never by a path or a model's name. It is
// mapped read-only: processes share its pages. It is written in the background, under another name
// until it is whole, and ends with a checksum that is looked at before each use; a damaged file is
// deleted, and the weights are packed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/base/digest.h"
#include "runtime/cpu/background_thread.h"
#include "runtime/prepared_store.h"

namespace stoker::cpu {

enum class PreparedOutcome {
  kFound,  // In a file.
  kMade,   // There was no whole file: packed, to be kept in one.
};

// In a child of a fork it finds and keeps nothing.
class PreparedStore final : public stoker::PreparedStore {
 public:
  struct Options {
    std::string folder;          // Made at the first Keep, readable by its user alone.
    std::int64_t max_bytes = 0;  // Of all files; the least recently used go first.
    std::int64_t min_bytes = std::int64_t{16} << 20;  // Less is packed faster than it is found.
  };

  // Called in the background, so that it may take its time, once for each memory that was found or
  // is to be kept. Not called when a Flush has run out of time.
  using OnOutcome = std::function<void(PreparedOutcome)>;

  // Its end waits for what is being written.
  explicit PreparedStore(Options options, OnOutcome on_outcome = nullptr);

  // False also where the folder lies on a network, whose failures would end the process that has a
  // file mapped.
  bool Takes(std::int64_t bytes) const override;

  const Options& options() const { return options_; }
  // Of all its files, now.
  std::int64_t BytesKept() const;

  // Moves what it finds to huge pages in the background: a start need not wait for them, and later
  // calls are faster with them.
  std::optional<DeviceMemory> Find(const Digest& key, std::int64_t bytes,
                                   stoker::Queue& queue) override;

  // Writes it in the background if the disk has room.
  void Keep(const Digest& key, DeviceMemory memory) override;

  // Waits until everything is written; what is not by then is given up, and so is moving.
  void Flush(std::chrono::milliseconds timeout);

 private:
  struct Entry {
    std::filesystem::file_time_type used;
    std::int64_t bytes;
    std::filesystem::path path;
  };

  void Tell(PreparedOutcome outcome);
  bool Write(const Digest& key, const DeviceMemory& memory);
  std::vector<Entry> Entries() const;
  void Evict() const;
  std::string PathOf(const Digest& key) const;

  const Options options_;
  const OnOutcome on_outcome_;  // May be null.
  const bool is_local_;
  std::atomic<bool> gives_up_{false};
  BackgroundThread background_;  // Last: its tasks use what stands before it.
};

}  // namespace stoker::cpu
