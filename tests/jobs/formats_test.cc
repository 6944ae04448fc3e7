// The list of formats and casting through one, for every registered example.
#include "jobs/formats.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/text.h"
#include "formats/registry.h"

namespace hone {
namespace {

std::vector<std::string> examples() {
  std::vector<std::string> all;
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) all.push_back(example);
  return all;
}

TEST(ListFormats, HasARowForEveryExample) {
  const Record record = list_formats();
  const Table& table = std::get<Table>(record.sections.at(0).blocks.at(0));
  std::vector<std::string> listed;
  for (const auto& row : table.rows) {
    listed.push_back(std::get<std::string>(row.at(0)));
    EXPECT_EQ(row.size(), table.columns.size());
  }
  EXPECT_EQ(listed, examples());
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
    fake_quantise(format, input.shape(), x, values);
    EXPECT_EQ(result.values.to_floats(), values) << text;
    EXPECT_EQ(result.codes.has_value(), !is_fake_only(format)) << text;
    if (!result.codes) continue;
    const PlaneBytes bytes = plane_bytes(format, input.shape());
    EXPECT_EQ(result.scales.has_value(), bytes.scales > 0) << text;
    EXPECT_EQ(result.zero_points.has_value(), bytes.zero_points > 0) << text;
    EXPECT_EQ(result.global_scale.has_value(), bytes.global > 0) << text;
  }
}

TEST(CastThrough, AFormatOfValuesOnlyCountsWhatIsNotFinite) {
  const CastResult result = cast_through("log8.compat=mase", Tensor::of<float>({3}, {NAN, INFINITY, 1.0f}));
  EXPECT_EQ(result.counts.nan, 1);
  EXPECT_EQ(result.counts.inf, 1);
}

}  // namespace
}  // namespace hone
