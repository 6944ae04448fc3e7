// The list of formats and casting through one, for every registered example.
#include "jobs/formats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "base/text.h"
#include "formats/packed.h"
#include "formats/registry.h"
#include "views/formats.h"

namespace hone {
namespace {

std::vector<std::string> examples() {
  std::vector<std::string> all;
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) all.push_back(example);
  return all;
}

TEST(ListFormats, HasEveryExample) {
  const FormatList list = list_formats();
  std::vector<std::string> listed;
  for (const ListedFormat& format : list.formats) listed.push_back(to_string(format.format));
  EXPECT_EQ(listed, examples());
  const Record record = view_of(list);
  const Table& table = std::get<Table>(record.sections.at(0).blocks.at(0));
  ASSERT_EQ(table.rows.size(), listed.size());
  for (size_t row = 0; row < listed.size(); ++row) {
    EXPECT_EQ(std::get<std::string>(table.rows[row].at(0)), listed[row]);
    EXPECT_EQ(table.rows[row].size(), table.columns.size());
  }
}

TEST(CastThrough, GivesTheValuesAndPartsOfEveryFormat) {
  Philox random(3);
  std::vector<float> x(5 * 70);
  for (float& v : x) v = random.normal();
  const Tensor input = Tensor::of<float>({5, 70}, x);
  for (const std::string& text : examples()) {
    const Format format = parse_format(text);
    const CastResult result = cast_through(text, input);
    std::vector<float> values(x.size());
    fake_quantize(format, input.shape(), x, values);
    EXPECT_EQ(result.values.to_floats(), values) << text;
    EXPECT_EQ(result.codes.has_value(), !is_fake_only(format)) << text;
    if (!result.codes) continue;
    const PlaneBytes bytes = plane_bytes(format, input.shape());
    EXPECT_EQ(result.scales.has_value(), bytes.scales > 0) << text;
    EXPECT_EQ(result.zero_points.has_value(), bytes.zero_points > 0) << text;
    EXPECT_EQ(result.outer_scales.has_value(), is_two_level(format)) << text;
    EXPECT_EQ(result.global_scale.has_value(), bytes.global > 0 && !is_two_level(format)) << text;
  }
}

// What is written is what the written codes mean, for values that formats treat each in its own way too.
TEST(CastThrough, ValuesAreWhatTheCodesDecodeTo) {
  const std::vector<std::vector<float>> cases{{NAN, 1, -2, 0.5f},
                                              {INFINITY, 1, -2, 0.5f},
                                              {-INFINITY, -0.0f, 1e-45f, 3.4e38f},
                                              {-0.0f, 0, 0, 0},
                                              {1e-38f, -1e-40f, 1e-30f, 0},
                                              {3.4e38f, -3.4e38f, 65504, 448},
                                              {NAN, INFINITY, -INFINITY, NAN}};
  for (const std::string& text : examples()) {
    const Format format = parse_format(text);
    for (std::vector<float> values : cases) {
      values.resize(70, 0.25f);
      const Tensor input = Tensor::of<float>({1, 70}, values);
      const CastResult result = cast_through(text, input);
      if (!result.codes) continue;
      const auto list = [](const std::optional<Tensor>& tensor) {
        std::vector<uint32_t> codes;
        if (tensor)
          for (int64_t code : tensor->to_integers()) codes.push_back(static_cast<uint32_t>(code));
        return codes;
      };
      const Planes planes =
          planes_of(format, input.shape(), list(result.codes), list(result.scales), list(result.zero_points),
                    result.global_scale.value_or(0), list(result.outer_scales));
      std::vector<float> decoded(values.size());
      unpack(format, input.shape(), {planes.codes, planes.scales, planes.zero_points, planes.global}, decoded);
      EXPECT_TRUE(result.values.same_bits(Tensor::of<float>({1, 70}, decoded))) << text << " " << values[0];
      int64_t lost = 0;
      for (size_t i = 0; i < values.size(); ++i) lost += std::isnan(values[i]) && !std::isnan(decoded[i]);
      EXPECT_EQ(result.lost_nan, lost) << text;
    }
  }
}

TEST(CastThrough, NanWithoutACodeIsCounted) {
  const CastResult result = cast_through("int8.f4", Tensor::of<float>({3}, {NAN, 2.0f, NAN}));
  EXPECT_EQ(result.values.to_floats(), (std::vector<float>{0, 2, 0}));
  EXPECT_EQ(result.lost_nan, 2);
  EXPECT_EQ(result.quality.not_finite, 2);
  EXPECT_EQ(cast_through("fp16", Tensor::of<float>({1}, {NAN})).lost_nan, 0);
}

TEST(CastThrough, AFormatOfValuesOnlyCountsWhatIsNotFinite) {
  const CastResult result = cast_through("log8.compat=mase", Tensor::of<float>({3}, {NAN, INFINITY, 1.0f}));
  EXPECT_EQ(result.counts.nan, 1);
  EXPECT_EQ(result.counts.inf, 1);
}

}  // namespace
}  // namespace hone
