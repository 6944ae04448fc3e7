// Adding a format is one file: ternary with a scale (docs/FORMATS.md, section 5.13), written here as its author would
// write it, passes its golden vectors. It uses what no other family does: sums, and a threshold that isn't the stored
// scale.
#include <gtest/gtest.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

Expr magnitude(Expr x) { return cast(Scalar::f64, abs(x)); }
Expr one() { return Expr::number(Scalar::f64, 1); }
// 0.75 times the mean magnitude; results 0 and 1 are the sum of magnitudes and the number of elements.
Expr threshold(Exprs results) { return cast(Scalar::f64, cast(Scalar::f32, results[0] / results[1]) * 0.75); }
constexpr Reduction kReductions[] = {
    {Reduction::Kind::sum, [](const Format&, Expr x, Exprs) { return magnitude(x); }},
    {Reduction::Kind::sum, [](const Format&, Expr, Exprs) { return one(); }},
    {Reduction::Kind::sum,
     [](const Format&, Expr x, Exprs earlier) { return select(magnitude(x) > threshold(earlier), magnitude(x), 0); }},
    {Reduction::Kind::sum,
     [](const Format&, Expr x, Exprs earlier) { return select(magnitude(x) > threshold(earlier), one(), 0); }}};

constexpr ScaleKind kMeanOfLarge{
    .name = "f32 mean of large",
    .reductions = kReductions,
    .code =
        [](const Format&, Exprs results, int, int) {
          const Expr mean = select(results[3] == 0, 0, results[2] / results[3]);
          return bitcast(Scalar::u32, cast(Scalar::f32, mean));
        },
    .value = [](const Format&, Expr code) { return cast(Scalar::f64, bitcast(Scalar::f32, code)); },
    .normalise =
        [](const Format&, Expr x, const GroupValues& group) {
          return select(magnitude(x) > threshold(group.results), select(x < 0, -one(), one()), 0);
        },
    .nan_code = [](const Format&) { return 0x7fc00000u; }};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() != "ternary") return false;
  using enum OptionKey;
  out.codec = &int_codec;
  out.element = int_element(2, 0, /*symmetric=*/true);
  out.scale_kind = &kMeanOfLarge;
  out.scale = f32_scale_params();
  out.geometry = resolve_geometry(text, read_options(text, {tensor, channel, g, tile, ax}), tensor_geometry());
  return true;
}

TEST(NewFormat, ScaledTernaryPassesItsGoldenVectors) {
  const Json document = golden::document("sign");
  int cases = 0;
  for (const Json& entry : document.at("formats")) {
    const std::string text = entry.at("format");
    Format format;
    if (text == "ternary" || !parse(text, format)) continue;
    for (const Json& c : entry.at("cases")) {
      SCOPED_TRACE(text + " " + c.at("name").get<std::string>());
      const Shape shape = c.at("shape");
      const std::vector<float> x = golden::floats_of(c.at("x").get<std::string>());
      const Planes planes = pack(format, shape, x);
      EXPECT_EQ(codes_of(format, shape, golden::view(planes)), c.at("codes").get<std::vector<uint32_t>>());
      EXPECT_EQ(scale_codes_of(format, shape, golden::view(planes)), c.at("scales").get<std::vector<uint32_t>>());
      EXPECT_EQ(planes.codes, golden::bytes_of(c.at("packed").get<std::string>()));
      ++cases;
    }
  }
  EXPECT_EQ(cases, 29);
}

}  // namespace
}  // namespace hone
