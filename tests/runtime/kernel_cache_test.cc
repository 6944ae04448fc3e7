// Sessions that share a folder of machine code. Damage byte by byte and other processes:
// tests/device/x86/cache_test.cc.
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "base/atomic_file.h"
#include "tests/runtime/encoder.h"

namespace hone::test {
namespace {

namespace fs = std::filesystem;

class KernelCache : public testing::Test {
 protected:
  KernelCache() {
    std::string pattern = (fs::temp_directory_path() / "hone_kernels_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~KernelCache() override { fs::remove_all(folder_); }

  struct Outcome {
    std::vector<Tensor> outputs;
    int compiled = 0, cached = 0;
  };
  Outcome run_session(const NamedTensors& inputs, Compute compute = Compute::f32) const {
    SessionOptions options;
    options.compute = compute;
    options.cache_folder = folder_.string();
    Session session(encoder(), options);
    Outcome outcome{session.run(inputs)};
    outcome.compiled = session.statistics().kernels_compiled;
    outcome.cached = session.statistics().kernels_cached;
    return outcome;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  fs::path folder_;
  NamedTensors inputs_ = encoder_inputs(2, 8);
};

TEST_F(KernelCache, TheSecondSessionCompilesNothing) {
  const Outcome first = run_session(inputs_), second = run_session(inputs_);
  EXPECT_GT(first.compiled, 0);
  EXPECT_EQ(first.cached, 0);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.cached, first.compiled);
  EXPECT_EQ(files().size(), static_cast<size_t>(first.compiled));
  expect_same_bits(second.outputs, first.outputs, "from the cache");
}

TEST_F(KernelCache, DamagedFilesAreIgnoredAndRewritten) {
  const Outcome first = run_session(inputs_);
  const fs::path flipped = files().at(0), cut = files().at(1);
  const std::string good_flipped = read_file(flipped.string()), good_cut = read_file(cut.string());
  std::string bad = good_flipped;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  write_file(flipped.string(), bad);
  write_file(cut.string(), good_cut.substr(0, good_cut.size() / 2));
  const Outcome mended = run_session(inputs_);
  EXPECT_EQ(mended.compiled, 2);
  EXPECT_EQ(mended.cached, first.compiled - 2);
  expect_same_bits(mended.outputs, first.outputs, "after damage");
  EXPECT_EQ(read_file(flipped.string()), good_flipped);
  EXPECT_EQ(read_file(cut.string()), good_cut);
}

TEST_F(KernelCache, OtherShapesReuseKernelsThatDoNotDependOnThem) {
  run_session(inputs_);
  const Outcome longer = run_session(encoder_inputs(2, 16));
  EXPECT_GT(longer.cached, 0);
}

TEST_F(KernelCache, SessionsAtOnceOnOneFolderAllSucceed) {
  constexpr int kSessions = 3;
  std::vector<Outcome> outcomes(kSessions);
  std::vector<std::thread> threads;
  for (Outcome& outcome : outcomes) threads.emplace_back([&] { outcome = run_session(inputs_); });
  for (std::thread& thread : threads) thread.join();
  const int kernels = outcomes[0].compiled + outcomes[0].cached;
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.compiled + outcome.cached, kernels);
    expect_same_bits(outcome.outputs, outcomes[0].outputs, "at once");
  }
  EXPECT_EQ(files().size(), static_cast<size_t>(kernels)) << "temporary files are left";
  EXPECT_EQ(run_session(inputs_).compiled, 0);
}

TEST_F(KernelCache, ComputeTypesShareAFolderWithoutMixingUp) {
  const Outcome f32 = run_session(inputs_);
  const Outcome bf16 = run_session(inputs_, Compute::bf16);
  EXPECT_GT(bf16.compiled, 0);
  expect_same_bits(run_session(inputs_).outputs, f32.outputs, "f32 again");
  expect_same_bits(run_session(inputs_, Compute::bf16).outputs, bf16.outputs, "bf16 again");
}

TEST_F(KernelCache, AFolderThatCannotBeMadeIsNoError) {
  write_file((folder_ / "file").string(), "in the way");
  SessionOptions options;
  options.cache_folder = (folder_ / "file" / "below").string();
  Session session(encoder(), options);
  const std::vector<Tensor> outputs = session.run(inputs_);
  EXPECT_GT(session.statistics().kernels_compiled, 0);
  expect_same_bits(outputs, run_session(inputs_).outputs, "without a cache");
}

}  // namespace
}  // namespace hone::test
