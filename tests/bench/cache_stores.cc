// Question: what does the cache cost per blob, at the sizes of a manifest, a kernel and a packed
// constant? Peer, in the same run: one file per blob (write, rename; read), as compiler caches that
// have no database do. Bytes do not compress, so that no codec flatters the numbers.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "cache/stack/stack.h"

namespace stoker {
namespace {

constexpr std::uint64_t kLimitBytes = std::uint64_t{2} << 30;
constexpr std::size_t kReadBlobs = 64;

struct Folder {
  Folder() { STOKER_CHECK(mkdtemp(path.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = std::filesystem::temp_directory_path() / "stoker-bench-XXXXXX";
};

std::unique_ptr<CacheStack> OpenStack(const Folder& folder, std::uint64_t memory_bytes) {
  StackConfig config;
  config.path = folder.path;
  config.max_bytes = kLimitBytes;
  config.memory_bytes = memory_bytes;
  return CacheStack::Open(config, nullptr).value();
}

std::string Noise(std::size_t size) {
  static std::minstd_rand random(1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
  return bytes;
}

void SetBytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

// args: bytes; 1: every blob is published and synced, 0: it is put only.
void StackPut(benchmark::State& state) {
  const Folder folder;
  const auto stack = OpenStack(folder, kLimitBytes / 8);
  std::string bytes = Noise(static_cast<std::size_t>(state.range(0)));
  std::uint64_t number = 0;
  for (auto _ : state) {
    std::memcpy(bytes.data(), &++number, sizeof number);
    const Digest digest = PutBytes(stack->blobs(), bytes, BlobKind::kKernel).value();
    if (state.range(1) == 0) continue;
    ActionEntry entry;
    entry.artifact = digest;
    STOKER_CHECK(stack->actions().Publish("default", digest, entry, Durability::kSynced).ok());
  }
  SetBytes(state);
}

// args: bytes; 1: memory holds nothing, so that every blob is read from the disk and hashed.
void StackGet(benchmark::State& state) {
  const Folder folder;
  const std::string first = Noise(static_cast<std::size_t>(state.range(0)));
  std::vector<Digest> digests;
  {
    const auto stack = OpenStack(folder, kLimitBytes);
    std::string bytes = first;
    for (std::size_t i = 0; i < kReadBlobs; ++i) {
      std::memcpy(bytes.data(), &i, sizeof i);
      digests.push_back(PutBytes(stack->blobs(), bytes, BlobKind::kKernel).value());
    }
  }
  const auto stack = OpenStack(folder, state.range(1) == 0 ? kLimitBytes : 0);
  for (const Digest& digest : digests) STOKER_CHECK(stack->blobs().Get(digest).ok());  // Warm.
  std::size_t i = 0;
  for (auto _ : state) {
    const Blob blob = stack->blobs().Get(digests[i++ % kReadBlobs]).value();
    benchmark::DoNotOptimize(blob.bytes().data());
  }
  SetBytes(state);
}

// args: bytes; 1: synced.
void FilePut(benchmark::State& state) {
  const Folder folder;
  std::string bytes = Noise(static_cast<std::size_t>(state.range(0)));
  std::uint64_t number = 0;
  for (auto _ : state) {
    std::memcpy(bytes.data(), &++number, sizeof number);
    const std::string name = folder.path + "/" + Sha256Of(bytes).ToHex();
    const std::string temporary = name + ".tmp";
    const int fd = open(temporary.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    STOKER_CHECK(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    if (state.range(1) != 0) STOKER_CHECK(fdatasync(fd) == 0);
    close(fd);
    std::filesystem::rename(temporary, name);
  }
  SetBytes(state);
}

void FileGet(benchmark::State& state) {
  const Folder folder;
  std::string bytes = Noise(static_cast<std::size_t>(state.range(0)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReadBlobs; ++i) {
    std::memcpy(bytes.data(), &i, sizeof i);
    names.push_back(folder.path + "/" + Sha256Of(bytes).ToHex());
    std::ofstream(names.back(), std::ios::binary) << bytes;
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const int fd = open(names[i++ % kReadBlobs].c_str(), O_RDONLY | O_CLOEXEC);
    std::string read_bytes(bytes.size(), '\0');
    STOKER_CHECK(read(fd, read_bytes.data(), read_bytes.size()) ==
                 static_cast<ssize_t>(bytes.size()));
    close(fd);
    benchmark::DoNotOptimize(Sha256Of(read_bytes));
  }
  SetBytes(state);
}

// How long a private daemon waits for its cache: an existing folder with 1000 blobs and entries.
void StackOpen(benchmark::State& state) {
  const Folder folder;
  {
    const auto stack = OpenStack(folder, kLimitBytes);
    for (int i = 0; i < 1000; ++i) {
      ActionEntry entry;
      entry.artifact =
          PutBytes(stack->blobs(), "blob " + std::to_string(i), BlobKind::kArtifact).value();
      STOKER_CHECK(
          stack->actions().Publish("default", entry.artifact, entry, Durability::kBuffered).ok());
    }
  }
  for (auto _ : state) {
    auto stack = OpenStack(folder, kLimitBytes);
    state.PauseTiming();
    stack.reset();
    state.ResumeTiming();
  }
}

const std::vector<std::int64_t> kSizes = {1 << 10, 64 << 10, 1 << 20};

BENCHMARK(StackPut)->ArgNames({"bytes", "synced"})->ArgsProduct({kSizes, {0, 1}})->UseRealTime();
BENCHMARK(FilePut)->ArgNames({"bytes", "synced"})->ArgsProduct({kSizes, {0, 1}})->UseRealTime();
BENCHMARK(StackGet)->ArgNames({"bytes", "disk"})->ArgsProduct({kSizes, {0, 1}})->UseRealTime();
BENCHMARK(FileGet)->ArgName("bytes")->ArgsProduct({kSizes})->UseRealTime();
BENCHMARK(StackOpen)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace stoker

BENCHMARK_MAIN();
