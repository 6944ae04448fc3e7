#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/mapped_file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "hone_base_XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return path + "/" + name; }
  int64_t count() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
  std::string path;
};

TEST(AtomicFile, IsThereOnlyAfterCommit) {
  Folder folder;
  {
    AtomicFile file(folder.file("a"));
    file.write("half");
    EXPECT_FALSE(fs::exists(folder.file("a")));
  }
  EXPECT_EQ(folder.count(), 0);
  write_file(folder.file("a"), "whole");
  EXPECT_EQ(read_file(folder.file("a")), "whole");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, KeepsTheOldFileWhenWritingTheNewOneFails) {
  Folder folder;
  write_file(folder.file("a"), "old");
  EXPECT_THROW(
      {
        AtomicFile file(folder.file("a"));
        file.write("new");
        throw Error("interrupted");
      },
      Error);
  EXPECT_EQ(read_file(folder.file("a")), "old");
  EXPECT_EQ(folder.count(), 1);
}

// A limit on the size of files stands in for a full disk.
TEST(AtomicFile, ReportsAFullDiskAndLeavesNothing) {
  Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    try {
      write_file(folder.file("a"), std::string(100000, 'x'));
    } catch (const Error& e) {
      code = std::string(e.what()).find("writing failed") != std::string::npos ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(folder.count(), 0);
}

TEST(AtomicFile, OfTwoFilesTheFirstIsTakenBackWhenTheSecondFails) {
  for (const bool existed : {false, true}) {
    Folder folder;
    if (existed) write_file(folder.file("a"), "old");
    AtomicFile a(folder.file("a")), b(folder.file("b"));
    a.write("new");
    fs::create_directory(folder.file("b"));  // in the way of the second only now
    EXPECT_THROW(commit_both(a, b), Error);
    EXPECT_EQ(fs::exists(folder.file("a")) ? read_file(folder.file("a")) : "", existed ? "old" : "");
  }
}

TEST(AtomicFile, TwoFilesReplaceTwo) {
  Folder folder;
  for (const char* text : {"old", "new"}) {
    AtomicFile a(folder.file("a")), b(folder.file("b"));
    a.write(text);
    b.write(text);
    commit_both(a, b);
  }
  EXPECT_EQ(read_file(folder.file("a")) + read_file(folder.file("b")), "newnew");
  EXPECT_EQ(folder.count(), 2);
}

TEST(AtomicFile, RefusesAFolderAndAMissingFolder) {
  Folder folder;
  EXPECT_THROW(AtomicFile(folder.path), Error);
  EXPECT_THROW(AtomicFile(folder.file("missing/a")), Error);
}

// A rename would silently replace them; with -o /dev/full it once did.
TEST(AtomicFile, RefusesToReplaceAPipeEvenBehindALink) {
  Folder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  fs::create_symlink(folder.file("pipe"), folder.file("link"));
  for (const char* name : {"pipe", "link"}) EXPECT_THROW(AtomicFile(folder.file(name)), Error) << name;
  EXPECT_TRUE(fs::is_fifo(folder.file("pipe")) && fs::is_symlink(folder.file("link")));
  EXPECT_EQ(folder.count(), 2);
}

TEST(AtomicFile, RefusesToReplaceADevice) {
  Folder folder;
  fs::create_symlink("/dev/full", folder.file("link"));  // never the device itself: a rename would harm the machine
  try {
    write_file(folder.file("link"), "x");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("device"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(folder.count(), 1);
}

TEST(MappedFile, RefusesAPipeWithoutWaitingForAWriter) {
  Folder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THROW(MappedFile{folder.file("pipe")}, Error);
}

TEST(MappedFile, ReadsAnEmptyFileAndNamesAMissingOne) {
  Folder folder;
  write_file(folder.file("empty"), "");
  EXPECT_EQ(MappedFile(folder.file("empty")).bytes().size(), 0u);
  try {
    MappedFile missing(folder.file("missing"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW(MappedFile{folder.path}, Error);
}

TEST(MappedFile, ContentsComeBackAfterDroppingPages) {
  Folder folder;
  write_file(folder.file("a"), std::string(1 << 16, 'q'));
  MappedFile file(folder.file("a"));
  drop_pages(file.bytes());
  EXPECT_EQ(file.bytes()[40000], std::byte{'q'});
}

}  // namespace
}  // namespace hone
