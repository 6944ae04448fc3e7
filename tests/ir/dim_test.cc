#include "ir/dim.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/philox.h"
#include "tests/ir/test_ops.h"

namespace hone {
namespace {

Dim d(const char* text) { return Dim::parse(text); }

TEST(Dim, HasANormalForm) {
  EXPECT_EQ(d("S+S"), d("2*S"));
  EXPECT_EQ(d("(S+1)*(S-1)"), d("S*S-1"));
  EXPECT_EQ(d("B*S"), d("S*B"));
  EXPECT_EQ(d("S-S"), Dim(0));
  EXPECT_EQ(d("(2*S+1)/2"), d("S"));
  EXPECT_EQ(d("(B*S+B)/B"), d("S+1"));
  EXPECT_EQ(d("(S*S-1)/(S+1)"), d("S-1"));
  EXPECT_EQ(d("(S-1)/2+1"), d("(S+1)/2"));
  EXPECT_NE(d("S/2*2"), d("S"));
}

TEST(Dim, PrintsWhatItParses) {
  for (const char* text : {"0", "-1", "128", "S", "-S", "2*S", "B*S", "B+S-7", "(S+1)/2", "S/2", "4*(S/2)+1", "B/S",
                           "(B/S)*(S/3)", "((S+1)/2+1)/3", "-3*B-4", "-(S/2)", "-(S/2)+B"}) {
    EXPECT_EQ(d(text).to_string(), text);
    EXPECT_EQ(d(d(text).to_string().c_str()), d(text)) << text;
  }
}

// Whatever an i64 holds: exporters write its least as "to the beginning".
TEST(Dim, ReadsBackEveryCoefficient) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(d("-9223372036854775808").constant(), kLeast);
  EXPECT_EQ(d("S-9223372036854775808"), d("S") + kLeast);
  EXPECT_EQ(d("T-9223372036854775808*S"), d("T") + d("S") * kLeast);
  EXPECT_EQ(d("-S/2"), d("(-S)/2")) << "a sign stands nearer than a division";
  EXPECT_EQ(d("T-S/2"), d("T") - d("S/2"));
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "S-92233720368547758080"})
    EXPECT_NE(test::error_of([&] { d(text); }).find("below 2^63"), std::string::npos) << text;
  Philox random(5);
  const auto coefficient = [&]() -> int64_t {
    const int64_t edges[] = {kLeast, kLeast + 1, kMost, -1, 1, 0};
    const uint32_t pick = random.below(12);
    return pick < 6 ? edges[pick]
                    : static_cast<int64_t>(uint64_t{random.next()} << 32 | random.next()) >> random.below(63);
  };
  for (int round = 0; round < 500; ++round) {
    const Dim factors[] = {Dim(1), d("S"), d("B*S"), d("(S+1)/2"), d("T*(B/3)")};
    Dim sum;
    for (const Dim& factor : factors)
      if (random.below(2) == 0) sum = sum + factor * coefficient();
    EXPECT_EQ(Dim::parse(sum.to_string()), sum) << sum.to_string();
  }
}

TEST(Dim, EvaluatesWithFloorDivision) {
  EXPECT_EQ(d("(S+1)/2").evaluate({{"S", 6}}), 3);
  EXPECT_EQ(d("S/4").evaluate({{"S", -1}}), -1);
  EXPECT_EQ(d("B*(S/3)").evaluate({{"S", 8}, {"B", 5}}), 10);
  EXPECT_EQ(d("B/S").evaluate({{"S", 3}, {"B", 7}}), 2);
}

TEST(Dim, SubstitutesSomeSymbolsOnly) {
  EXPECT_EQ(d("B*S+(S+1)/2").substitute(Bindings{{"S", 7}}), d("7*B+4"));
  EXPECT_EQ(d("B*((S+B)/2)").substitute(Bindings{{"S", 2}}), d("B*(B/2+1)"));
}

TEST(Dim, ListsItsSymbols) {
  std::vector<std::string> names{"B"};
  d("B*((S+T)/2)").collect_symbols(names);
  EXPECT_EQ(names, (std::vector<std::string>{"B", "S", "T"}));
}

// Value of a random expression, computed beside it: the normal form must not change it.
TEST(Dim, KeepsTheValueOfRandomExpressions) {
  Philox rng(1);
  const Bindings bindings{{"A", 3}, {"B", 5}, {"C", -2}};
  for (int round = 0; round < 300; ++round) {
    Dim dim = 1;
    int64_t value = 1;
    for (int step = 0; step < 6; ++step) {
      const char* names[] = {"A", "B", "C"};
      const char* name = names[rng.below(3)];
      const int64_t number = int64_t{rng.below(9)} - 4;
      const Dim other = rng.below(2) ? Dim(number) : Dim::symbol(name);
      const int64_t v = other.evaluate(bindings);
      switch (rng.below(4)) {
        case 0:
          dim = dim + other, value += v;
          break;
        case 1:
          dim = dim - other, value -= v;
          break;
        case 2:
          dim = dim * other, value *= v;
          break;
        default:
          if (v == 0) break;
          dim = floordiv(dim, other);
          value = value / v - (value % v != 0 && (value < 0) != (v < 0));
      }
    }
    EXPECT_EQ(dim.evaluate(bindings), value) << dim.to_string();
    EXPECT_EQ(Dim::parse(dim.to_string()), dim);
  }
}

TEST(Dim, RefusesBadTextWithTheColumn) {
  for (const char* text : {"", "S+", "2S", "(S", "S)", "9999999999999999999", "S//2", "S/0"})
    EXPECT_THROW(d(text), Error) << text;
  EXPECT_NE(test::error_of([] { d("S+*"); }).find("column 3"), std::string::npos);
  EXPECT_THROW(d(std::string(10000, '(').c_str()), Error);
  EXPECT_THROW(d(std::string(10000, '-').c_str()), Error);
}

TEST(Dim, RefusesOverflowAndUnboundSymbols) {
  EXPECT_THROW(d("9223372036854775807*2"), Error);
  EXPECT_NE(test::error_of([] { d("B*S").evaluate({{"B", 2}}); }).find("symbol S"), std::string::npos);
  EXPECT_THROW(d("B/S").evaluate({{"B", 2}, {"S", 0}}), Error);
}

TEST(Dim, TheLeastIntegerIsNegatedOrDividedByMinusOneOnlyWithAnError) {
  const Dim least = INT64_MIN;
  EXPECT_THROW(floordiv(least, -1), Error);
  EXPECT_THROW(Dim(0) - least, Error);
  EXPECT_THROW(floordiv(least * Dim::symbol("S"), Dim(-1) * Dim::symbol("S")), Error);
  EXPECT_EQ(floordiv(least + 1, 3), Dim(-3074457345618258603));
  EXPECT_EQ(floordiv(least, 3), Dim(-3074457345618258603));
  EXPECT_EQ(d("S/9223372036854775807").evaluate({{"S", 5}}), 0);
  EXPECT_THROW(d("(0-S)/9223372036854775807").evaluate({{"S", 5}}), Error) << "no sum on the way is wrapped around";
}

TEST(Dim, APolynomialThatGrowsWithoutEndIsAnError) {
  Dim sum = 1;
  for (int i = 0; i < 12; ++i) sum = sum + Dim::symbol("S" + std::to_string(i));
  EXPECT_NE(test::error_of([&] {
              for (int i = 0; i < 10; ++i) sum = sum * sum;
            }).find("polynomial"),
            std::string::npos);
  Dim power = Dim::symbol("S");
  EXPECT_THROW(for (int i = 0; i < 60; ++i) power = power * power, Error);
  std::string list = "A0";
  for (int i = 1; i < 10000; ++i) list += "+A" + std::to_string(i);
  EXPECT_THROW(Dim::parse(list), Error);
}

TEST(Dim, QuotientsWithinQuotientsEndWithAResultOrAnError) {
  Dim halved = Dim::symbol("S");
  for (int i = 0; i < 12; ++i) halved = floordiv(halved + 1, 2) + 1;
  EXPECT_EQ(Dim::parse(halved.to_string()), halved);
  EXPECT_EQ(halved.evaluate({{"S", 4096}}), 3);
  Dim doubled = Dim::symbol("S");
  EXPECT_THROW(for (int i = 0; i < 100; ++i) doubled = floordiv(doubled * doubled + doubled + 1, doubled + 3), Error);
  EXPECT_THROW(for (int i = 0; i < 1000; ++i) halved = floordiv(halved + 1, 2) + 1, Error);
}

// Symbols and quotients exist once, as long as a dimension has them, whichever threads make and drop them.
TEST(Dim, IsMadeAndDroppedByManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int round = 0; round < 500; ++round) {
        const Dim made = floordiv(Dim::symbol("S" + std::to_string(round % 3)) + 1, 2) * Dim::symbol("B");
        const Dim parsed = Dim::parse(made.to_string());
        EXPECT_EQ(parsed, made);
        EXPECT_EQ(parsed.evaluate({{"S0", 6}, {"S1", 6}, {"S2", 6}, {"B", 2}}), 6);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Shape, BroadcastsLikeNumpy) {
  auto shape = [](const char* text) { return parse_type(std::string("f32") + text).shape; };
  EXPECT_EQ(broadcast(shape("[B,S,8]"), shape("[8]")), shape("[B,S,8]"));
  EXPECT_EQ(broadcast(shape("[B,1,S]"), shape("[T,1]")), shape("[B,T,S]"));
  EXPECT_EQ(broadcast(shape("[]"), shape("[3]")), shape("[3]"));
  const std::string why = test::error_of([&] { broadcast(shape("[B,3]"), shape("[B,4]")); });
  EXPECT_NE(why.find("[B,3]"), std::string::npos);
  EXPECT_NE(why.find("[B,4]"), std::string::npos);
}

TEST(Shape, SymbolsThatMayTurnOutToFitBroadcast) {
  auto shape = [](const char* text) { return parse_type(std::string("f32") + text).shape; };
  EXPECT_EQ(broadcast(shape("[B,S]"), shape("[B,4]")), shape("[B,4]")) << "S is 1 or 4";
  EXPECT_TRUE(broadcast(shape("[S]"), shape("[T]"))[0].is_unknown()) << "either may be 1";
  EXPECT_TRUE((broadcast(shape("[S]"), shape("[T]"))[0] + 1).is_unknown());
}

TEST(Shape, BindsSymbolsAndChecksTheRest) {
  const Shape declared = parse_type("f32[B,S,S+1]").shape;
  Bindings bindings;
  bind_shape(declared, {2, 3, 4}, bindings, "x");
  EXPECT_EQ(bindings, (Bindings{{"B", 2}, {"S", 3}}));
  EXPECT_NE(test::error_of([&] {
              bind_shape(declared, {2, 3, 5}, bindings, "input x");
            }).find("input x: dimension 2"),
            std::string::npos);
  EXPECT_THROW(bind_shape(declared, {2, 4, 5}, bindings, "x"), Error);  // S is 3 already
  EXPECT_THROW(bind_shape(declared, {2, 3}, bindings, "x"), Error);
}

TEST(Shape, CountsElementsAndRefusesOverflow) {
  EXPECT_EQ(element_count(std::vector<int64_t>{2, 3, 4}), 24);
  EXPECT_EQ(element_count(parse_type("f32[B,3]").shape), d("3*B"));
  EXPECT_THROW(element_count(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(element_count(std::vector<int64_t>{-1}), Error);
}

TEST(Shape, NoTensorHasMoreElementsThanAnyMemoryHoldsEvenIfItIsEmpty) {
  const int64_t much = int64_t{1} << 40;
  EXPECT_THROW(element_count(std::vector<int64_t>{0, much, much}), Error);
  EXPECT_EQ(element_count(std::vector<int64_t>{0, much}), 0);
  Graph graph;
  EXPECT_THROW(graph.add_input("x", parse_type("f32[4611686018427387904]")), Error);
  EXPECT_THROW(graph.add_input("x", parse_type("f32[-1]")), Error);
}

}  // namespace
}  // namespace hone
