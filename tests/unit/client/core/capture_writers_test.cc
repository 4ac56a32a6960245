#include "client/core/trust/capture_writers.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "protocol/base/signature/key_file.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CaptureWritersTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"STOKER_WRITER_KEY", "STOKER_TRUSTED_WRITERS", "XDG_CONFIG_HOME"}) {
      unsetenv(name);
    }
    setenv("HOME", folder_.path().c_str(), 1);
  }
  void TearDown() override { SetUp(); }
  CaptureWriters Make(const std::string& cache_dir = "") {
    return CaptureWriters(WriterSettingsOfEnvironment(cache_dir).value());
  }

  TempFolder folder_;
};

TEST_F(CaptureWritersTest, OwnKey_IsMadeOnce_InTheHome) {
  CaptureWriters first = Make();
  ASSERT_TRUE(first.OwnKey().ok());
  EXPECT_EQ(first.OwnFile(), folder_.path() + "/.config/stoker/writer.pem");
  CaptureWriters second = Make("/elsewhere");
  EXPECT_EQ(second.OwnKey()->public_key(), first.OwnKey()->public_key());
  EXPECT_THAT(second.Trusted(), ElementsAre(first.OwnKey()->public_key()));
}

TEST_F(CaptureWritersTest, OwnKey_NobodyAsks_NothingIsMade) {
  Make("/elsewhere");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/.config"));
}

TEST_F(CaptureWritersTest, OwnKey_ConfigHome_ComesBeforeHome) {
  setenv("XDG_CONFIG_HOME", (folder_.path() + "/xdg").c_str(), 1);
  CaptureWriters writers = Make();
  EXPECT_EQ(writers.OwnFile(), folder_.path() + "/xdg/stoker/writer.pem");
}

TEST_F(CaptureWritersTest, OwnKey_HomeCannotHoldOne_TheCacheFolderDoes) {
  setenv("HOME", "/proc", 1);
  CaptureWriters writers = Make(folder_.path() + "/cache");
  ASSERT_TRUE(writers.OwnKey().ok()) << writers.OwnKey().error().message;
  EXPECT_EQ(writers.OwnFile(), folder_.path() + "/cache/writer.pem");
  CaptureWriters nowhere = Make();
  EXPECT_FALSE(nowhere.OwnKey().ok());
  EXPECT_EQ(nowhere.OwnFile(), "");
  EXPECT_THAT(nowhere.Trusted(), IsEmpty());
  unsetenv("HOME");
  EXPECT_THAT(Make().OwnKey().error().message, HasSubstr("STOKER_WRITER_KEY"));
}

TEST_F(CaptureWritersTest, OwnKey_ThatOthersMayRead_IsRefused_AndNoOtherIsMade) {
  CaptureWriters first = Make();
  ASSERT_TRUE(first.OwnKey().ok());
  ASSERT_EQ(chmod(first.OwnFile().c_str(), 0644), 0);
  CaptureWriters second = Make(folder_.path() + "/cache");
  EXPECT_THAT(second.OwnKey().error().message, HasSubstr("may be read or written by other users"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/cache"));
}

TEST_F(CaptureWritersTest, NamedKey_IsTheOwnOne) {
  const std::string path = folder_.path() + "/team.pem";
  const SigningKey team = ReadOrMakeSigningKey(path).value();
  setenv("STOKER_WRITER_KEY", path.c_str(), 1);
  CaptureWriters writers = Make();
  EXPECT_EQ(writers.OwnKey()->public_key(), team.public_key());
  EXPECT_EQ(writers.OwnFile(), path);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/.config"));
}

TEST_F(CaptureWritersTest, Trusted_OwnOneFirst_AndOnce) {
  CaptureWriters alone = Make();
  const PublicKey own = alone.OwnKey()->public_key();
  const PublicKey other = SigningKey::Make()->public_key();
  setenv("STOKER_TRUSTED_WRITERS", (other.ToString() + "," + own.ToString()).c_str(), 1);
  CaptureWriters writers = Make();
  EXPECT_THAT(writers.Trusted(), ElementsAre(own, other));
}

}  // namespace
}  // namespace stoker
