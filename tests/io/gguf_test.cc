// GGUF files: what is written is read back bit by bit, shards are one model, and no damaged file is read as if it were
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/philox.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/write_gguf.h"
#include "ir/packer.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor normal(std::vector<int64_t> shape, uint64_t seed = 1) {
  Philox random(seed);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = random.normal();
  return Tensor::from_floats(DType::f32, std::move(shape), values);
}

Tensor packed(const char* format, std::vector<int64_t> shape) {
  return Packer().pack(parse_format(format), normal(std::move(shape)));
}

const GgufSettings kSettings{{"general.architecture", "llama"}};

TEST(Gguf, EveryTypeThatIsWrittenIsReadBackBitByBit) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const GgufType& type : gguf_types()) {
    if (!is_writable(type)) continue;
    const std::string name = std::string(type.name) + ".weight";
    if (type.is_packed()) tensors.push_back({name, packed(type.format, {3, 512})});
    else tensors.push_back({name, normal({2, 5, 3}).converted(*type.dtype)});
  }
  write_gguf(folder / "all.gguf", tensors, kSettings);
  const GgufFile file(folder / "all.gguf");
  EXPECT_EQ(file.architecture(), "llama");
  ASSERT_EQ(file.entries().size(), tensors.size());
  for (const NamedTensor& t : tensors) EXPECT_TRUE(file.tensor(t.name).same_bits(t.tensor)) << t.name;
}

TEST(Gguf, SettingsKeepTheirTypes) {
  const TemporaryFolder folder;
  GgufSettings settings = kSettings;
  settings["a.count"] = uint32_t{7};
  settings["a.offset"] = int32_t{-3};
  settings["a.epsilon"] = 0.25f;
  settings["a.on"] = true;
  settings["a.tokens"] = std::vector<std::string>{"x", "", "ü"};
  settings["a.kinds"] = std::vector<int32_t>{1, -2};
  settings["a.scores"] = std::vector<float>{0.5f};
  write_gguf(folder / "x.gguf", {}, settings);
  const GgufFile file(folder / "x.gguf");
  const GgufMetadata& m = file.metadata();
  EXPECT_EQ(m.integer("a.count"), 7);
  EXPECT_EQ(m.integer("a.offset"), -3);
  EXPECT_EQ(m.number("a.epsilon"), 0.25);
  EXPECT_TRUE(m.flag("a.on"));
  EXPECT_THAT(m.texts("a.tokens"), ElementsAre("x", "", "ü"));
  EXPECT_THAT(m.integers("a.kinds"), ElementsAre(1, -2));
  EXPECT_THAT(m.numbers("a.scores"), ElementsAre(0.5));
  EXPECT_THAT(error_of([&] { m.integer("a.tokens"); }),
              HasSubstr("\"a.tokens\" is an array of string; expected an integer"));
  EXPECT_THAT(error_of([&] { m.text("a.coun"); }), HasSubstr("\"a.coun\" is missing"));
}

TEST(Gguf, ARowThatFitsNoBlockIsRefusedWithTheNearestTypeThatDoes) {
  const auto refusal = [](const char* format, int64_t row) {
    return error_of([&] { gguf_type_of("w", packed(format, {2, row})); });
  };
  EXPECT_THAT(refusal("uint4.g32.s=u6.m=u6", 576),
              HasSubstr("rows of 576, which are no whole blocks of 256 of Q4_K; the nearest type that fits is Q4_0"));
  EXPECT_THAT(refusal("int6.g16.s=i8", 576), HasSubstr("the nearest type that fits is Q5_1"));
  EXPECT_THAT(refusal("int4.g32.s=fp16", 33), HasSubstr("the nearest type that fits is F16"));
  EXPECT_THAT(refusal("int4.g64", 64),
              HasSubstr("for which GGUF has no type; it has: F32, F16, int4.g32.s=fp16 (Q4_0)"));
}

// --- shards

std::string shard(int number, int count) { return fmt::format("m-{:05}-of-{:05}.gguf", number + 1, count); }

GgufSettings shard_settings(int number, int count, int tensors) {
  GgufSettings settings = kSettings;
  settings["split.no"] = static_cast<uint32_t>(number);
  settings["split.count"] = static_cast<uint32_t>(count);
  settings["split.tensors.count"] = int32_t{tensors};
  return settings;
}

TEST(GgufShards, AnyOfThemOpensAll) {
  const TemporaryFolder folder;
  const NamedTensor a{"a", normal({4}, 1)}, b{"b", normal({4}, 2)};
  write_gguf(folder / shard(0, 2), {&a, 1}, shard_settings(0, 2, 2));
  write_gguf(folder / shard(1, 2), {&b, 1}, shard_settings(1, 2, 2));
  for (int number : {0, 1}) {
    const GgufFile file(folder / shard(number, 2));
    EXPECT_TRUE(file.tensor("a").same_bits(a.tensor));
    EXPECT_TRUE(file.tensor("b").same_bits(b.tensor));
    EXPECT_EQ(file.paths().size(), 2u);
  }
}

TEST(GgufShards, MissingRepeatedAndMixedOnesAreRefused) {
  const TemporaryFolder folder;
  const NamedTensor a{"a", normal({4})};
  const auto put = [&](int number, int count, GgufSettings settings) {
    write_gguf(folder / shard(number, count), {&a, 1}, settings);
  };
  const auto error = [&](int number, int count) {
    return error_of([&] { GgufFile file(folder / shard(number, count)); });
  };
  put(0, 3, shard_settings(0, 3, 3));
  EXPECT_THAT(error(0, 3), HasSubstr("2 of its 3 shards are missing: " + (folder / shard(1, 3))));
  put(0, 2, shard_settings(0, 2, 2)), put(1, 2, shard_settings(1, 2, 2));
  EXPECT_THAT(error(0, 2), HasSubstr("tensor \"a\" is in " + (folder / shard(0, 2)) + ", too"));
  put(1, 2, shard_settings(0, 2, 2));
  EXPECT_THAT(error(0, 2), HasSubstr("says that it is shard 1 of 2; its name says 2 of 2"));
  write_gguf(folder / "renamed.gguf", {&a, 1}, shard_settings(0, 2, 1));
  EXPECT_THAT(error_of([&] { GgufFile file(folder / "renamed.gguf"); }), HasSubstr("give it that name again"));
}

// --- damage

class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& string(std::string_view text) {
    number<uint64_t>(text.size());
    text_ += text;
    return *this;
  }
  Bytes& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::string text_;
};

Bytes header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return Bytes().raw("GGUF").number(version).number(tensors).number(keys);
}

std::string open_error(const Bytes& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.put("x.gguf", bytes.text_);
  const std::string error = error_of([&] { GgufFile file(path); });
  EXPECT_TRUE(error.empty() || error.starts_with(path)) << error;
  return error;
}

// One tensor "w" of these dimensions, innermost first.
Bytes with_tensor(std::vector<uint64_t> dims, uint32_t type, uint64_t offset = 0) {
  Bytes bytes = header(1, 0).string("w").number(static_cast<uint32_t>(dims.size()));
  for (uint64_t d : dims) bytes.number(d);
  return bytes.number(type).number(offset);
}

TEST(GgufDamage, OtherFilesAndVersionsAreNamed) {
  EXPECT_THAT(open_error(Bytes().raw("GGM")), HasSubstr("the magic takes 4 bytes, but only 3 follow"));
  EXPECT_THAT(open_error(Bytes().raw("PK\3\4....")), HasSubstr("does not begin with GGUF"));
  EXPECT_THAT(open_error(header(0, 0, 1)), HasSubstr("has version 1; accepted: 2 and 3"));
  EXPECT_THAT(open_error(header(0, 0, 0x03000000)), HasSubstr("big-endian file of version 3"));
  EXPECT_EQ(open_error(header(0, 0, 2)), "");
}

TEST(GgufDamage, CountsAreHeldAgainstTheBytesThatFollow) {
  EXPECT_THAT(open_error(header(0, uint64_t{1} << 60)), HasSubstr("keys, which 0 bytes can't hold"));
  EXPECT_THAT(open_error(header(uint64_t{1} << 60, 0)), HasSubstr("tensors, which 0 bytes can't hold"));
  const auto key = [] { return header(0, 1).string("k"); };
  EXPECT_THAT(open_error(header(0, 1).number(uint64_t{1} << 30).raw("12345678")), HasSubstr("only 8 follow"));
  EXPECT_THAT(open_error(key().number(9u).number(4u).number(uint64_t{1} << 62)),
              HasSubstr("elements of a value, which 0 bytes can't hold"));
  EXPECT_THAT(open_error(key().number(9u).number(8u).number(uint64_t{1} << 61)),
              HasSubstr("elements of a value, which 0 bytes can't hold"));
  EXPECT_THAT(open_error(key().number(9u).number(9u).number(uint64_t{1})), HasSubstr("array of arrays"));
  EXPECT_THAT(open_error(key().number(13u).number(uint64_t{1})), HasSubstr("of type 13"));
  EXPECT_THAT(
      open_error(header(0, 2).string("k").number(0u).number(uint8_t{1}).string("k").number(0u).number(uint8_t{1})),
      HasSubstr("key \"k\" is there twice"));
}

TEST(GgufDamage, AnAlignmentIsAPowerOfTwo) {
  for (uint32_t alignment : {0u, 3u, 1u << 30})
    EXPECT_THAT(open_error(header(0, 1).string("general.alignment").number(4u).number(alignment)),
                HasSubstr("general.alignment is " + std::to_string(alignment)));
}

TEST(GgufDamage, ShapesAreCheckedBeforeTheyAreMultiplied) {
  EXPECT_THAT(open_error(with_tensor({1, 1, 1, 1, 1}, 0)), HasSubstr("has 5 dimensions; at most 4"));
  EXPECT_THAT(open_error(with_tensor({uint64_t{1} << 63}, 0)), HasSubstr("is too large"));
  const uint64_t half = uint64_t{1} << 32;
  EXPECT_THAT(open_error(with_tensor({half, half}, 0)), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(open_error(with_tensor({half, half, half, half}, 2)), HasSubstr("overflows 64 bits"));
  EXPECT_THAT(open_error(with_tensor({33}, 2)), HasSubstr("Q4_0 has blocks of 32, but rows have 33 elements"));
  EXPECT_THAT(open_error(with_tensor({4}, 0)), HasSubstr("the file may be truncated"));
  EXPECT_THAT(open_error(with_tensor({0}, 0, 64)), HasSubstr("starts at byte 64 of the data"));
}

TEST(GgufDamage, TypesThatAreNotKnownAreNamedBesideThoseThatAre) {
  EXPECT_THAT(open_error(with_tensor({0}, 99)),
              HasSubstr("tensor \"w\" has type 99, which is not known; known: F32, F16"));
  const TemporaryFolder folder;
  const GgufFile file(folder.put("x.gguf", with_tensor({0}, 9).text_));  // the rest of the file is read
  EXPECT_THAT(error_of([&] { file.tensor("w"); }), HasSubstr("is of type Q8_1: it is for activations"));
  EXPECT_THAT(error_of([&] { file.tensor("W"); }), HasSubstr("there is no tensor \"W\""));
}

TEST(GgufDamage, EveryPrefixOfAFileIsRefused) {
  const TemporaryFolder folder;
  const NamedTensor tensors[] = {{"a", packed("int4.g32.s=fp16", {2, 64})}, {"b", normal({8})}};
  write_gguf(folder / "whole.gguf", tensors, kSettings);
  const std::string whole = content_of(folder / "whole.gguf");
  for (size_t length = 0; length < whole.size(); length += 3) {
    const std::string path = folder.put("part.gguf", whole.substr(0, length));
    EXPECT_NE(error_of([&] { GgufFile file(path); }), "") << length;
  }
}

}  // namespace
}  // namespace hone
