// Rows in three parts: each row in one of them, the same ones for the same seed.
#include "ship/parts.h"

#include <gmock/gmock.h>

#include <set>

#include "io/numpy.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

Dataset rows(int64_t count) {
  Dataset data{.path = "rows.csv", .rows = count};
  for (int64_t row = 0; row < count; ++row) data.texts.push_back(std::string(static_cast<size_t>(row % 7 + 1), 'x'));
  return data;
}

std::vector<int64_t> numbers(int64_t first, int64_t last) {
  std::vector<int64_t> all;
  for (int64_t i = first; i < last; ++i) all.push_back(i);
  return all;
}

std::set<int64_t> all_of(const Dataset& data) {
  std::set<int64_t> all;
  for (const char* name : {"train", "validation", "test"})
    for (int64_t row : data.split(name)) EXPECT_TRUE(all.insert(row).second) << row << " is in two parts";
  return all;
}

TEST(ShipParts, SizesThatNobodyNamesAreThoseOfTheRows) {
  const Graph graph = test::parse(R"(
    %x : f32[N,3,H,W] = input "x"
    %y = relu %x
    return %y as "y")");
  Dataset data{.path = "rows.npz", .rows = 5};
  data.arrays.push_back({"x", Tensor(DType::f32, {5, 3, 48, 320})});
  EXPECT_EQ(with_sizes_of_rows({}, graph, data).dims, (Bindings{{"H", 48}, {"W", 320}}));
  EXPECT_EQ(with_sizes_of_rows({.dims = {{"W", 64}}}, graph, data).dims, (Bindings{{"H", 48}, {"W", 64}}));
  data.arrays[0].name = "other";
  EXPECT_TRUE(with_sizes_of_rows({}, graph, data).dims.empty());
}

TEST(ShipParts, EachRowIsInOnePartAndHalfOfThemJudge) {
  Dataset data = rows(200);
  deal_rows(data, {});
  EXPECT_EQ(all_of(data).size(), 200u);
  EXPECT_EQ(data.split("test").size(), 100u);
  EXPECT_EQ(data.split("validation").size(), 50u);
  Dataset training = rows(200);
  deal_rows(training, {.trains = true});
  EXPECT_EQ(training.split("train").size(), 75u);
}

TEST(ShipParts, TheSeedDecidesWhoIsWhere) {
  Dataset a = rows(100), b = rows(100), c = rows(100);
  deal_rows(a, {.seed = 1}), deal_rows(b, {.seed = 1}), deal_rows(c, {.seed = 2});
  EXPECT_EQ(a.split("test"), b.split("test"));
  EXPECT_EQ(a.split("validation"), b.split("validation"));
  EXPECT_NE(a.split("test"), c.split("test"));
}

TEST(ShipParts, SplitsOfTheDataStay) {
  Dataset data = rows(100);
  data.splits = {{"train", numbers(0, 60)}, {"test", numbers(60, 100)}};
  deal_rows(data, {});
  EXPECT_EQ(data.split("test"), numbers(60, 100));
  EXPECT_EQ(data.split("validation").size(), 30u);
  EXPECT_EQ(all_of(data).size(), 100u);
}

TEST(ShipParts, ASplitForValidationJudgesWhereThereIsNoOther) {
  Dataset data = rows(100);
  data.splits = {{"train", numbers(0, 80)}, {"validation", numbers(80, 100)}};
  deal_rows(data, {});
  EXPECT_EQ(data.split("test"), numbers(80, 100));
  Dataset only = rows(100);
  only.splits = {{"test", numbers(0, 100)}};
  deal_rows(only, {});
  EXPECT_EQ(all_of(only).size(), 100u);
}

TEST(ShipParts, GroupsStayTogether) {
  Dataset data = rows(120);
  for (int64_t row = 0; row < 120; ++row) data.groups.push_back(row / 4);
  deal_rows(data, {});
  std::map<int64_t, std::set<std::string>> places;
  for (const char* name : {"train", "validation", "test"})
    for (int64_t row : data.split(name)) places[row / 4].insert(name);
  for (const auto& [group, where] : places) EXPECT_EQ(where.size(), 1u) << group;
}

TEST(ShipParts, ASplitOrALimitNarrowsWhatIsDealtOut) {
  Dataset data = rows(100);
  data.splits = {{"train", numbers(0, 60)}, {"test", numbers(60, 100)}};
  deal_rows(data, {.split = "test"});
  for (int64_t row : all_of(data)) EXPECT_GE(row, 60);
  Dataset few = rows(1000);
  deal_rows(few, {.limit = 60});
  EXPECT_EQ(all_of(few).size(), 60u);
}

TEST(ShipParts, TooFewRowsAreRefused) {
  for (int64_t count : {1, 2, 5, 20, 31}) {
    Dataset data = rows(count);
    EXPECT_THAT(error_of([&] { deal_rows(data, {}); }), HasSubstr("about 32")) << count;
  }
  Dataset enough = rows(32);
  deal_rows(enough, {});
}

class ShipRows : public JobsTest {};

TEST_F(ShipRows, ATextALineIsARow) {
  std::string text = "\n";
  for (int i = 0; i < 40; ++i) text += fmt::format(" the house {}\r\n\n", i);
  const ShipParts parts = read_parts(load_model(model), folder.put("t.txt", text), {}, {});
  EXPECT_EQ(parts.dataset.rows, 40);
  EXPECT_EQ(parts.dataset.texts[0], "the house 0");
  EXPECT_EQ(parts.dataset.where(0), folder / "t.txt" + ":2");
  EXPECT_THAT(parts.text(),
              HasSubstr("40 rows of " + (folder / "t.txt") + ": 10 to learn from, 10 to choose on, 20 to judge on"));
  EXPECT_THAT(error_of([&] { read_rows(load_model(model), folder.put("e.txt", "\n \n"), {}); }),
              HasSubstr("holds no texts"));
}

TEST_F(ShipRows, OneArrayIsForModelsOfOneInput) {
  write_npy(folder / "a.npy", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(error_of([&] { read_rows(load_model(model), folder / "a.npy", {}); }), HasSubstr("takes 2 inputs"));
  const Model one = load_model(put_graph("one.safetensors", kSliced));
  EXPECT_EQ(read_rows(one, folder / "a.npy", {}).arrays[0].name, "x");
}

// The first rows of a part are a sample of it, in the order in which they run.
TEST_F(ShipRows, PartsOfAPartAreTheSameForTheSameSeed) {
  const std::string texts = put_texts({.rows = 200, .splits = false});
  const Model opened = load_model(model);
  const ShipParts a = read_parts(opened, texts, {}, {}), b = read_parts(opened, texts, {}, {});
  EXPECT_EQ(a.data(a.judge, 20).rows, b.data(b.judge, 20).rows);
  EXPECT_EQ(a.data(a.judge, 1000).rows.size(), a.judge.size());
}

}  // namespace
}  // namespace hone
