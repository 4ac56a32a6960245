// Flipped and truncated bytes in every kind of file: misses, never wrong bytes, never a dead cache.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/unit/cache/child_process.h"
#include "tests/unit/cache/sample_artifact.h"
#include "tests/unit/cache/sound_cache.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr int kArtifacts = 12;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

struct Damage {
  std::string name;
  std::function<void(std::string&)> apply;
};

const std::vector<Damage>& Damages() {
  static const std::vector<Damage> damages = {
      {"FlipOneBitInTheMiddle", [](std::string& b) { b[b.size() / 2] ^= 4; }},
      {"FlipABitInEveryPage",
       [](std::string& b) {
         for (std::size_t i = 100; i < b.size(); i += 4096) b[i] ^= 1;
       }},
      {"TruncateToHalf", [](std::string& b) { b.resize(b.size() / 2); }},
      {"TruncateToNothing", [](std::string& b) { b.clear(); }},
      {"Zero", [](std::string& b) { b.assign(b.size(), '\0'); }},
  };
  return damages;
}

struct DamageCase {
  std::string extension;  // Or the start of the name.
  Damage damage;
};

std::vector<DamageCase> DamageCases() {
  std::vector<DamageCase> cases;
  for (const char* extension : {".blob", ".sst", ".log", "MANIFEST", "CURRENT"}) {
    for (const Damage& damage : Damages()) cases.push_back({extension, damage});
  }
  return cases;
}

class DamageTest : public testing::TestWithParam<DamageCase> {
 protected:
  std::unique_ptr<CacheStack> Open() {
    StackConfig config;
    config.path = folder_.path();
    config.min_free_disk_bytes = 0;
    config.load_patience = std::chrono::minutes(10);
    config.log = [this](std::string_view message) { log_ += std::string(message) + "\n"; };
    auto stack = CacheStack::Open(config, nullptr);
    EXPECT_TRUE(stack.ok()) << stack.error().message;
    return stack.ok() ? std::move(*stack) : nullptr;
  }

  int ApplyDamage() {
    int files = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path() + "/db")) {
      const std::string name = entry.path().filename();
      const std::string& wanted = GetParam().extension;
      if (entry.path().extension() != wanted && !name.starts_with(wanted)) continue;
      std::string bytes = ReadFile(entry.path());
      if (bytes.empty()) continue;
      GetParam().damage.apply(bytes);
      WriteFile(entry.path(), bytes);
      ++files;
    }
    return files;
  }

  TempFolder folder_;
  std::string log_;
};

TEST_P(DamageTest, Reopen_ServesOnlyTrueBytesAndTakesNewWork) {
  if (GetParam().extension == ".log") {
    // Killed, so that everything is in the log still.
    ChildProcess child(
        {STOKER_CRASH_WRITER, folder_.path(), "run", "0", std::to_string(kArtifacts)});
    ASSERT_EQ(child.ReadLine(), "open");
    for (int i = 0; i < kArtifacts; ++i) ASSERT_EQ(child.ReadLine(), std::to_string(i));
  } else {
    const auto stack = Open();
    for (int i = 0; i < kArtifacts; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  }
  ASSERT_GT(ApplyDamage(), 0);

  const auto stack = Open();
  ASSERT_NE(stack, nullptr);
  const int missed = ExpectSound(*stack);
  const StackSnapshot snapshot = stack->Snapshot();
  EXPECT_EQ(static_cast<std::uint64_t>(missed), snapshot.quarantined_count);
  if (missed > 0 || snapshot.database_was_moved_aside) EXPECT_NE(log_, "");

  int served = 0;
  for (int i = 0; i < kArtifacts; ++i) {
    const SampleArtifact sample(i);
    if (stack->actions().Lookup("default", sample.key()).ok()) ++served;
    EXPECT_TRUE(sample.StoreAll(*stack).ok());
    EXPECT_TRUE(stack->actions().Lookup("default", sample.key()).ok());
  }
  // The damage was real: something is gone, or it hit bytes that nothing needed (a log's padding).
  if (GetParam().extension == ".blob") EXPECT_LT(served, kArtifacts);
  EXPECT_EQ(ExpectSound(*stack), 0);
}

INSTANTIATE_TEST_SUITE_P(Files, DamageTest, testing::ValuesIn(DamageCases()), [](const auto& info) {
  std::string name = info.param.extension + info.param.damage.name;
  if (name[0] == '.') name.erase(0, 1);
  return name;
});

TEST(Damage, OneFlippedBit_CostsOneBlob_AndTheEntryThatNamesIt) {
  TempFolder folder;
  StackConfig config;
  config.path = folder.path();
  config.min_free_disk_bytes = 0;
  {
    const auto stack = *CacheStack::Open(config, nullptr);
    for (int i = 0; i < kArtifacts; ++i) ASSERT_TRUE(SampleArtifact(i).StoreAll(*stack).ok());
  }
  const SampleArtifact hit(5);
  bool flipped = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path() + "/db")) {
    if (entry.path().extension() != ".blob") continue;
    std::string bytes = ReadFile(entry.path());
    // Noise does not compress, so that it is found as it is.
    const std::size_t at = bytes.find(hit.blobs()[0].substr(1000, 64));
    if (at == std::string::npos) continue;
    bytes[at] ^= 1;
    WriteFile(entry.path(), bytes);
    flipped = true;
  }
  ASSERT_TRUE(flipped);

  const auto stack = *CacheStack::Open(config, nullptr);
  EXPECT_EQ(stack->blobs().Get(hit.entry().references[0]).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stack->Snapshot().quarantined_count, 1u);
  EXPECT_EQ(stack->actions().Lookup("default", hit.key()).error().code, ErrorCode::kDataLoss);
  for (int i = 0; i < kArtifacts; ++i) {
    if (i != 5) EXPECT_TRUE(stack->actions().Lookup("default", SampleArtifact(i).key()).ok());
  }
  EXPECT_EQ(ExpectSound(*stack), 0);
}

}  // namespace
}  // namespace stoker
