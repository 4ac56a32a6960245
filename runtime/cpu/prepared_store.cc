#include "runtime/cpu/prepared_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "protocol/base/host/file_descriptor.h"
#include "runtime/cpu/content/content_digest.h"
#include "runtime/cpu/memory/region.h"
#include "runtime/cpu/queue.h"

namespace stoker::cpu {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "stoker prepared";  // With its end 16 bytes.
constexpr char kSuffix[] = ".prepared";
constexpr char kUnfinished[] = ".unfinished";
constexpr auto kUnfinishedAge = std::chrono::hours(1);  // After which nobody writes it any more.
constexpr std::size_t kWriteBytes = std::size_t{4} << 20;
constexpr std::uint64_t kSpareBytes = std::uint64_t{1} << 30;  // Left free on the disk.
constexpr std::chrono::milliseconds kPatience{250};  // The call that bound the weights goes first.
constexpr auto kForever = std::chrono::hours(24);

// What follows the memory in a file.
struct Footer {
  std::array<char, sizeof kMagic> magic{};
  std::array<char, Digest::kSize> key{};
  std::array<char, Digest::kSize> content{};
};
static_assert(sizeof(Footer) == 80);

Footer FooterOf(const Digest& key, const Digest& content) {
  Footer footer;
  std::memcpy(footer.magic.data(), kMagic, sizeof kMagic);
  std::memcpy(footer.key.data(), key.AsBytes().data(), Digest::kSize);
  std::memcpy(footer.content.data(), content.AsBytes().data(), Digest::kSize);
  return footer;
}

// Of the nearest folder above that exists. Network file systems and those in user space are not
// local: reading a mapped page may fail there.
bool LiesOnALocalDisk(const std::string& folder) {
  constexpr std::array<long, 7> kLocal = {
      0xEF53,      // ext
      0x58465342,  // xfs
      0x9123683E,  // btrfs
      0x01021994,  // tmpfs
      0x794C7630,  // overlayfs, of a container
      0x2FC12FC1,  // zfs
      0xF2F52010,  // f2fs
  };
  fs::path path = fs::path(folder);
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0) return false;
  return std::ranges::find(kLocal, static_cast<long>(found.f_type)) != kLocal.end();
}

bool HasRoom(const std::string& folder, std::uint64_t bytes) {
  struct statvfs found {};
  if (statvfs(folder.c_str(), &found) != 0) return false;
  return std::uint64_t{found.f_bavail} * found.f_frsize >= bytes + kSpareBytes;
}

Bytes BytesOf(const DeviceMemory& memory) {
  return {memory.data(), static_cast<std::size_t>(memory.size())};
}

}  // namespace

PreparedStore::PreparedStore(Options options, OnOutcome on_outcome)
    : options_(std::move(options)),
      on_outcome_(std::move(on_outcome)),
      is_local_(options_.max_bytes > 0 && LiesOnALocalDisk(options_.folder)),
      background_(kPatience) {}

bool PreparedStore::Takes(std::int64_t bytes) const {
  return is_local_ && !background_.IsElsewhere() && bytes >= options_.min_bytes &&
         bytes <= options_.max_bytes;
}

std::string PreparedStore::PathOf(const Digest& key) const {
  return options_.folder + "/" + key.ToHex() + kSuffix;
}

std::optional<DeviceMemory> PreparedStore::Find(const Digest& key, std::int64_t bytes,
                                                stoker::Queue& queue) {
  if (!Takes(bytes)) return std::nullopt;
  const std::string path = PathOf(key);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return std::nullopt;
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
    return std::nullopt;
  }
  const auto refuse = [&] {
    unlink(path.c_str());
    return std::nullopt;
  };
  Footer footer;
  if (status.st_size != bytes + static_cast<off_t>(sizeof footer)) return refuse();
  if (pread(file.get(), &footer, sizeof footer, bytes) != sizeof footer) return refuse();
  Result<Region> mapped = Region::MapFile(file.get(), bytes);
  if (!mapped.ok()) return std::nullopt;
  const auto region = std::make_shared<const Region>(std::move(mapped).value());
  DeviceMemory memory = SharedMemory(region);
  const Bytes content = BytesOf(memory);
  ThreadPool::Team team = static_cast<Queue&>(queue).Gather(HashTasksOf({&content, 1}));
  const Footer expected = FooterOf(key, ContentDigest({&content, 1}, team));
  if (std::memcmp(&footer, &expected, sizeof footer) != 0) return refuse();
  futimens(file.get(), nullptr);  // Used now; eviction looks at it.
  Tell(PreparedOutcome::kFound);
  background_.Post([this, found = std::weak_ptr(region)] {
    const std::shared_ptr<const Region> used = found.lock();
    if (used != nullptr) used->LeaveFile([this] { return !background_.IsAwaited(); });
  });
  return memory;
}

void PreparedStore::Keep(const Digest& key, DeviceMemory memory) {
  if (!is_local_) return;
  background_.Post([this, key, memory = std::move(memory)] {
    if (Write(key, memory)) Evict();
  });
  Tell(PreparedOutcome::kMade);
}

void PreparedStore::Tell(PreparedOutcome outcome) {
  if (on_outcome_ == nullptr) return;
  background_.Post([this, outcome] {
    if (!gives_up_) on_outcome_(outcome);
  });
}

void PreparedStore::Flush(std::chrono::milliseconds timeout) {
  if (background_.Drain(timeout)) return;
  gives_up_ = true;
  background_.Drain(kForever);
  gives_up_ = false;
}

bool PreparedStore::Write(const Digest& key, const DeviceMemory& memory) {
  std::error_code error;
  if (fs::create_directories(options_.folder, error)) {
    fs::permissions(options_.folder, fs::perms::owner_all, error);
  }
  const Bytes content = BytesOf(memory);
  if (error || access(PathOf(key).c_str(), F_OK) == 0 ||
      !HasRoom(options_.folder, content.size())) {
    return false;
  }
  std::string unfinished = options_.folder + "/XXXXXX" + kUnfinished;
  const FileDescriptor file(mkostemps(unfinished.data(), sizeof kUnfinished - 1, O_CLOEXEC));
  if (!file) return false;
  const auto abandon = [&] {
    unlink(unfinished.c_str());
    return false;
  };
  for (std::size_t at = 0; at < content.size(); at += kWriteBytes) {
    const Bytes part = content.subspan(at, std::min(kWriteBytes, content.size() - at));
    if (gives_up_ ||
        !WriteAll(file.get(), {reinterpret_cast<const char*>(part.data()), part.size()})) {
      return abandon();
    }
  }
  ThreadPool::Team alone = ThreadPool().Gather(1);
  const Footer footer = FooterOf(key, ContentDigest({&content, 1}, alone));
  if (!WriteAll(file.get(), {reinterpret_cast<const char*>(&footer), sizeof footer}) ||
      rename(unfinished.c_str(), PathOf(key).c_str()) != 0) {
    return abandon();
  }
  return true;
}

std::vector<PreparedStore::Entry> PreparedStore::Entries() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;  // Another process deletes it meanwhile.
    const fs::file_time_type used = it->last_write_time(gone);
    const auto bytes = static_cast<std::int64_t>(it->file_size(gone));
    if (!gone) entries.push_back({used, bytes, it->path()});
  }
  return entries;
}

std::int64_t PreparedStore::BytesKept() const {
  std::int64_t total = 0;
  for (const Entry& entry : Entries()) total += entry.bytes;
  return total;
}

void PreparedStore::Evict() const {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  std::vector<Entry> entries = Entries();
  std::ranges::sort(entries, {}, &Entry::used);
  std::int64_t total = 0;
  for (const Entry& entry : entries) {
    if (entry.path.extension() == kSuffix) total += entry.bytes;
  }
  for (const Entry& entry : entries) {
    const bool is_whole = entry.path.extension() == kSuffix;
    const bool is_left_over =
        entry.path.extension() == kUnfinished && entry.used < now - kUnfinishedAge;
    if (!is_left_over && !(is_whole && total > options_.max_bytes)) continue;
    std::error_code gone;
    fs::remove(entry.path, gone);
    if (is_whole) total -= entry.bytes;
  }
}

}  // namespace stoker::cpu
