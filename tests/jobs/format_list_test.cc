#include "jobs/format_list.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace hone {
namespace {

using Texts = std::vector<std::string>;

std::string error_of(const std::string& list) {
  return test::error_of([&] { parse_format_list({list}); });
}

TEST(FormatList, ExpandsRangesAndLists) {
  EXPECT_EQ(parse_format_list({"int{4..6}.f{2,4}"}),
            (Texts{"int4.f2", "int4.f4", "int5.f2", "int5.f4", "int6.f2", "int6.f4"}));
  EXPECT_EQ(parse_format_list({"mxint{8..6},mxfp4", "bf16"}), (Texts{"mxint8", "mxint7", "mxint6", "mxfp4", "bf16"}));
  EXPECT_EQ(parse_format_list({"int{4..32}.f{2,4,8}"}).size(), 29U * 3);
}

TEST(FormatList, SpellingsOfOneFormatCountOnce) {
  EXPECT_EQ(parse_format_list({"mxfp4,mxfp4_e2m1,mxfp4.g32"}), Texts{"mxfp4"});
}

TEST(FormatList, ErrorsNameThePattern) {
  EXPECT_EQ(error_of("int{4..8"), "formats \"int{4..8\": a { without its }; braces don't nest");
  EXPECT_EQ(error_of("int4..8}"), "formats \"int4..8}\": a } without its {");
  EXPECT_EQ(error_of("int{a..8}"), "formats \"int{a..8}\": {a..8} is no range of whole numbers such as {4..8}");
  EXPECT_EQ(error_of("int{4..99999999}").find("formats \"int{4..99999999}\""), 0U);
  EXPECT_NE(error_of("mxint{8..9}").find("formats \"mxint{8..9}\": "), std::string::npos);
  EXPECT_NE(error_of("mxint").find("E_AMBIG"), std::string::npos);
}

TEST(FormatList, FamiliesAreWhatIsLeftWithoutWidths) {
  EXPECT_EQ(format_family("int8.f4"), "int.f4");
  EXPECT_EQ(format_family("mxint4"), "mxint");
  EXPECT_EQ(format_family("minifloat_e4m3"), "minifloat");
  EXPECT_EQ(format_family("mxfp8_e4m3.rule=even"), "mxfp.rule=even");
  EXPECT_EQ(format_family("binary.channel"), "binary.channel");
}

}  // namespace
}  // namespace hone
