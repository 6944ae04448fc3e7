// hone_demo demo: formats of an encoder on sections of packages, with a report that needs nothing else.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Demo : public CliTest {
 protected:
  Demo() {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += fmt::format("Package: p{}\nSection: {}\nDescription: {} {}\n\n", i, i % 2 ? "admin" : "net",
                          i % 2 ? "birds and dogs" : "the cat", i);
    folder.put("packages.txt", text);
  }
  ProgramResult demo(std::vector<std::string> more) {
    std::vector<std::string> arguments{"demo",     model,          "--packages", folder / "packages.txt",
                                       "--folder", out + "/files", "--seconds",  "0.1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return hone_program(arguments);
  }
};

TEST_F(Demo, EachFormatHasARowAndAFile) {
  const std::string report = out + "/report.html";
  const ProgramResult result =
      demo({"--formats", "f32,mxint8", "--index", "20", "--queries", "10", "--report", report, "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["results"].size(), 2u);
  for (const Json& row : json["results"])
    for (const char* key :
         {"file_bytes", "weight_bytes", "peak_bytes", "latency_ms", "per_second", "compile_cold_ms", "first_result_ms"})
      EXPECT_GT(row.at(key).get<double>(), 0) << key;
  EXPECT_EQ(json["results"][0]["compute"], "f32");
  EXPECT_EQ(json["results"][1]["compute"], "bf16");
  EXPECT_EQ(json["task"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_TRUE(std::filesystem::exists(out + "/files/model.mxint8.safetensors"));
  const std::string html = content_of(report);
  EXPECT_THAT(html, HasSubstr("</html>"));
  EXPECT_THAT(html, HasSubstr("mxint8"));
  for (const char* remote : {"src=\"http", "href=\"http", "@import", "url(http"})
    EXPECT_THAT(html, testing::Not(HasSubstr(remote)));
}

TEST_F(Demo, TheReportIsNoInput) {
  for (const std::string& input : {folder / "packages.txt", model + "/config.json"}) {
    const std::string before = content_of(input);
    expect_refusal(demo({"--report", input}), {"--report", input});
    EXPECT_EQ(content_of(input), before);
  }
}

TEST_F(Demo, CountsHaveARange) {
  for (const char* value : {"-1", "0", "99999999999999999999999", "1e300", "nan", "", "x"})
    for (const char* flag : {"--index", "--queries"}) expect_refusal(demo({flag, value}), {flag}, 2);
}

TEST_F(Demo, OtherVerbsAreThoseOfHone) {
  expect_done(hone_program({"info", model}));
  expect_refusal(hone_program({"dem", model}), {"'dem'", "demo"}, 2);
}

TEST_F(Demo, TooFewPackagesAreAnError) {
  expect_refusal(demo({"--formats", "f32", "--index", "200", "--queries", "10"}),
                 {"packages.txt", "40 packages", "210"});
}

}  // namespace
}  // namespace hone
