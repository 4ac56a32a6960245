#include "daemon/signing/key_ring.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "protocol/base/signature/key_file.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class KeyRingTest : public testing::Test {
 protected:
  KeyRingConfig Config(std::chrono::seconds overlap = 3600s) {
    KeyRingConfig config;
    config.folder = KeysFolder();
    config.overlap = overlap;
    config.clock = [this] { return SystemUnixNanos() + ahead_ns_; };
    return config;
  }
  std::unique_ptr<KeyRing> Open(KeyRingConfig config) {
    auto ring = KeyRing::Open(std::move(config));
    EXPECT_TRUE(ring.ok()) << ring.error().message;
    return *std::move(ring);
  }
  std::string KeysFolder() const { return folder_.path() + "/keys"; }
  std::string Path(const std::string& name) const { return KeysFolder() + "/" + name; }
  std::string NamedKey(const std::string& name) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(ReadOrMakeSigningKey(path).ok());
    return path;
  }

  TempFolder folder_;
  std::int64_t ahead_ns_ = 0;
};

TEST_F(KeyRingTest, FirstStart_MakesAKey_ThatStays) {
  const auto first = Open(Config())->keys();
  EXPECT_THAT(first->signing, SizeIs(1));
  EXPECT_THAT(first->retired, IsEmpty());
  EXPECT_EQ(Open(Config())->keys()->Announced(), first->Announced());
  struct stat status {};
  ASSERT_EQ(stat(Path("signing.pem").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  ASSERT_EQ(stat(KeysFolder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  EXPECT_THAT(*ReadPublicKeys(Path("signers")), ElementsAre(first->Announced().at(0)));
}

TEST_F(KeyRingTest, Rotation_BothSignWhileTheyOverlap_ThenTheOldOneIsRetired) {
  const auto ring = Open(Config(3600s));
  const PublicKey old_key = ring->keys()->Announced().at(0);
  const auto made = RotateKey(KeysFolder());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_NE(*made, old_key);
  EXPECT_THAT(ring->keys()->Announced(), ElementsAre(old_key));  // Not looked at yet.
  ASSERT_TRUE(ring->Reload().ok());
  EXPECT_THAT(ring->keys()->Announced(), ElementsAre(*made, old_key));
  EXPECT_THAT(ring->keys()->retired, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(Path("previous.pem")));

  ahead_ns_ = std::int64_t{3601} * 1'000'000'000;
  ASSERT_TRUE(ring->Reload().ok());
  EXPECT_THAT(ring->keys()->Announced(), ElementsAre(*made));
  EXPECT_THAT(ring->keys()->retired, ElementsAre(old_key));
  EXPECT_FALSE(std::filesystem::exists(Path("previous.pem")));  // No secret outlives its use.
  ahead_ns_ = 0;
  EXPECT_THAT(Open(Config())->keys()->retired, ElementsAre(old_key));
}

TEST_F(KeyRingTest, Rotation_OfTheOverlap_CountsFromTheRotation) {
  Open(Config());
  // The first key is old when it is replaced.
  timespec long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, Path("signing.pem").c_str(), long_ago, 0), 0);
  ASSERT_TRUE(RotateKey(KeysFolder()).ok());
  EXPECT_THAT(Open(Config(3600s))->keys()->signing, SizeIs(2));
}

TEST_F(KeyRingTest, Rotation_WithoutOverlap_RetiresAtOnce) {
  const PublicKey old_key = Open(Config())->keys()->Announced().at(0);
  const PublicKey made = *RotateKey(KeysFolder());
  const auto keys = Open(Config(0s))->keys();
  EXPECT_THAT(keys->Announced(), ElementsAre(made));
  EXPECT_THAT(keys->retired, ElementsAre(old_key));
}

TEST_F(KeyRingTest, Rotation_Twice_KeepsThePreviousAndRetiresTheFirst) {
  const auto ring = Open(Config());
  const PublicKey first = ring->keys()->Announced().at(0);
  const PublicKey second = *RotateKey(KeysFolder());
  ASSERT_TRUE(ring->Reload().ok());
  const PublicKey third = *RotateKey(KeysFolder());
  ASSERT_TRUE(ring->Reload().ok());
  EXPECT_THAT(ring->keys()->Announced(), ElementsAre(third, second));
  EXPECT_THAT(ring->keys()->retired, ElementsAre(first));
}

TEST_F(KeyRingTest, SignersFile_WithoutALine_DisownsTheKey) {
  Open(Config());
  ASSERT_TRUE(RotateKey(KeysFolder()).ok());
  const auto ring = Open(Config(0s));
  EXPECT_THAT(ring->keys()->retired, SizeIs(1));
  std::ofstream(Path("signers")) << ring->keys()->Announced().at(0).ToString() << "\n";
  ASSERT_TRUE(ring->Reload().ok());
  EXPECT_THAT(ring->keys()->retired, IsEmpty());
}

TEST_F(KeyRingTest, Reload_NothingChanged_GivesTheSameKeys) {
  const auto ring = Open(Config());
  const auto keys = ring->keys();
  ASSERT_TRUE(ring->Reload().ok());
  EXPECT_EQ(ring->keys(), keys);
}

TEST_F(KeyRingTest, Reload_SpoiledFile_KeysStayAsTheyWere) {
  const auto ring = Open(Config());
  const auto keys = ring->keys();
  std::ofstream(Path("signing.pem")) << "no key";
  const Status wrong = ring->Reload();
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr(Path("signing.pem")));
  EXPECT_EQ(ring->keys(), keys);
  EXPECT_FALSE(KeyRing::Open(Config()).ok());
}

TEST_F(KeyRingTest, Reload_FileOrFolderIsGone_KeysStayAsTheyWere) {
  const auto ring = Open(Config());
  const auto keys = ring->keys();
  std::filesystem::remove(Path("signing.pem"));
  const Status gone = ring->Reload();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().message, "Key '" + Path("signing.pem") + "' is gone.");
  std::filesystem::remove_all(std::filesystem::path(Path("signing.pem")).parent_path());
  EXPECT_FALSE(ring->Reload().ok());
  EXPECT_EQ(ring->keys(), keys);
}

TEST_F(KeyRingTest, NamedFiles_SignInTheirOrder_AndAreRetiredWhenTheyGo) {
  KeyRingConfig config = Config();
  config.files = {NamedKey("new.pem"), NamedKey("old.pem")};
  const auto both = Open(config)->keys();
  EXPECT_THAT(both->signing, SizeIs(2));
  EXPECT_EQ(both->Announced().at(0), ReadSigningKey(config.files[0])->public_key());
  EXPECT_FALSE(std::filesystem::exists(Path("signing.pem")));
  config.files.pop_back();
  EXPECT_THAT(Open(config)->keys()->retired, ElementsAre(both->Announced().at(1)));
  config.files = {"/nowhere"};
  EXPECT_THAT(KeyRing::Open(config).error().message, HasSubstr("'/nowhere'"));
  config.files = {NamedKey("a"), NamedKey("b"), NamedKey("c"), NamedKey("d"), NamedKey("e")};
  EXPECT_EQ(KeyRing::Open(config).error().code, ErrorCode::kResourceExhausted);
}

TEST_F(KeyRingTest, FolderOfOthers_IsRefused) {
  Open(Config());
  ASSERT_EQ(chmod(KeysFolder().c_str(), 0770), 0);
  EXPECT_THAT(KeyRing::Open(Config()).error().message, HasSubstr("other users own it"));
  EXPECT_FALSE(RotateKey(KeysFolder()).ok());
  if (geteuid() != 0) return;
  ASSERT_EQ(chmod(KeysFolder().c_str(), 0700), 0);
  ASSERT_EQ(chown(KeysFolder().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(KeyRing::Open(Config()).ok());
  EXPECT_FALSE(RotateKey(KeysFolder()).ok());
}

}  // namespace
}  // namespace stoker
