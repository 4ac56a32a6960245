// What must hold for any cache folder after any accident.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cache/stack/stack.h"

namespace stoker {

// Every listed blob is readable and true to its name or a clean miss, every visible entry names
// stored blobs, and the stack stores and serves new work. Returns the number of missed blobs.
inline int ExpectSound(CacheStack& stack) {
  std::vector<Digest> listed;
  EXPECT_TRUE(stack.blobs()
                  .Visit([&](const BlobEntry& entry) {
                    listed.push_back(entry.digest);
                    return true;
                  })
                  .ok());
  int missed = 0;
  for (const Digest& digest : listed) {
    const Result<Blob> blob = stack.blobs().Get(digest);
    if (blob.ok()) {
      EXPECT_EQ(Sha256Of(blob->bytes()), digest);
    } else {
      EXPECT_EQ(blob.error().code, ErrorCode::kNotFound) << blob.error().message;
      EXPECT_FALSE(*stack.blobs().Contains(digest));
      ++missed;
    }
  }
  EXPECT_TRUE(stack.Maintain().ok());
  std::vector<std::pair<std::string, Digest>> keys;
  EXPECT_TRUE(stack.actions()
                  .Visit("",
                         [&](std::string_view name_space, const Digest& key, const ActionEntry&) {
                           keys.emplace_back(name_space, key);
                           return true;
                         })
                  .ok());
  for (const auto& [name_space, key] : keys) {
    const Result<ActionEntry> entry = stack.actions().Lookup(name_space, key);
    EXPECT_TRUE(entry.ok()) << entry.error().message;
    if (!entry.ok()) continue;
    EXPECT_TRUE(stack.blobs().Get(entry->artifact).ok());
    for (const Digest& blob : entry->references) EXPECT_TRUE(stack.blobs().Get(blob).ok());
  }
  const Result<Digest> fresh =
      PutBytes(stack.blobs(), std::string(10000, 'n') + "new work", BlobKind::kOther);
  EXPECT_TRUE(fresh.ok()) << fresh.error().message;
  if (fresh.ok()) EXPECT_TRUE(stack.blobs().Delete(*fresh).ok());
  return missed;
}

}  // namespace stoker
