// Fills a cache folder with the records of a large cache, without its bytes: what a start has to
// read.
//   cache_record_writer FOLDER BLOBS ACTIONS
// The first blobs are "blob 0", "blob 1", ..., true to their names; the first actions, in namespace
// "bazel" under the SHA-256 of "action 0", ..., name them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_records.h"
#include "protocol/base/check.h"

namespace stoker {
namespace {

constexpr int kTrueBlobs = 16;
constexpr int kRecordsPerWrite = 4096;
constexpr std::uint64_t kClaimedBytes = 25000;

void WriteBlob(WriteOps& ops, int number) {
  const std::string bytes = "blob " + std::to_string(number);
  const BlobEntry entry{.digest = Sha256Of(bytes),
                        .kind = BlobKind::kOther,
                        .bytes = number < kTrueBlobs ? bytes.size() : kClaimedBytes,
                        .accessed_unix_ns = number};
  ops.Put(Family::kBlobs, entry.digest.AsBytes(), number < kTrueBlobs ? bytes : "x");
  ops.Put(Family::kAccess, entry.digest.AsBytes(), EncodeAccess(entry));
}

void WriteAction(WriteOps& ops, int number) {
  ActionEntry entry;
  entry.artifact = Sha256Of("blob " + std::to_string(number % kTrueBlobs));
  entry.kind = BlobKind::kOther;
  entry.bytes = kClaimedBytes;
  entry.label = "action " + std::to_string(number);
  entry.metadata = std::string(1000, static_cast<char>('a' + number % 26));
  const std::string name_space = number < kTrueBlobs ? "bazel" : "default";
  const Digest key = Sha256Of(entry.label);
  ops.Put(Family::kActions, name_space + '\0' + std::string(key.AsBytes()), EncodeAction(entry));
}

void WriteAll(Database& database, int count, void (*write)(WriteOps&, int)) {
  for (int first = 0; first < count; first += kRecordsPerWrite) {
    WriteOps ops;
    for (int i = first; i < std::min(count, first + kRecordsPerWrite); ++i) write(ops, i);
    STOKER_CHECK(database.Write(ops, /*sync=*/false).ok());
  }
}

int Run(const char* folder, int blobs, int actions) {
  DatabaseConfig config;
  config.path = folder;
  auto database = Database::Open(config);
  if (!database.ok()) {
    std::fprintf(stderr, "%s\n", database.error().message.c_str());
    return 1;
  }
  WriteAll(**database, blobs, WriteBlob);
  WriteAll(**database, actions, WriteAction);
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return stoker::Run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}
