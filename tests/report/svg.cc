#include "report/svg.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "report/axis_scale.h"
#include "report/labels.h"
#include "report/markup.h"
#include "report/pareto.h"
#include "report/svg_canvas.h"
#include "tests/report/sample.h"
#include "tests/report/xml_check.h"

namespace hone {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(Markup, EscapesWhatEndsTextOrAttributes) {
  EXPECT_EQ(escape_markup("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_markup("Größe 東京 \U0001f600"), "Größe 東京 \U0001f600");
  EXPECT_EQ(escape_markup(std::string("a\x01\xff\xc0\xaf", 5)), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(AxisScale, TicksAreRoundAndPlacesRunFromEndToEnd) {
  const std::vector<double> values{0, 100};
  const AxisScale scale({"x"}, values, 0, 116);
  EXPECT_EQ(scale.ticks(), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_DOUBLE_EQ(scale.place(0), 8);
  EXPECT_DOUBLE_EQ(scale.place(100), 108);
  EXPECT_EQ(scale.tick_text(20), "20");
}

// Steps between these would be below what a double resolves.
TEST(AxisScale, ValuesThatHardlyDifferAreDrawnAsEqual) {
  const std::vector<double> near{1, std::nextafter(1.0, 2.0)}, one{45.2}, none, tiny{5e-324, 1};
  EXPECT_LT(AxisScale({"x"}, near, 0, 100).ticks().size(), 20U);
  EXPECT_LT(AxisScale({"x"}, one, 0, 100).ticks().size(), 20U);
  EXPECT_LT(AxisScale({"x"}, none, 0, 100).ticks().size(), 20U);
  EXPECT_LT(AxisScale({.title = "x", .logarithmic = true}, tiny, 0, 100).ticks().size(), 400U);
}

TEST(AxisScale, LogarithmicTicksAreOneTwoFive) {
  const std::vector<double> values{10, 1000};
  const AxisScale scale({"x", "", true}, values, 0, 100);
  EXPECT_EQ(scale.ticks(), (std::vector<double>{10, 20, 50, 100, 200, 500, 1000}));
  EXPECT_NEAR(scale.place(100), 50, 1e-9);
}

TEST(AxisScale, EveryRangeGetsTicksInsideIt) {
  Philox rng(5);
  for (int trial = 0; trial < 500; ++trial) {
    const double a = rng.normal() * std::pow(10, rng.uniform(-6.f, 6.f));
    const std::vector<double> values{a, trial % 5 ? a + std::abs(rng.normal()) * std::abs(a) : a};
    const AxisScale scale({"x"}, values, 0, 100);
    ASSERT_GE(scale.ticks().size(), 2u) << values[0] << " " << values[1];
    ASSERT_LE(scale.ticks().size(), 15u);
    for (double tick : scale.ticks()) ASSERT_TRUE(scale.place(tick) >= -1e-6 && scale.place(tick) <= 100 + 1e-6);
  }
}

TEST(Labels, CoverNeitherEachOtherNorAPointOnTypicalPlots) {
  const Box area{0, 0, 660, 340};
  Philox rng(11);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<LabelRequest> requests;
    for (int i = 0; i < 12; ++i) requests.push_back({rng.uniform(40.f, 600.f), rng.uniform(40.f, 300.f), "mxfp8_e4m3"});
    requests[1].x = requests[0].x + 3, requests[1].y = requests[0].y;  // nearly one place
    const std::vector<PlacedLabel> placed = place_labels(requests, area);
    for (size_t i = 0; i < placed.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        ASSERT_FALSE(placed[i].box.overlaps(placed[j].box)) << trial << ": " << i << ", " << j;
      for (const LabelRequest& r : requests) ASSERT_FALSE(placed[i].box.overlaps({r.x - 4, r.y - 4, 8, 8}));
      ASSERT_TRUE(placed[i].box.x >= 0 && placed[i].box.x + placed[i].box.width <= 660);
    }
  }
}

TEST(Pareto, KeepsWhatNothingBeats) {
  const std::vector<Point> front =
      pareto_front({{"big", 90, 81}, {"good", 20, 81}, {"small", 10, 75}, {"bad", 15, 70}, {"tie", 20, 80}});
  ASSERT_EQ(front.size(), 2u);
  EXPECT_EQ(front[0].label, "small");
  EXPECT_EQ(front[1].label, "good");
}

TEST(Svg, PlotsAreWellFormedAndShowEveryItem) {
  const Record record = sample_record();
  const std::string scatter = svg(*find_block<ScatterPlot>(record, "size_accuracy"));
  const std::string bars = svg(*find_block<BarChart>(record, "sqnr"));
  const std::string lines = svg(*find_block<LinePlot>(record, "loss"));
  for (const std::string& text : {scatter, bars, lines}) EXPECT_EQ(xml_fault(text), "");
  EXPECT_EQ(count(scatter, "<circle"), 4);
  EXPECT_EQ(count(bars, "encoder.layer."),
            103 + 3 + 2);               // tooltips, the three lowest, lowest and highest in the description
  EXPECT_EQ(count(lines, "<path"), 2);  // the curve, and its mark in the legend
}

TEST(Svg, AFewBarsAreLabelledOneByOne) {
  const std::string text = svg(BarChart{"b", "B", {"ms"}, {{"one", 1}, {"<two>", 2}, {"unknown", std::nan("")}}});
  EXPECT_EQ(xml_fault(text), "");
  EXPECT_NE(text.find(">&lt;two&gt;<"), std::string::npos);
  EXPECT_NE(text.find(">n/a<"), std::string::npos);
}

TEST(Svg, NothingToPlotIsNotAnError) {
  EXPECT_EQ(xml_fault(svg(ScatterPlot{.key = "s", .title = "S", .x = {"x", "", true}, .y = {"y"}, .points = {}})), "");
  EXPECT_EQ(xml_fault(svg(LinePlot{"l", "L", {"x"}, {"y"}, {{"empty", {}}}})), "");
  EXPECT_EQ(xml_fault(svg(BarChart{"b", "B", {"v"}, {}})), "");
}

TEST(ScatterPlotSvg, GroupsHaveColoursAndALegend) {
  ScatterPlot plot{.key = "k", .title = "t", .x = {"bits"}, .y = {"accuracy"}};
  plot.points = {
      {.x = 1, .y = 1, .group = "alone"}, {.x = 2, .y = 0.5, .group = "mixed"}, {.x = 3, .y = 2, .group = "alone"}};
  const std::string text = svg(plot);
  EXPECT_EQ(xml_fault(text), "");
  for (const char* name : {">alone</text>", ">mixed</text>"}) EXPECT_EQ(count(text, name), 1) << name;
  EXPECT_EQ(count(text, fmt::format("fill=\"{}\"", palette(0))), 3);  // two points, one of the legend
  EXPECT_EQ(count(text, fmt::format("fill=\"{}\"", palette(1))), 2);
  for (Point& p : plot.points) p.group.clear();
  EXPECT_EQ(count(svg(plot), ">alone</text>"), 0);
}

}  // namespace
}  // namespace hone
