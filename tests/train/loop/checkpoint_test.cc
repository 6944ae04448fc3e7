// What was saved comes back; files that are none, cut or changed are refused, and so are those of other runs.
#include "train/loop/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/atomic_file.h"
#include "io/safetensors.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

Checkpoint example() {
  return {
      .model = "abc",
      .options = "rate = 1\nseed = 2",
      .progress = Json{{"step", 7}},
      .tensors = {{"parameter/w", Tensor::of<float>({2}, {1, -2})}, {"state/w/mean", Tensor::of<float>({2}, {3, 4})}}};
}

TEST(Checkpoint, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const std::string path = folder / "last.safetensors";
  save_checkpoint(path, example());
  const Checkpoint loaded = load_checkpoint(path);
  EXPECT_EQ(loaded.model, "abc");
  EXPECT_EQ(loaded.options, example().options);
  EXPECT_EQ(loaded.progress, example().progress);
  ASSERT_EQ(loaded.tensors.size(), 2u);
  for (const auto& [name, tensor] : example().tensors) EXPECT_TRUE(loaded.tensors.at(name).same_bits(tensor)) << name;
}

TEST(Checkpoint, ThatIsCutAnywhereIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "last.safetensors";
  save_checkpoint(path, example());
  const std::string whole = read_file(path);
  for (size_t size = 0; size < whole.size(); size += 7) {
    write_file(path, whole.substr(0, size));
    EXPECT_NE(error_of([&] { load_checkpoint(path); }), "") << size << " bytes";
  }
}

TEST(Checkpoint, IsNotWrittenWithWhatIsNoNumberAndTheOneBeforeStays) {
  const TemporaryFolder folder;
  const std::string path = folder / "last.safetensors";
  save_checkpoint(path, example());
  const std::string before = read_file(path);
  Checkpoint spoilt = example();
  spoilt.tensors["state/w/variance"] = Tensor::of<float>({2}, {1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(error_of([&] { save_checkpoint(path, spoilt); }),
              HasSubstr("is not written, since state/w/variance of what was trained has NaN at [1]"));
  EXPECT_EQ(read_file(path), before);
}

TEST(Checkpoint, ThatWasChangedAnywhereIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "last.safetensors";
  save_checkpoint(path, example());
  const std::string whole = read_file(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_file(path, changed);
    EXPECT_NE(error_of([&] { load_checkpoint(path); }), "") << "byte " << at;
  }
}

TEST(Checkpoint, OfAnotherVersionOrKindSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder / "last.safetensors";
  write_safetensors(path, {}, {{"hone.checkpoint", "2"}});
  EXPECT_THAT(error_of([&] { load_checkpoint(path); }),
              HasSubstr("is a checkpoint of version 2; this hone reads version 1"));
  write_safetensors(path, {}, {});
  EXPECT_THAT(error_of([&] { load_checkpoint(path); }), HasSubstr("is no checkpoint of hone train"));
}

TEST(Checkpoint, OfAnotherModelOrOtherOptionsIsNotResumed) {
  const Checkpoint checkpoint = example();
  check_resumable("c", checkpoint, "abc", checkpoint.options);
  EXPECT_THAT(error_of([&] { check_resumable("c", checkpoint, "xyz", checkpoint.options); }),
              HasSubstr("c: is of another model"));
  EXPECT_EQ(error_of([&] { check_resumable("c", checkpoint, "abc", "rate = 1\nseed = 3"); }),
            "c: was written with other options: it has \"seed = 2\", this run \"seed = 3\". Resume with the same, or "
            "train anew");
  EXPECT_THAT(error_of([&] { check_resumable("c", checkpoint, "abc", checkpoint.options + "\nx = 1"); }),
              HasSubstr("it has \"\", this run \"x = 1\""));
}

}  // namespace
}  // namespace hone::test
