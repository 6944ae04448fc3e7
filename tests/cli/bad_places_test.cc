// Places that can't be written or read: the command fails with the path, and what was there before is still there.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using BadPlaces = CliTest;

TEST_F(BadPlaces, AFullDiskLeavesTheOldFileAndNothingElse) {
  const std::string file = folder.put("full/q.safetensors", "the old content");
  const ProgramResult result =
      hone_program({"quantize", model, "--to", "mxint8", "-o", file}, {.input = {}, .largest_file = 4096});
  expect_refusal(result, {file, "writing failed", "nothing was left behind"});
  EXPECT_EQ(content_of(file), "the old content");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "full"), {}), 1);
}

TEST_F(BadPlaces, AFullDiskWhileEmbeddingsAreWritten) {
  folder.put("texts.txt", std::string(400, '\n'));  // 400 empty texts: 400 x 32 x 4 bytes, more than the limit
  const ProgramResult result = hone_program({"embed", model, "--text-file", folder / "texts.txt", "-o", out + "/e.npy", "--no-cache"},
                                            {.input = {}, .largest_file = 16384});
  expect_refusal(result, {out + "/e.npy", "writing failed"});
}

// The cache only saves time: a full disk there must not stop the work.
TEST_F(BadPlaces, AFullDiskUnderTheCacheIsNoError) {
  const TemporaryFolder cache;
  const ProgramResult result = hone_program({"embed", model, "--text", "a", "-o", out + "/e.npy", "--cache", cache.path()},
                                            {.input = {}, .largest_file = 400});
  expect_done(result);
  EXPECT_GT(std::filesystem::file_size(out + "/e.npy"), 0u);
  for (const auto& entry : std::filesystem::directory_iterator(cache.path())) EXPECT_LE(entry.file_size(), 400u);
}

TEST_F(BadPlaces, AFullStandardOutputIsAnError) {
  struct stat device{};
  if (::stat("/dev/full", &device) != 0 || !S_ISCHR(device.st_mode)) GTEST_SKIP() << "no /dev/full here";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"formats"}, {"print", model}, {"info", model, "--json"}}) {
    const ProgramResult result = hone_program(arguments, {.input = {}, .largest_file = {}, .output_to = "/dev/full"});
    expect_refusal(result, {"standard output", "writing failed"});
  }
}

TEST_F(BadPlaces, APipeIsNotReplacedByAFile) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", pipe}), {pipe, "device, pipe"});
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(BadPlaces, FoldersThatAreNotThere) {
  const std::string file = folder / "no/such/q";
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", file + ".safetensors"}), {file, "can't write here"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", file + ".npy"}), {file, "can't write here"});
  expect_refusal(hone_program({"draw", model, "-o", file + ".dot"}), {file, "can't write here"});
  EXPECT_FALSE(std::filesystem::exists(folder / "no"));
}

TEST_F(BadPlaces, AFolderInPlaceOfTheFile) {
  std::filesystem::create_directories(folder / "d.safetensors");
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", folder / "d.safetensors"}), {"is a directory"});
}

TEST_F(BadPlaces, FoldersWithoutPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(out, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const ProgramResult result = hone_program({"quantize", model, "--to", "mxint8", "-o", out + "/q.safetensors"});
  std::filesystem::permissions(out, std::filesystem::perms::owner_all);
  expect_refusal(result, {out, "can't write here"});
}

// The name of a plain file where a folder is needed: the file system's own errors are bad input, not bugs.
TEST_F(BadPlaces, AFileInPlaceOfAFolder) {
  const std::string file = folder.put("file", "x");
  expect_refusal(hone_program({"run", model, "--text", "a", "--output-dir", file}), {file});
  expect_refusal(hone_program({"run", model, "--text", "a", "--output-dir", file + "/inside"}), {file});
  expect_refusal(hone_program({"info", file + "/model"}), {file + "/model"});
  expect_refusal(hone_program({"info", std::string(5000, 'a')}), {"aaa"});
  EXPECT_EQ(content_of(file), "x");
}

TEST_F(BadPlaces, EndingsThatSayNothing) {
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", out + "/q.bin"}), {out + "/q.bin", ".safetensors"});
  expect_refusal(hone_program({"draw", model, "-o", out + "/g.png"}), {out + "/g.png", ".svg or .dot"});
}

TEST_F(BadPlaces, UnreadableTexts) {
  expect_refusal(hone_program({"embed", model, "--text-file", folder / "absent", "-o", out + "/e.npy"}), {folder / "absent"});
  expect_refusal(hone_program({"embed", model, "--text-file", folder.put("empty", ""), "-o", out + "/e.npy"}),
                 {folder / "empty", "one text per line"});
  expect_refusal(hone_program({"embed", model, "-o", out + "/e.npy"}), {"--text", "--text-file"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "--text-file", folder / "empty", "-o", out + "/e.npy"}), {"one of them"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "--batch", "0", "-o", out + "/e.npy"}), {"batch", "0"});
}

TEST_F(BadPlaces, EmbeddingNeedsATokenizerAndASentenceEncoder) {
  const std::vector<std::string> arguments{"embed", model, "--text", "a", "-o", out + "/e.npy"};
  std::filesystem::remove(model + "/vocab.txt");
  expect_refusal(hone_program(arguments), {model, "no tokenizer", "vocab.txt"});
  bert.write(model);
  std::filesystem::remove(model + "/modules.json");
  expect_refusal(hone_program(arguments), {"f32[B,S,32]", "modules.json"});
}

}  // namespace
}  // namespace hone
