// A RocksDB file system over the real one that can be full, and that can lose its power.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace stoker {

class FaultFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FaultFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultFileSystem"; }

  // Every write fails with "no space" while true.
  void SetFull(bool full) { full_ = full; }
  // Every write fails with an I/O error while true.
  void SetBroken(bool broken) { broken_ = broken; }
  // While false, no table and no blob file is written: neither flush nor compaction succeeds.
  void SetCompactable(bool compactable) { compactable_ = compactable; }
  // What the disk says it has left.
  void SetFreeBytes(std::uint64_t bytes) { free_bytes_ = bytes; }

  // From now on nothing reaches the disk. Close the database, then call DropUnsynced().
  void CutPower() { power_ = false; }
  // Cuts every file back to what was synced: what a machine finds after a power failure, on a file
  // system that keeps the names of synced files.
  void DropUnsynced() {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, synced_bytes] : synced_bytes_) {
      std::error_code gone;
      if (std::filesystem::file_size(name, gone) > synced_bytes && !gone) {
        std::filesystem::resize_file(name, synced_bytes);
      }
    }
    synced_bytes_.clear();
    power_ = true;
  }

  rocksdb::IOStatus CheckWrite() const {
    if (!power_) return rocksdb::IOStatus::IOError("the power is off");
    if (full_) return rocksdb::IOStatus::NoSpace("the disk is full");
    if (broken_) return rocksdb::IOStatus::IOError("the disk is broken");
    return rocksdb::IOStatus::OK();
  }
  void Created(const std::string& name) {
    const std::lock_guard lock(mutex_);
    synced_bytes_[name] = 0;
  }
  void Synced(const std::string& name, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    synced_bytes_[name] = bytes;
  }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    if (!power_) return CheckWrite();
    {
      const std::lock_guard lock(mutex_);
      const auto found = synced_bytes_.find(from);
      if (found != synced_bytes_.end()) {
        synced_bytes_[to] = found->second;
        synced_bytes_.erase(found);
      }
    }
    return target()->RenameFile(from, to, options, dbg);
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    if (!power_) return CheckWrite();
    return target()->DeleteFile(name, options, dbg);
  }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 std::uint64_t* free_bytes, rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus status = target()->GetFreeSpace(path, options, free_bytes, dbg);
    *free_bytes = std::min<std::uint64_t>(*free_bytes, free_bytes_);
    return status;
  }

 private:
  std::atomic<bool> full_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> compactable_ = true;
  std::atomic<bool> power_ = true;
  std::atomic<std::uint64_t> free_bytes_ = ~std::uint64_t{0};
  std::mutex mutex_;  // Guards what follows.
  std::map<std::string, std::uint64_t> synced_bytes_;
};

class FaultFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultFile(FaultFileSystem& system, std::string name,
            std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system), name_(std::move(name)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
    if (rocksdb::IOStatus status = system_.CheckWrite(); !status.ok()) return status;
    bytes_ += data.size();
    return FSWritableFileOwnerWrapper::Append(data, options, dbg);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* dbg) override {
    if (rocksdb::IOStatus status = system_.CheckWrite(); !status.ok()) return status;
    bytes_ += data.size();
    return FSWritableFileOwnerWrapper::Append(data, options, verification, dbg);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    if (rocksdb::IOStatus status = system_.CheckWrite(); !status.ok()) return status;
    system_.Synced(name_, bytes_);
    return FSWritableFileOwnerWrapper::Sync(options, dbg);
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* dbg) override {
    if (rocksdb::IOStatus status = system_.CheckWrite(); !status.ok()) return status;
    system_.Synced(name_, bytes_);
    return FSWritableFileOwnerWrapper::Fsync(options, dbg);
  }

 private:
  FaultFileSystem& system_;
  const std::string name_;
  std::uint64_t bytes_ = 0;
};

inline rocksdb::IOStatus FaultFileSystem::NewWritableFile(
    const std::string& name, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* dbg) {
  if (rocksdb::IOStatus status = CheckWrite(); !status.ok()) return status;
  if (!compactable_ && (name.ends_with(".sst") || name.ends_with(".blob"))) {
    return rocksdb::IOStatus::NoSpace("the disk is full");
  }
  std::unique_ptr<rocksdb::FSWritableFile> inner;
  const rocksdb::IOStatus status = target()->NewWritableFile(name, options, &inner, dbg);
  if (!status.ok()) return status;
  Created(name);
  *file = std::make_unique<FaultFile>(*this, name, std::move(inner));
  return status;
}

inline rocksdb::IOStatus FaultFileSystem::ReuseWritableFile(
    const std::string& name, const std::string& /*old_name*/, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* dbg) {
  return NewWritableFile(name, options, file, dbg);
}

}  // namespace stoker
