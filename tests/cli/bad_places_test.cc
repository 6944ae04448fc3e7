// Places that can't be written or read: the command fails with the path, and what was there before is still there.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"
#include "tests/cli/small_disk.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const ProgramOptions kNobody{.input = {}, .largest_file = {}, .output_to = {}, .environment = {}, .unprivileged = true};

class BadPlaces : public CliTest {
 protected:
  // Everybody may read the model, and nobody but us may write: what a user meets in a colleague's folder.
  BadPlaces() {
    fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    fs::permissions(out, kReadOnly);
  }
  ~BadPlaces() override { fs::permissions(out, fs::perms::owner_all); }

  // Each way of writing a file, into `place`.
  std::vector<std::vector<std::string>> all_writers(const std::string& place) const {
    return {{"quantize", model, "--to", "mxint8", "-o", place + "/q.safetensors"},
            {"export", model, "-o", place + "/m.onnx"},
            {"embed", model, "--text", "a", "-o", place + "/e.npy"},
            {"draw", model, "-o", place + "/g.dot"},
            {"run", model, "--text", "a", "--output-dir", place},
            {"cast", "mxint8", folder / "in.npy", "-o", place + "/c.npy"}};
  }
  void expect_full(const ProgramResult& result, const std::string& place) const {
    expect_refusal(result, {place, "writing failed", "No space left", "nothing was left behind"});
    EXPECT_TRUE(fs::is_empty(place));
  }
  void put_array() const { write_npy(folder / "in.npy", Tensor(DType::f32, {4096})); }

  static constexpr fs::perms kReadOnly =
      fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec;
};

// A disk without a free byte, and one that fills up in the middle of the file.
TEST_F(BadPlaces, AFullDiskLeavesNothing) {
  put_array();
  const std::string disk = folder / "disk", place = disk + "/place";
  fs::create_directories(disk);
  const OnSmallDisk result = on_small_disk(disk, 3 * 4096, [&] {
    fs::create_directories(place);
    folder.put("disk/filler", std::string(3 * 4096, 'x'));
    for (const std::vector<std::string>& command : all_writers(place)) expect_full(hone_program(command), place);
    fs::resize_file(disk + "/filler", 2 * 4096);
    for (const char* verb : {"quantize", "cast"})
      for (const std::vector<std::string>& command : all_writers(place))
        if (command[0] == verb) expect_full(hone_program(command), place);
  });
  if (result == OnSmallDisk::not_allowed)
    GTEST_SKIP() << "this system lets us mount no tmpfs; limits on the size of files stand in for it";
  EXPECT_EQ(result, OnSmallDisk::passed);
}

TEST_F(BadPlaces, AFullDiskKeepsTheOldFile) {
  const std::string disk = folder / "disk", file = disk + "/q.safetensors";
  fs::create_directories(disk);
  const OnSmallDisk result = on_small_disk(disk, 2 * 4096, [&] {
    write_file(file, "the old content");
    expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", file}),
                   {file, "writing failed", "No space left"});
    EXPECT_EQ(content_of(file), "the old content");
    EXPECT_EQ(std::distance(fs::directory_iterator(disk), {}), 1);
  });
  if (result == OnSmallDisk::not_allowed)
    GTEST_SKIP() << "this system lets us mount no tmpfs; limits on the size of files stand in for it";
  EXPECT_EQ(result, OnSmallDisk::passed);
}

TEST_F(BadPlaces, AFileThatGrowsTooLargeLeavesTheOldOneAndNothingElse) {
  const std::string file = folder.put("full/q.safetensors", "the old content");
  const ProgramResult result =
      hone_program({"quantize", model, "--to", "mxint8", "-o", file}, {.input = {}, .largest_file = 4096});
  expect_refusal(result, {file, "writing failed", "nothing was left behind"});
  EXPECT_EQ(content_of(file), "the old content");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "full"), {}), 1);
}

TEST_F(BadPlaces, EmbeddingsThatGrowTooLargeLeaveNothing) {
  folder.put("texts.txt", std::string(400, '\n'));  // 400 empty texts: 400 x 32 x 4 bytes, more than the limit
  const ProgramResult result =
      hone_program({"embed", model, "--text-file", folder / "texts.txt", "-o", out + "/e.npy", "--no-cache"},
                   {.input = {}, .largest_file = 16384});
  expect_refusal(result, {out + "/e.npy", "writing failed"});
}

// The cache only saves time: a full disk there must not stop the work.
TEST_F(BadPlaces, AFullDiskUnderTheCacheIsNoError) {
  const TemporaryFolder cache;
  const ProgramResult result =
      hone_program({"embed", model, "--text", "a", "-o", out + "/e.npy", "--cache", cache.path()},
                   {.input = {}, .largest_file = 400});
  expect_done(result);
  EXPECT_GT(fs::file_size(out + "/e.npy"), 0u);
  for (const auto& entry : fs::directory_iterator(cache.path())) EXPECT_LE(entry.file_size(), 400u);
}

TEST_F(BadPlaces, AFullStandardOutputIsAnError) {
  struct stat device {};
  if (::stat("/dev/full", &device) != 0 || !S_ISCHR(device.st_mode)) GTEST_SKIP() << "no /dev/full here";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"formats"}, {"print", model}, {"info", model, "--json"}}) {
    const ProgramResult result = hone_program(arguments, {.input = {}, .largest_file = {}, .output_to = "/dev/full"});
    expect_refusal(result, {"standard output", "writing failed"});
  }
}

TEST_F(BadPlaces, APipeIsNotReplacedByAFile) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", pipe}), {pipe, "device, pipe"});
  EXPECT_TRUE(fs::is_fifo(pipe));
}

// Behind a link: a mistake of ours must not replace the machine's own /dev/full.
TEST_F(BadPlaces, ADeviceIsNotReplacedByAFile) {
  const std::string device = folder / "device.npy";
  fs::create_symlink("/dev/full", device);
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", device}), {device, "device, pipe"});
  EXPECT_TRUE(fs::is_symlink(device));
}

// Opening a pipe that nobody writes to would wait for ever.
TEST_F(BadPlaces, APipeIsNoModelAndNoText) {
  const std::string pipe = folder / "pipe.safetensors";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(hone_program({"info", pipe}), {pipe, "not a regular file"});
  expect_refusal(hone_program({"embed", model, "--text-file", pipe, "-o", out + "/e.npy"}),
                 {pipe, "not a regular file"});
}

TEST_F(BadPlaces, FoldersThatAreNotThere) {
  const std::string file = folder / "no/such/q";
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", file + ".safetensors"}),
                 {file, "can't write here"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "-o", file + ".npy"}), {file, "can't write here"});
  expect_refusal(hone_program({"draw", model, "-o", file + ".dot"}), {file, "can't write here"});
  EXPECT_FALSE(fs::exists(folder / "no"));
}

TEST_F(BadPlaces, AFolderInPlaceOfTheFile) {
  fs::create_directories(folder / "d.safetensors");
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", folder / "d.safetensors"}),
                 {"is a directory"});
}

TEST_F(BadPlaces, FoldersWithoutPermission) {
  put_array();
  for (const std::vector<std::string>& command : all_writers(out))
    expect_refusal(hone_program(command, kNobody), {out, "can't write here", "Permission denied"});
}

TEST_F(BadPlaces, FoldersThatNobodyCanWrite) {
  put_array();
  for (const std::vector<std::string>& command : all_writers("/proc/self"))
    expect_refusal(hone_program(command), {"/proc/self", "can't write here"});
}

TEST_F(BadPlaces, FilesWithoutPermission) {
  const std::string file = folder / "q.safetensors", texts = folder.put("texts.txt", "a\n");
  expect_done(hone_program({"quantize", model, "--to", "mxint8", "-o", file}));
  for (const std::string& secret : {file, texts, model + "/model.safetensors"})
    fs::permissions(secret, fs::perms::owner_write);
  expect_refusal(hone_program({"info", file}, kNobody), {file, "can't open", "Permission denied"});
  expect_refusal(hone_program({"info", model}, kNobody),
                 {model + "/model.safetensors", "can't open", "Permission denied"});
  fs::permissions(model + "/model.safetensors", fs::perms::all);
  expect_refusal(hone_program({"embed", model, "--text-file", texts, "-o", out + "/e.npy"}, kNobody),
                 {texts, "can't open", "Permission denied"});
  fs::permissions(model, fs::perms::owner_write);
  expect_refusal(hone_program({"info", model}, kNobody), {model, "Permission denied"});
  fs::permissions(model, fs::perms::owner_all);
}

// The cache only saves time.
TEST_F(BadPlaces, ACacheWithoutPermissionIsNoError) {
  const std::string open = folder / "open";
  fs::create_directories(open);
  fs::permissions(open, fs::perms::all);
  ProgramOptions nobody = kNobody;
  nobody.environment = {{"HONE_CACHE", out}};
  expect_done(hone_program({"embed", model, "--text", "a", "-o", open + "/e.npy"}, nobody));
  EXPECT_TRUE(fs::exists(open + "/e.npy"));
  EXPECT_TRUE(fs::is_empty(out));
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
  expect_refusal(hone_program({"quantize", model, "--to", "mxint8", "-o", out + "/q.bin"}),
                 {out + "/q.bin", ".safetensors"});
  expect_refusal(hone_program({"draw", model, "-o", out + "/g.png"}), {out + "/g.png", ".svg or .dot"});
}

TEST_F(BadPlaces, UnreadableTexts) {
  expect_refusal(hone_program({"embed", model, "--text-file", folder / "absent", "-o", out + "/e.npy"}),
                 {folder / "absent"});
  expect_refusal(hone_program({"embed", model, "--text-file", folder.put("empty", ""), "-o", out + "/e.npy"}),
                 {folder / "empty", "one text per line"});
  expect_refusal(hone_program({"embed", model, "-o", out + "/e.npy"}), {"--text", "--text-file"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "--text-file", folder / "empty", "-o", out + "/e.npy"}),
                 {"one of them"});
  expect_refusal(hone_program({"embed", model, "--text", "a", "--batch", "0", "-o", out + "/e.npy"}), {"--batch", "0"},
                 2);
}

TEST_F(BadPlaces, EmbeddingNeedsATokenizerAndASentenceEncoder) {
  const std::vector<std::string> arguments{"embed", model, "--text", "a", "-o", out + "/e.npy"};
  fs::remove(model + "/vocab.txt");
  expect_refusal(hone_program(arguments), {model, "no tokenizer", "vocab.txt"});
  bert.write(model);
  fs::remove(model + "/modules.json");
  expect_refusal(hone_program(arguments), {"f32[B,S,32]", "modules.json"});
}

}  // namespace
}  // namespace hone
