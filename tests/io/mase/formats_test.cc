// The table of docs/FORMATS.md is what the code makes of MASE's keys, and settings that no format follows are refused.
#include "io/mase/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "io/toml.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::HasSubstr;

MaseOperand operand(const std::string& keys) {
  MaseOperand result{.where = "q.toml: weight"};
  const Json tree = parse_toml("of = {" + keys + "}", "q.toml");
  for (const auto& [key, value] : tree.at("of").items())
    if (key == "name") result.quantizer = value;
    else result.keys[key] = value;
  return result;
}
std::string sound(const std::string& keys) { return mase_format(operand(keys), MaseBits::sound); }
std::string error_for(const std::string& keys) {
  return test::error_of([&] { sound(keys); });
}

// What stands between the first two backquotes.
std::string code_in(const std::string& cell) {
  const std::vector<std::string> parts = split(cell, '`');
  return parts.size() > 1 ? parts[1] : std::string(trim(cell));
}

TEST(MaseFormats, TheTableOfTheFormatsIsWhatTheCodeMakes) {
  std::vector<std::string> shown;
  for (const std::string& line : split(read_file(test::kSourceDir + std::string("/docs/FORMATS.md")), '\n')) {
    if (!line.starts_with("| `name = ")) continue;
    SCOPED_TRACE(line);
    const std::vector<std::string> cells = split(line, '|');
    ASSERT_EQ(cells.size(), 5);
    const MaseOperand given = operand(code_in(cells[1]));
    shown.push_back(given.quantizer);
    EXPECT_EQ(mase_format(given, MaseBits::sound), code_in(cells[2]));
    if (code_in(cells[3]) == "refused")
      EXPECT_THAT(test::error_of([&] { mase_format(given, MaseBits::same); }), HasSubstr("leave --mase-exact out"));
    else EXPECT_EQ(mase_format(given, MaseBits::same), code_in(cells[3]));
  }
  for (const std::string& name : mase_quantizers()) EXPECT_THAT(shown, testing::Contains(name));
}

// {tensor, keys, format}: MASE aligns block_size with the last dimensions.
TEST(MaseFormats, BlocksFollowTheRankOfTheTensor) {
  const std::string keys = R"(name = "block_fp", width = 8, exponent_width = 8, block_size = )";
  const auto of = [&](const std::string& size, size_t rank, bool skips) {
    MaseOperand given = operand(keys + size);
    given.rank = rank, given.skip_first_dim = skips;
    return mase_format(given, MaseBits::sound);
  };
  EXPECT_EQ(of("[16]", 1, false), "bfp8");  // a bias
  EXPECT_EQ(of("[-1]", 1, false), "bfp8.tensor");
  EXPECT_EQ(of("[16]", 2, false), "bfp8.g0x16");  // a weight: all rows
  EXPECT_EQ(of("[16]", 2, true), "bfp8");         // activations of rank 2: each row has its own blocks
  EXPECT_EQ(of("[16]", 3, true), "bfp8.g0x16");   // of rank 3: all tokens of a sample
  EXPECT_EQ(of("[1, 16]", 3, true), "bfp8");
  EXPECT_EQ(of("[2, 16]", 2, false), "bfp8.g2x16");
  EXPECT_EQ(of("[-1, -1]", 2, false), "bfp8.g0x0");
  EXPECT_THAT(test::error_of([&] { of("[16]", 3, false); }), HasSubstr("rank 3 with its first dimension"));
  EXPECT_THAT(test::error_of([&] { of("[16]", 4, true); }), HasSubstr("rank 4 beside its first dimension"));
  EXPECT_EQ(sound(keys + "[16], skip_first_dim = true"), "bfp8");
}

TEST(MaseFormats, WhatNoFormatFollowsIsRefusedByName) {
  EXPECT_THAT(error_for(R"(name = "intger", width = 8)"), HasSubstr("Did you mean integer?"));
  EXPECT_THAT(error_for(R"(name = "integer", frac_width = 8)"), HasSubstr("q.toml: weight: width is missing"));
  EXPECT_THAT(error_for(R"(name = "integer", width = 8, fraction_width = 4)"),
              HasSubstr("integer has no key fraction_width; known: width, frac_width, is_signed, floor"));
  EXPECT_THAT(error_for(R"(name = "integer", width = 80, frac_width = 4)"), HasSubstr("int80.f4"));
  EXPECT_THAT(error_for(R"(name = "integer", width = 8.5)"), HasSubstr("width is 8.5; expected a whole number"));
  EXPECT_THAT(error_for(R"(name = "integer", width = 99999999999)"), HasSubstr("expected a whole number"));
  EXPECT_THAT(error_for(R"(name = "minifloat_ieee", width = 5, exponent_width = 4)"), HasSubstr("no mantissa"));
  EXPECT_THAT(error_for(R"(name = "binary", bipolar = false)"), HasSubstr("bipolar is false"));
  EXPECT_THAT(error_for(R"(name = "binary", stochastic = true)"), HasSubstr("by no chance"));
  EXPECT_THAT(error_for(R"(name = "block_fp", width = 8, exponent_width = 8, exponent_bias = 3, block_size = [16])"),
              HasSubstr("exponent_bias 3"));
  EXPECT_THAT(error_for(R"(name = "mxint", block_size = 32, element_bits = 8, quantile_search = true)"),
              HasSubstr("--method scale-search"));
  EXPECT_THAT(error_for(R"(name = "mxfp", block_size = 32, element_exp_bits = 1, element_frac_bits = 2)"),
              HasSubstr("elements e1m2"));
  for (const char* size : {"[]", "[0]", "[1.5]", "\"x\"", "[99999999]"})
    EXPECT_THAT(error_for(std::string(R"(name = "block_fp", width = 8, exponent_width = 8, block_size = )") + size),
                HasSubstr("block_size"))
        << size;
  for (const char* name : {"lutnet", "logicnets", "mxint_hardware", "flexround", "lsq", "scale_integer"})
    EXPECT_THAT(error_for(std::string("name = \"") + name + '"'), HasSubstr("q.toml: weight: " + std::string(name)));
}

}  // namespace
}  // namespace hone
