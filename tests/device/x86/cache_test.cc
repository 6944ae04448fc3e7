// The object cache: hits, damage, foreign files, several processes, and folders that can't be used.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/atomic_file.h"
#include "device/llvm/object_cache.h"
#include "device/x86/machine.h"
#include "kernels/pointwise/plan.h"
#include "tests/cli/small_disk.h"
#include "tests/device/x86/kernel_runner.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using namespace test;

class Cache : public testing::Test {
 protected:
  Cache() : folder_(fs::temp_directory_path() / fmt::format("hone_cache_test_{}", getpid())) {
    fs::create_directories(folder_);
  }
  ~Cache() override { fs::remove_all(folder_); }

  static PointwisePlan plan(float factor) { return flat_plan(flatten(Expr::arg(0, Scalar::f32) * factor)); }

  struct Outcome {
    CompileStatistics statistics;
    float result = 0;
  };
  // x * factor for x = 3, by a fresh library on this folder.
  static Outcome multiply(float factor, const fs::path& folder) {
    X86Compiler library(host_target(), {.threads = 1, .cache_folder = folder.string()});
    const KernelPlan plans[] = {plan(factor)};
    const KernelFn kernel = function_of(library.compile(plans)[0]);
    float x = 3, y = 0;
    void* const in[] = {&x};
    void* const out[] = {&y};
    const KernelArgs args = flat_args(in, out, 1);
    kernel(&args, 0, 1, nullptr);
    return {library.statistics(), y};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  void expect_recompiled_and_mended(const std::string& damaged) {
    write_file(files().at(0).string(), damaged);
    const Outcome again = multiply(2, folder_);
    EXPECT_EQ(again.statistics.compiled, 1);
    EXPECT_EQ(again.result, 6);
    EXPECT_EQ(multiply(2, folder_).statistics.cached, 1);
  }

  fs::path folder_;
};

TEST_F(Cache, TheSecondProcessFindsWhatTheFirstCompiled) {
  const Outcome first = multiply(2, folder_), second = multiply(2, folder_), other = multiply(5, folder_);
  EXPECT_EQ(first.statistics.compiled, 1);
  EXPECT_EQ(second.statistics.compiled, 0);
  EXPECT_EQ(second.statistics.cached, 1);
  EXPECT_EQ(other.statistics.compiled, 1);
  EXPECT_EQ(first.result, 6);
  EXPECT_EQ(second.result, 6);
  EXPECT_EQ(other.result, 15);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(Cache, EqualPlansAreCompiledOnce) {
  X86Compiler library(host_target(), {.threads = 2, .cache_folder = {}});
  const KernelPlan plans[] = {plan(2), plan(3), plan(2)};
  const std::vector<Code> kernels = library.compile(plans);
  EXPECT_EQ(kernels[0], kernels[2]);
  EXPECT_NE(kernels[0], kernels[1]);
  EXPECT_EQ(library.compile(plans)[1], kernels[1]);
  EXPECT_EQ(library.statistics().compiled, 2);
}

TEST_F(Cache, DamagedFilesAreIgnoredAndRewritten) {
  multiply(2, folder_);
  const std::string good = read_file(files().at(0).string());
  for (size_t at : {size_t{0}, size_t{8}, size_t{20}, size_t{40}, size_t{48}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    expect_recompiled_and_mended(bad);
  }
  for (size_t size : {size_t{0}, size_t{17}, size_t{48}, good.size() - 1})
    expect_recompiled_and_mended(good.substr(0, size));
  expect_recompiled_and_mended(good + "x");
  expect_recompiled_and_mended("not an object at all, but long enough to hold a header of forty-eight bytes and more");
}

TEST_F(Cache, AFileUnderAnotherKeysNameIsForeign) {
  multiply(2, folder_);
  const std::string two = read_file(files().at(0).string());
  const ObjectCache cache(folder_.string());
  const ObjectKey key = object_key(KernelPlan(plan(5)).text(), code_target(host_target()));
  write_file(cache.path_of(key), two);
  EXPECT_FALSE(cache.read(key).has_value());
  EXPECT_EQ(multiply(5, folder_).result, 15);
}

TEST_F(Cache, KeysDifferByPlanAndLevel) {
  EXPECT_EQ(object_key("a", code_target(parse_target("avx2"))), object_key("a", code_target(parse_target("avx2"))));
  EXPECT_NE(object_key("a", code_target(parse_target("avx2"))), object_key("b", code_target(parse_target("avx2"))));
  EXPECT_NE(object_key("a", code_target(parse_target("avx2"))),
            object_key("a", code_target(X86Target(Features().with(Feature::avx512)))));
  // Each feature, rates, and the cache by whose size attention divides its scratch.
  const Features avx512 = Features().with(Feature::avx512);
  const auto key = [](Features features, const char* rates, int64_t l2_bytes) {
    return object_key("a", code_target(X86Target(features, microarchitecture(rates), {.l2_bytes = l2_bytes})));
  };
  std::set<std::string> keys{key(avx512, "intel", 1 << 20).hex(), key(avx512, "zen4", 1 << 20).hex(),
                             key(avx512, "intel", 2 << 20).hex()};
  for (int f = static_cast<int>(Feature::avx512) + 1; f < kFeatures; ++f)
    keys.insert(key(avx512.with(static_cast<Feature>(f)), "intel", 1 << 20).hex());
  EXPECT_EQ(keys.size(), static_cast<size_t>(3 + kFeatures - 1 - static_cast<int>(Feature::avx512)));
}

TEST_F(Cache, ProcessesThatWriteAtOnceAllSucceed) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int k = 1; k <= 3; ++k)
        right &= multiply(static_cast<float>(k), folder_).result == static_cast<float>(3 * k);
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 3u);  // no temporary is left
  EXPECT_EQ(multiply(1, folder_).statistics.cached, 1);
}

TEST_F(Cache, AFolderThatCannotBeWrittenIsNoError) {
  write_file((folder_ / "file").string(), "in the way");
  const Outcome outcome = multiply(2, folder_ / "file" / "below");
  EXPECT_EQ(outcome.result, 6);
  EXPECT_EQ(outcome.statistics.compiled, 1);
  const std::string& problem = outcome.statistics.cache_problem;
  EXPECT_NE(problem.find((folder_ / "file" / "below").string()), std::string::npos) << problem;
  EXPECT_NE(problem.find("Not a directory"), std::string::npos) << problem;
  EXPECT_EQ(multiply(2, folder_ / "new" / "below").statistics.cache_problem, "") << "a missing folder is made";
}

TEST_F(Cache, AFullDiskIsNoErrorAndLeavesNothingHalfWritten) {
  const OnSmallDisk result = on_small_disk(folder_.string(), 4096, [&] {
    write_file((folder_ / "filler").string(), std::string(4096, 'x'));
    const Outcome outcome = multiply(2, folder_);
    EXPECT_EQ(outcome.result, 6);
    EXPECT_NE(outcome.statistics.cache_problem.find("No space left"), std::string::npos);
    EXPECT_EQ(files().size(), 1u);
  });
  if (result == OnSmallDisk::not_allowed) GTEST_SKIP() << "this system lets us mount no tmpfs";
  EXPECT_EQ(result, OnSmallDisk::passed);
}

TEST_F(Cache, AFolderThatCanOnlyBeReadIsRead) {
  const OnSmallDisk result = on_small_disk(folder_.string(), 1 << 20, [&] {
    multiply(2, folder_);
    ASSERT_EQ(::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    EXPECT_EQ(multiply(2, folder_).statistics.cached, 1);
    const Outcome other = multiply(5, folder_);
    EXPECT_EQ(other.result, 15);
    EXPECT_NE(other.statistics.cache_problem.find("Read-only"), std::string::npos) << other.statistics.cache_problem;
  });
  if (result == OnSmallDisk::not_allowed) GTEST_SKIP() << "this system lets us mount no tmpfs";
  EXPECT_EQ(result, OnSmallDisk::passed);
}

TEST_F(Cache, ShrinkingRemovesTheOldestFirst) {
  const ObjectCache cache(folder_.string());
  const std::vector<std::byte> object(1000);
  const auto now = fs::file_time_type::clock::now();
  for (uint64_t i = 1; i <= 4; ++i) {
    cache.write({0, i}, object);
    fs::last_write_time(cache.path_of({0, i}), now - std::chrono::hours(10 - i));
  }
  cache.shrink(2500);
  EXPECT_FALSE(cache.read({0, 1}) || cache.read({0, 2}));
  EXPECT_TRUE(cache.read({0, 3}) && cache.read({0, 4}));
}

// A folder of the user's own may be given as the cache.
TEST_F(Cache, ShrinkingRemovesOnlyWhatTheCacheHasWritten) {
  const ObjectCache cache(folder_.string());
  const std::vector<std::byte> object(1000, std::byte{1});
  const ObjectKey own{0, 1};
  cache.write(own, object);
  const std::string like_an_object = cache.path_of({7, 7}), renamed = cache.path_of({8, 8});
  write_file((folder_ / "thesis.tex").string(), std::string(5000, 'x'));
  write_file((folder_ / "0123.o").string(), std::string(5000, 'x'));
  write_file(like_an_object, std::string(5000, 'x'));
  fs::copy_file(cache.path_of(own), renamed);
  fs::create_directories(cache.path_of({9, 9}));
  write_file((folder_ / "elsewhere").string(), std::string(5000, 'x'));
  fs::create_symlink(folder_ / "elsewhere", cache.path_of({10, 10}));
  ASSERT_EQ(mkfifo(cache.path_of({11, 11}).c_str(), 0600), 0);
  cache.shrink(0);
  EXPECT_FALSE(fs::exists(cache.path_of(own)));
  for (const std::string& kept :
       {(folder_ / "thesis.tex").string(), (folder_ / "0123.o").string(), like_an_object, renamed,
        cache.path_of({9, 9}), (folder_ / "elsewhere").string(), cache.path_of({10, 10}), cache.path_of({11, 11})})
    EXPECT_TRUE(fs::exists(fs::symlink_status(kept))) << kept;
}

TEST_F(Cache, CodeOfAnotherUserIsNotRun) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  multiply(2, folder_);
  ASSERT_EQ(chown(files().at(0).c_str(), 65534, 65534), 0);
  EXPECT_EQ(multiply(2, folder_).statistics.compiled, 1);
  EXPECT_EQ(multiply(2, folder_).statistics.cached, 1);  // written anew as this user's
}

TEST_F(Cache, LinksFifosAndFoldersInTheWayAreNeitherReadNorReplaced) {
  const ObjectKey key = object_key(KernelPlan(plan(2)).text(), code_target(host_target()));
  const ObjectCache cache(folder_.string());
  const std::string path = cache.path_of(key);
  multiply(2, folder_);
  fs::rename(path, folder_ / "target");
  const std::string whole = read_file((folder_ / "target").string());
  const auto expect_compiled_and_said = [&] {
    const Outcome outcome = multiply(2, folder_);
    EXPECT_EQ(outcome.result, 6);
    EXPECT_EQ(outcome.statistics.compiled, 1);
    EXPECT_NE(outcome.statistics.cache_problem.find("no plain file"), std::string::npos);
  };
  fs::create_symlink(folder_ / "target", path);
  expect_compiled_and_said();
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(read_file((folder_ / "target").string()), whole);
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_compiled_and_said();
  EXPECT_TRUE(fs::is_fifo(path));
  fs::remove(path);
  fs::create_directory(path);
  expect_compiled_and_said();
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(Cache, WhatAModelBundlesIsNotKeptOnDisk) {
  X86Compiler first(host_target(), {.threads = 1, .cache_folder = {}, .keep_objects = true});
  const KernelPlan plans[] = {plan(2)};
  first.compile(plans);
  X86Compiler second(host_target(),
                     {.threads = 1, .cache_folder = (folder_ / "cache").string(), .bundled = {first.bundle()}});
  second.compile(plans);
  EXPECT_EQ(second.statistics().bundled, 1);
  EXPECT_FALSE(fs::exists(folder_ / "cache") && !fs::is_empty(folder_ / "cache"));
}

// What goes into a file is what this process has made.
TEST_F(Cache, NothingFromDiskIsBundled) {
  multiply(2, folder_);
  X86Compiler library(host_target(), {.threads = 1, .cache_folder = folder_.string(), .keep_objects = true});
  const KernelPlan plans[] = {plan(2)};
  library.compile(plans);
  EXPECT_EQ(library.statistics().compiled, 1);
  EXPECT_EQ(library.statistics().cached, 0);
}

TEST_F(Cache, ARefusedPlanNamesTheReason) {
  X86Compiler library(host_target(), {.threads = 1, .cache_folder = {}});
  PointwisePlan bad = plan(2);
  bad.rank = 9;
  const KernelPlan plans[] = {bad};
  try {
    library.compile(plans);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 9"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hone
