// What a user sees who writes a format string.
#include <gtest/gtest.h>

#include "tests/formats/examples.h"

namespace hone {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_format(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FormatStrings, ExamplesOfEveryFamilyAreCanonical) {
  for (const std::string& example : example_formats()) EXPECT_EQ(to_string(parse_format(example)), example);
}

TEST(FormatStrings, AStringIsReadBackAsTheSameFormat) {
  for (const std::string& example : example_formats()) {
    const Format format = parse_format(example);
    EXPECT_TRUE(parse_format(to_string(format)) == format) << example;
  }
}

TEST(FormatStrings, AnErrorPointsAtTheOptionAndSaysWhatToWrite) {
  EXPECT_EQ(message_of("mxint8.b32"),
            "E_OPT: format 'mxint8.b32': unknown option 'b32'; write 'g32' for the group size\n"
            "  mxint8.b32\n"
            "         ^");
  EXPECT_EQ(message_of("int8.asym"),
            "E_OPT: format 'int8.asym': 'asym' needs an unsigned head; write uint8.asym\n"
            "  int8.asym\n"
            "       ^");
}

TEST(FormatStrings, ErrorsNameTheNearestSpelling) {
  EXPECT_NE(message_of("MXINT8").find("lower case: mxint8"), std::string::npos);
  EXPECT_NE(message_of("mxfp8").find("mxfp8_e4m3 or mxfp8_e5m2"), std::string::npos);
  EXPECT_NE(message_of("mxinf8").find("Did you mean mxint8"), std::string::npos);
}

TEST(FormatStrings, MalformedTextIsRefusedWithItsCode) {
  const std::pair<const char*, const char*> cases[] = {
      {"int8.", "E_SYNTAX"},           {".f4", "E_SYNTAX"},
      {"int8 ", "E_SYNTAX"},           {"int8.f4\n", "E_SYNTAX"},
      {"int99999999999", "E_WIDTH"},   {"int8.f99999999999", "E_VALUE"},
      {"int8.ax0", "E_CONFLICT"},      {"int8.tensor.channel", "E_CONFLICT"},
      {"mxint8.g2x8", "E_OPT"},        {"mxint8.g65537", "E_VALUE"},
      {"int8.channel.ax8", "E_VALUE"}, {"mxfp4.compat=best", "E_VALUE"},
      {"uint8.f4.asym", "E_CONFLICT"}, {"int8.g032", "E_OPT"},
      {"minifloat_e04m3", "E_SYNTAX"}, {"minifloat_e4m3.bias148", "E_EXACT"},
      {"minifloat_e4", "E_HEAD"},      {"fp32.f4", "E_OPT"}};
  for (const auto& [text, code] : cases)
    EXPECT_EQ(message_of(text).substr(0, message_of(text).find(':')), code) << text;
}

// Every string of up to 3 characters over a small alphabet after a valid head is either accepted or a FormatError.
TEST(FormatStrings, ArbitraryTextIsNeverAnythingButAFormatError) {
  Philox random(4);
  const std::string alphabet = "gfaxe018.=-_m";
  for (const char* head : {"int8", "mxint8", "minifloat_e4m3", "fp8_e4m3", "", "mxfp"})
    for (int i = 0; i < 2000; ++i) {
      std::string text = head;
      for (uint32_t n = random.below(8); n > 0; --n)
        text += alphabet[random.below(static_cast<uint32_t>(alphabet.size()))];
      EXPECT_NO_THROW(message_of(text)) << text;
    }
}

TEST(FormatStrings, PlainFloatsAreRecognised) {
  for (const char* text : {"fp32", "fp16", "bf16"}) EXPECT_TRUE(is_plain_float(parse_format(text)));
  for (const char* text : {"fp8_e4m3", "minifloat_e5m10", "int8"}) EXPECT_FALSE(is_plain_float(parse_format(text)));
}

}  // namespace
}  // namespace hone
