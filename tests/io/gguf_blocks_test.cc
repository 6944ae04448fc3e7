// Every block type of GGUF: its golden vectors decode to their values through hone's formats, and what is written again
// has the same bytes.
#include "io/gguf/gguf_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/gguf/block_layout.h"
#include "tests/formats/golden.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct Golden {
  const GgufType* type;
  std::vector<std::byte> blocks;
  std::vector<float> values;
  std::vector<int64_t> shape() const { return {std::ssize(values) / type->block, type->block}; }
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  const Json document = golden::document("gguf");
  for (const Json& json : document.at("types"))
    all.push_back({gguf_type(json.at("id").get<uint32_t>()), golden::bytes_of(json.at("data").get<std::string>()),
                   golden::floats_of(json.at("values").get<std::string>())});
  return all;
}

// Where a code or a scale has the other sign, so has a zero: codes of MXFP4 and NVFP4 keep the -0 that llama.cpp's
// table has not, those of Q2_0 and TQ2_0 are negated.
bool may_flip_zeros(const GgufType& type) {
  return type.id == 39 || type.id == kNvfp4Type || type.id == 42 || type.id == 35;
}

// Without the blocks that have a scale of 255, which is refused.
Golden without_refused(Golden g) {
  const int scales = g.type->id == 39 ? 1 : g.type->id == kNvfp4Type ? 4 : 0;
  Golden kept{g.type, {}, {}};
  for (int64_t i = 0; i < std::ssize(g.blocks) / g.type->bytes; ++i) {
    const auto block = g.blocks.begin() + i * g.type->bytes;
    if (std::count(block, block + scales, std::byte{255}) > 0) continue;
    kept.blocks.insert(kept.blocks.end(), block, block + g.type->bytes);
    const auto values = g.values.begin() + i * g.type->block;
    kept.values.insert(kept.values.end(), values, values + g.type->block);
  }
  EXPECT_GE(std::ssize(kept.values), 2 * g.type->block);
  return kept;
}

TEST(GgufBlocks, DecodeToTheGoldenValues) {
  size_t values = 0, types = 0;
  for (const Golden& all : goldens()) {
    ASSERT_NE(all.type, nullptr);
    if (all.type->refused) continue;
    const Golden g = without_refused(all);
    SCOPED_TRACE(g.type->name);
    const Tensor tensor = tensor_of_blocks(*g.type, g.shape(), g.blocks, "x");
    const std::vector<float> found = tensor.to_floats();
    ASSERT_EQ(found.size(), g.values.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const bool same = golden::same_value(found[i], g.values[i]);
      EXPECT_TRUE(same || (may_flip_zeros(*g.type) && found[i] == 0 && g.values[i] == 0))
          << "element " << i << ": " << found[i] << ", expected " << g.values[i];
    }
    values += found.size(), ++types;
  }
  EXPECT_EQ(types, 25u);
  EXPECT_GT(values, 16'000u);
}

TEST(GgufBlocks, AreWrittenAsTheyWere) {
  std::set<std::string> written;
  for (const Golden& all : goldens()) {
    if (!all.type->is_packed() || !all.type->layout->join) continue;
    const Golden g = without_refused(all);
    EXPECT_EQ(blocks_of(*g.type, tensor_of_blocks(*g.type, g.shape(), g.blocks, "x")), g.blocks) << g.type->name;
    written.insert(g.type->name);
  }
  EXPECT_THAT(written, testing::IsSupersetOf({"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL",
                                              "MXFP4", "Q2_K", "Q3_K", "IQ4_XS"}));
}

TEST(GgufBlocks, TakeInHoneTheBytesThatTheyTakeInTheFile) {
  for (const GgufType& type : gguf_types()) {
    if (!type.is_packed() || is_codebook(type) || type.id == 34) continue;  // TQ1_0 packs digits of three closer
    const int64_t global = type.id == kNvfp4Type ? 4 : 0;
    EXPECT_EQ(plane_bytes(parse_format(type.format), std::vector<int64_t>{3, 2 * type.block}).total() - global,
              6 * type.bytes)
        << type.name;
  }
}

TEST(GgufBlocks, RowsOfSeveralBlocksFollowEachOther) {
  for (const Golden& all : goldens()) {
    if (all.type->refused || all.type->id == 35) continue;
    const Golden g = without_refused(all);
    const int64_t blocks = std::ssize(g.values) / g.type->block;
    const std::vector<float> whole = tensor_of_blocks(*g.type, {1, blocks * g.type->block}, g.blocks, "x").to_floats();
    const std::vector<float> rows = tensor_of_blocks(*g.type, g.shape(), g.blocks, "x").to_floats();
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(golden::same_value(whole[i], rows[i])) << g.type->name;
  }
}

TEST(GgufBlocks, AScaleThatReadersDisagreeOnIsRefused) {
  const std::vector<std::byte> block(17, std::byte{255});
  EXPECT_THAT(test::error_of([&] {
                tensor_of_blocks(*gguf_type(39), {1, 32}, block, "f.gguf: tensor \"w\"");
              }),
              HasSubstr("f.gguf: tensor \"w\": block 0 has the scale 255"));
}

TEST(GgufBlocks, AFourthTernaryCodeMakesIntegersOfTheTensor) {
  std::vector<std::byte> block(66, std::byte{0b01'01'01'01});
  block[64] = std::byte{0}, block[65] = std::byte{0x3c};  // 1
  EXPECT_EQ(to_string(*tensor_of_blocks(*gguf_type(35), {1, 256}, block, "x").format()), "ternary.g256.s=fp16");
  block[0] = std::byte{0b01'01'01'11};
  const Tensor wide = tensor_of_blocks(*gguf_type(35), {1, 256}, block, "x");
  EXPECT_EQ(to_string(*wide.format()), "int2.g256.s=fp16");
  EXPECT_EQ(wide.to_floats()[0], 2);
  EXPECT_EQ(wide.to_floats()[1], 0);
}

}  // namespace
}  // namespace hone
