// hone explain: groups, kernels, reasons and memory are those of what a session would run.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "runtime/session.h"
#include "tests/runtime/encoder.h"
#include "views/explain.h"

namespace hone::test {
namespace {

const Table& table(const Record& record, const std::string& key) {
  const Table* found = find_block<Table>(record, key);
  if (!found) throw Error("no table " + key);
  return *found;
}

std::string text(const Cell& cell) { return std::get<std::string>(cell); }

// Two blocks alike, a 3x3 of stride 1, and an operand that lies across the product's result.
Model network() {
  Model model;
  model.graph = parse_seeded(R"(graph network {
    %x : f32[B,16,24,24] = input "x"
    %w : f32[16,16,3,3] = const "w"
    %v : f32[16,16,3,3] = const "v"
    %s : f32[B,16,1,1] = input "s"
    %a = conv %x, %w {pads=[1, 1, 1, 1]}
    %b = relu %a
    %c = conv %b, %v {pads=[1, 1, 1, 1]}
    %d = relu %c
    %e = mul %d, %s
    %f = lp_pool %e {kernel_shape=[1, 1]}
    return %f as "f"
  })");
  return model;
}

TEST(Explain, StepsOfTheSameKernelShareOneCode) {
  const Record record = view_of(explain(network(), {.shapes = {.batch = 2}}));
  const Table& steps = table(record, "steps");
  const Table& kernels = table(record, "kernels");
  std::vector<std::string> convs;
  for (const auto& row : steps.rows)
    if (text(row[2]) == "conv") convs.push_back(text(row[5]));
  ASSERT_EQ(convs.size(), 2u);
  EXPECT_EQ(convs[0], convs[1]);
  const auto shared = std::ranges::find(kernels.rows, convs[0], [](const auto& row) { return text(row[0]); });
  ASSERT_NE(shared, kernels.rows.end());
  EXPECT_EQ(std::get<Number>((*shared)[2]).value, 2);
}

TEST(Explain, SaysWhatWasRefusedAndWhatWasLeftOutAndWhy) {
  const Record record = view_of(explain(network(), {.shapes = {.batch = 2}, .no_winograd = true}));
  EXPECT_EQ(table(record, "refused").rows.size(), 4u) << "two Winograd variants for each of two convolutions";
  EXPECT_NE(text(table(record, "refused").rows[0][1]).find("exact"), std::string::npos);
  const Table& left_out = table(record, "left_out");
  ASSERT_EQ(left_out.rows.size(), 1u);
  EXPECT_EQ(text(left_out.rows[0][1]), "mul");
  EXPECT_NE(text(left_out.rows[0][3]).find("does not lie along the result"), std::string::npos);
}

TEST(Explain, NamesInterpretedStepsAndLayoutChanges) {
  const Record record = view_of(explain(network(), {}));
  int interpreted = 0;
  for (const auto& row : table(record, "steps").rows) {
    if (text(row[2]) != "interpreted") continue;
    ++interpreted;
    EXPECT_NE(text(row[6]).find("lp_pool"), std::string::npos);
  }
  EXPECT_EQ(interpreted, 1);
  EXPECT_EQ(table(record, "moves").rows.size(), 2u) << "in at the first edge, out at the last";
}

TEST(Explain, CountsNodesWithBodiesApartFromWhatIsEvaluated) {
  Model model;
  model.graph = parse_seeded(R"(graph network {
    %x : f32[B,4] = input "x"
    %c : bool[] = input "c"
    %y = if %c, %x, %x {then_captures=1} do
      graph yes {
        %x : f32[B,4] = input "x"
        %r = relu %x
        return %r as "0"
      }
      graph no {
        %x : f32[B,4] = input "x"
        return %x as "0"
      }
    %z = non_zero %x
    return %y as "y", %z as "z"
  })");
  const Record record = view_of(explain(model, {}));
  ASSERT_EQ(record.findings.size(), 3u);
  EXPECT_EQ(record.findings[1], "1 node more: planned and compiled when its bodies first run");
  EXPECT_EQ(record.findings[2], "1 node more: evaluated one by one, because their shapes depend on data");
}

TEST(Explain, PlansTheMemoryThatASessionTakes) {
  const Model model = network();
  const Record record = view_of(explain(model, {.shapes = {.batch = 3}}));
  Session session(model.graph, {});
  session.prepare({{"B", 3}});
  const KeyValues& memory = *find_block<KeyValues>(record, "memory");
  const auto value = [&](const std::string& key) {
    for (const KeyValue& item : memory.items)
      if (item.key == key) return static_cast<int64_t>(std::get<Number>(item.value).value);
    return int64_t{-1};
  };
  EXPECT_EQ(value("arena_bytes"), session.statistics().arena_bytes);
  EXPECT_EQ(value("arena_lower_bound"), session.statistics().arena_lower_bound);
  EXPECT_EQ(value("prepacked_bytes"), session.statistics().prepacked_bytes);
}

}  // namespace
}  // namespace hone::test
