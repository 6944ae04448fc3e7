// Files come to their place together or not at all.
#include "base/staged_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(StagedFiles, AppearOnCommitWithTheirPermissions) {
  const TemporaryFolder folder;
  const std::string path = folder.put("m", "old");
  ::chmod(path.c_str(), 0640);
  {
    StagedFiles files(path);
    write_file(files.staged(), "new");
    write_file(files.staged() + ".data", "more");
    EXPECT_EQ(read_file(path), "old");
    files.commit();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(read_file(path + ".data"), "more");
  EXPECT_EQ(folder.entries(), 2u);
  struct stat status {};
  ::stat(path.c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(StagedFiles, WithoutCommitNothingIsLeftBehind) {
  const TemporaryFolder folder;
  const std::string path = folder.put("m", "old");
  {
    const StagedFiles files(path);
    write_file(files.staged(), "new");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(StagedFiles, AMoveThatFailsTakesTheOthersBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "m";
  folder.put("m.data", "old");
  StagedFiles files(path);
  write_file(files.staged(), "new");
  write_file(files.staged() + ".data", "more");
  std::filesystem::create_directories(path + "/in the way");
  EXPECT_THAT(error_of([&] { files.commit(); }), HasSubstr("renaming failed"));
  EXPECT_EQ(read_file(path + ".data"), "old");
}

TEST(StagedFiles, BadPlacesAreRefusedAtOnceAndTextsNameTheRealPlace) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { StagedFiles files(folder.path()); }), HasSubstr("is a directory"));
  EXPECT_THAT(error_of([&] { StagedFiles files(folder / "none/m"); }), HasSubstr("can't write here"));
  const StagedFiles files(folder / "m");
  EXPECT_EQ(files.in_place("at " + files.staged() + ": bad"), "at " + (folder / "m") + ": bad");
}

}  // namespace
}  // namespace hone
