#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/inputs.h"
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

// Runs `body` in a process of its own, whose umask, signals and inputs are nobody else's; whether it gave true.
template <class Body>
bool in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool passed = false;
    try {
      passed = body();
    } catch (const std::exception&) {
    }
    ::_exit(passed ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

mode_t mode_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777 : 0;
}

TEST(AtomicFile, ANewFileHasThePermissionsOfTheUmask) {
  for (const mode_t mask : {mode_t{077}, mode_t{002}, mode_t{022}}) {
    Folder folder;
    EXPECT_TRUE(in_child([&] {
      ::umask(mask);
      write_file(folder.file("a"), "x");
      return mode_of(folder.file("a")) == (0666 & ~mask);
    })) << mask;
  }
}

TEST(AtomicFile, AReplacedFileKeepsItsPermissions) {
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0664}}) {
    Folder folder;
    write_file(folder.file("a"), "old");
    ::chmod(folder.file("a").c_str(), mode);
    EXPECT_TRUE(in_child([&] {
      ::umask(077);
      write_file(folder.file("a"), "new");
      return mode_of(folder.file("a")) == mode && read_file(folder.file("a")) == "new";
    })) << mode;
  }
}

TEST(AtomicFile, ALinkIsReplacedAndNotFollowed) {
  Folder folder;
  write_file(folder.file("elsewhere"), "theirs");
  fs::create_symlink(folder.file("elsewhere"), folder.file("a"));
  write_file(folder.file("a"), "ours");
  EXPECT_EQ(read_file(folder.file("elsewhere")), "theirs");
  EXPECT_FALSE(fs::is_symlink(folder.file("a")));
}

TEST(KeptInputs, AreNotReplacedUnderAnyName) {
  Folder folder;
  write_file(folder.file("in"), "x");
  fs::create_symlink(folder.file("in"), folder.file("link"));
  fs::create_hard_link(folder.file("in"), folder.file("hard"));
  const auto refuses = [&](const char* name) {
    try {
      write_file(folder.file(name), "y");
    } catch (const Error& e) {
      return std::string(e.what()).find("is read in this run") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(in_child([&] {
    keep_inputs();
    const MappedFile input(folder.file("in"));
    return refuses("in") && refuses("link") && refuses("hard");
  }));
  EXPECT_EQ(read_file(folder.file("in")), "x");
}

TEST(KeptInputs, AreThoseThatAreOpenedWhileTheOutputIsWrittenToo) {
  Folder folder;
  write_file(folder.file("in"), "x");
  EXPECT_TRUE(in_child([&] {
    keep_inputs();
    AtomicFile output(folder.file("in"));
    const MappedFile input(folder.file("in"));
    try {
      output.commit();
    } catch (const Error&) {
      return true;
    }
    return false;
  }));
}

TEST(KeptInputs, WhatTheRunWroteItselfMayBeWrittenAgain) {
  Folder folder;
  write_file(folder.file("old"), "x");
  EXPECT_TRUE(in_child([&] {
    keep_inputs();
    write_file(folder.file("a"), "1");
    if (read_file(folder.file("a")) != "1") return false;
    write_file(folder.file("a"), "2");
    if (read_file(folder.file("old")) != "x") return false;
    may_replace(folder.file("old"));
    write_file(folder.file("old"), "y");
    return read_file(folder.file("old")) == "y";
  }));
}

TEST(MappedFile, ThatIsCutWhileItIsMappedReadsZerosAndIsAnError) {
  Folder folder;
  constexpr size_t kBytes = 1 << 20;
  write_file(folder.file("a"), std::string(kBytes, 'x'));
  EXPECT_TRUE(in_child([&] {
    guard_mappings();
    const MappedFile file(folder.file("a"));
    require_whole_mappings();
    if (::truncate(folder.file("a").c_str(), 100) != 0) return false;
    for (std::byte b : file.bytes().subspan(kBytes / 2))
      if (b != std::byte{0}) return false;
    try {
      require_whole_mappings();
    } catch (const Error& e) {
      return std::string(e.what()).find(folder.file("a") + ": became shorter") == 0;
    }
    return false;
  }));
}

TEST(MappedFile, WhatCameOfACutOneIsNotWritten) {
  Folder folder;
  write_file(folder.file("a"), std::string(1 << 20, 'x'));
  EXPECT_TRUE(in_child([&] {
    guard_mappings();
    const MappedFile file(folder.file("a"));
    if (::truncate(folder.file("a").c_str(), 0) != 0) return false;
    AtomicFile out(folder.file("out"));
    const std::string copy(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    out.write(copy);
    try {
      out.commit();
    } catch (const Error&) {
      return !fs::exists(folder.file("out"));
    }
    return false;
  }));
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
