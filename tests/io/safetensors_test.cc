// safetensors: what is written is read back bit by bit, and no damaged file is read as if it were whole.
#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "base/error.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string file_with(std::string_view header, std::string_view buffer) {
  const uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text.append(header).append(buffer);
}

std::string open_error(std::string_view header, std::string_view buffer) {
  const TemporaryFolder folder;
  const std::string path = folder.put("x.safetensors", file_with(header, buffer));
  const std::string error = error_of([&] { SafetensorsFile file(path); });
  EXPECT_TRUE(error.empty() || error.starts_with(path)) << error;
  return error;
}

std::vector<NamedTensor> small_tensors() {
  return {{"b", Tensor::of<float>({2, 2}, {1, -2, std::numeric_limits<float>::quiet_NaN(), 4})},
          {"a", Tensor::of<int8_t>({3}, {1, -1, 127})},
          {"empty", Tensor(DType::i64, {0, 4})},
          {"scalar", Tensor::scalar<double>(0.1)}};
}

TEST(Safetensors, EveryDtypeIsReadBackBitByBit) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (DType d : {DType::boolean, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32,
                  DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Tensor t(d, {3, 5});
    auto bytes = t.data().bytes();
    Buffer data(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i)
      data.mutable_bytes()[i] = static_cast<std::byte>(d == DType::boolean ? i & 1 : i * 37 + 11);
    tensors.push_back({std::string(to_string(d)), Tensor(d, {3, 5}, std::move(data))});
  }
  write_safetensors(folder / "all.safetensors", tensors, {{"who", "ünïcode \"quoted\"\n"}});
  const SafetensorsFile file(folder / "all.safetensors");
  EXPECT_EQ(file.metadata().at("who"), "ünïcode \"quoted\"\n");
  EXPECT_EQ(file.entries().size(), tensors.size());
  for (const NamedTensor& t : tensors) EXPECT_TRUE(file.tensor(t.name).same_bits(t.tensor)) << t.name;
}

TEST(Safetensors, ScalarsAndEmptyTensorsSurvive) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", small_tensors());
  const SafetensorsFile file(folder / "x");
  for (const NamedTensor& t : small_tensors()) EXPECT_TRUE(file.tensor(t.name).same_bits(t.tensor)) << t.name;
}

TEST(Safetensors, WriterSortsByAlignmentThenNameAndAlignsTheBuffer) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", small_tensors());
  const std::string text = content_of(folder / "x");
  uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const size_t empty = text.find("\"empty\""), scalar = text.find("\"scalar\""), b = text.find("\"b\""),
               a = text.find("\"a\"");
  EXPECT_TRUE(empty < scalar && scalar < b && b < a);
}

TEST(Safetensors, TensorsShareTheMapping) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", small_tensors());
  std::optional<Tensor> b;
  {
    const SafetensorsFile file(folder / "x");
    b = file.tensor("b");
  }
  EXPECT_TRUE(b->data().is_mapped());
  EXPECT_EQ(b->as<float>()[3], 4);  // the mapping outlives the file object
}

TEST(Safetensors, MisalignedTensorsAreCopied) {
  const TemporaryFolder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const SafetensorsFile file(folder.put("x", file_with(header, std::string("\x07\0\0\x80\x3f", 5))));
  EXPECT_FALSE(file.tensor("b").data().is_mapped());
  EXPECT_EQ(file.tensor("b").as<float>()[0], 1.0f);
}

TEST(Safetensors, AbsentTensorNamesTheNearest) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", std::vector<NamedTensor>{{"encoder.weight", Tensor(DType::f32, {1})}});
  const SafetensorsFile file(folder / "x");
  EXPECT_THAT(error_of([&] { file.tensor("encoder.weigth"); }), HasSubstr("encoder.weight"));
}

TEST(Safetensors, NoTruncatedFileIsRead) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", small_tensors(), {{"k", "v"}});
  const std::string whole = content_of(folder / "x");
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string path = folder.put("cut", std::string_view(whole).substr(0, n));
    EXPECT_THAT(error_of([&] { SafetensorsFile file(path); }), testing::StartsWith(path)) << n << " bytes";
  }
  EXPECT_NE(error_of([&] { SafetensorsFile file(folder.put("cut", whole + '\0')); }), "");
}

// A flipped bit is either an Error, or still a header whose tensors tile the buffer (a letter of a name, say): never a
// crash, and never a tensor outside of the file.
TEST(Safetensors, FlippedHeaderBitsAreRefusedOrHarmless) {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", small_tensors(), {{"k", "v"}});
  const std::string whole = content_of(folder / "x");
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  int refused = 0;
  for (size_t i = 0; i < 8 + length; ++i)
    for (int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const std::string path = folder.put("flipped", damaged);
      refused += !error_of([&] {
                    const SafetensorsFile file(path);
                    size_t bytes = 0;
                    for (const SafetensorsEntry& e : file.entries()) bytes += file.tensor(e.name).data().size();
                    EXPECT_EQ(bytes + 8 + length, whole.size()) << "byte " << i << " bit " << bit;
                  }).empty();
    }
  EXPECT_GT(refused, static_cast<int>(length));  // of three flips per byte, most
}

TEST(Safetensors, AbsurdHeaderLengthsAreRefused) {
  const TemporaryFolder folder;
  for (uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}, uint64_t{50}}) {
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    const std::string path = folder.put("x", text + "{}      ");
    EXPECT_THAT(error_of([&] { SafetensorsFile file(path); }), testing::StartsWith(path)) << length;
  }
}

struct Bad {
  const char* header;
  const char* error;  // part of it
};

TEST(Safetensors, EachRuleOfTheFormatIsChecked) {
  const Bad cases[] = {
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       "overlap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       "hole"},
      {R"({"a":{"dtype":"U8","shape":[7],"data_offsets":[1,8]}})", "hole"},
      {R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "outside"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", "outside"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,0]}})", "outside"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "belong to none"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "takes 12 bytes"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", "overflows"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", "too large"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "negative number -2"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "number 2.0"},
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", "array of integers"},
      {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", "an array"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", "[begin, end]"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "\"data_offsets\" is missing"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "\"dtype\" is missing"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", "unknown key \"x\""},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "duplicate key \"dtype\""},
      {R"({"a":{"dtype":"C128","shape":[8],"data_offsets":[0,8]}})", "tensor \"a\": dtype \"C128\" is not supported"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "duplicate tensor name \"a\""},
      {R"({"__metadata__":{"k":"1","k":"2"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "duplicate metadata key"},
      {R"({"__metadata__":{"k":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "expected a string"},
      {R"({"__metadata__":"k","a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "expected an object"},
      {R"({"a":7})", "expected an object"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "not valid JSON"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} x)", "not valid JSON"},
      {"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "not valid JSON"},
      {R"([1])", "does not start with {"},
  };
  for (const Bad& bad : cases) EXPECT_THAT(open_error(bad.header, "12345678"), HasSubstr(bad.error)) << bad.header;
  EXPECT_EQ(open_error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )", "12345678"), "");
}

TEST(Safetensors, TenThousandTensorsOpen) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 10000; ++i) tensors.push_back({fmt::format("layer.{}.weight", i), Tensor::scalar<int32_t>(i)});
  write_safetensors(folder / "x", tensors);
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.tensor("layer.9876.weight").as<int32_t>()[0], 9876);
}

TEST(Safetensors, WriterRefusesNamesThatNoReaderCouldTellApart) {
  const TemporaryFolder folder;
  const auto write = [&](std::vector<NamedTensor> tensors) {
    return error_of([&] { write_safetensors(folder / "x", tensors); });
  };
  const Tensor t(DType::f32, {1});
  EXPECT_THAT(write({{"a", t}, {"a", t}}), HasSubstr("two tensors are called \"a\""));
  EXPECT_THAT(write({{"__metadata__", t}}), HasSubstr("reserves"));
  EXPECT_THAT(write({{"\xff", t}}), HasSubstr("UTF-8"));
  EXPECT_THAT(write({{"s", Tensor::strings({1}, {"x"})}}), HasSubstr("strings"));
  EXPECT_EQ(folder.entries(), 0u);
}

// A file size limit makes writing fail half-way as a full disk does.
TEST(Safetensors, FullDiskLeavesNothingBehind) {
  const TemporaryFolder folder;
  folder.put("x.safetensors", "the old content");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error = error_of([&] {
      write_safetensors(folder / "x.safetensors", std::vector<NamedTensor>{{"a", Tensor(DType::f32, {1000})}});
    });
    ::_exit(error.find("writing failed") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(content_of(folder / "x.safetensors"), "the old content");
}

TEST(Safetensors, UnwritableFolderIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { write_safetensors(folder / "no/such/x", small_tensors()); }), HasSubstr("no/such/x"));
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const std::string error = error_of([&] { write_safetensors(folder / "x", small_tensors()); });
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  EXPECT_THAT(error, HasSubstr("can't write here"));
}

TEST(Safetensors, ABooleanIsZeroOrOne) {
  const TemporaryFolder folder;
  const std::string header = R"({"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  const SafetensorsFile file(
      folder.put("b", std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "\1\2"));
  EXPECT_THAT(error_of([&] { file.tensor("b"); }), testing::HasSubstr("neither 0 nor 1"));
}

TEST(Safetensors, ATensorHasAtMost64Dimensions) {
  const TemporaryFolder folder;
  std::string shape = "1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  const std::string header = R"({"b":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})";
  EXPECT_THAT(error_of([&] {
                SafetensorsFile(folder.put(
                    "b", std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "\1"));
              }),
              testing::HasSubstr("more than 64"));
}

}  // namespace
}  // namespace hone
