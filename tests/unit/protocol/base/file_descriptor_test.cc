#include "protocol/base/host/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

TEST(FileDescriptor, End_ClosesWhatItStillOwns) {
  int fd = -1;
  {
    FileDescriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    fd = first.get();
    {
      const FileDescriptor second(std::move(first));
      EXPECT_EQ(second.get(), fd);
      EXPECT_FALSE(first);  // NOLINT: the moved-from state is the subject.
      EXPECT_TRUE(IsOpen(fd));
    }
    EXPECT_FALSE(IsOpen(fd));
  }
  EXPECT_FALSE(FileDescriptor(-1));
}

TEST(WriteAll, WritesEverythingOrSaysWhyNot) {
  const TempFolder folder;
  const std::string path = folder.Write("file", "");
  const std::string text(100'000, 'x');
  EXPECT_TRUE(WriteAll(FileDescriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC)).get(), text));
  EXPECT_EQ(std::filesystem::file_size(path), text.size());
  errno = 0;
  EXPECT_FALSE(WriteAll(FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)).get(), text));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace stoker
