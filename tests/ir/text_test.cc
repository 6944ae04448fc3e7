#include "ir/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/philox.h"
#include "tests/ir/test_ops.h"

namespace hone {
namespace {

using test::error_of;
using test::parse;

void expect_round_trip(const Graph& g) {
  const std::string text = print(g);
  const Graph again = parse(text);
  EXPECT_EQ(print(again), text);
  verify(again);
}

TEST(Text, ReadsWhatPeopleWrite) {
  const Graph g = parse("%w = const f32[2] {1, 2}    %y = mul %w, 3.0    return %y   # a comment");
  EXPECT_EQ(print(g),
            "graph main {\n"
            "  %w : f32[2] = const {1, 2}\n"
            "  %c : f32[]  = const {3}\n"
            "  %y : f32[2] = mul %w, %c\n"
            "  return %y as \"y\"\n"
            "}\n");
  expect_round_trip(g);
}

TEST(Text, RoundTripsAttributesOfEveryKind) {
  const Graph g = parse(R"(graph all {
    meta "family" = "bert \"x\"\n"
    %e : f32[] = every {i=-3, n=0.1, s="a\"b", is=[1, -2], ns=[1, 1e-300, inf], ss=["p", "q,}"], dim=(S+1)/2,
                        shape=[B,S+1,-1], dtype=bf16, format=mxfp8_e4m3.rule=rceil, t=f16[2] {0.5, nan}}
    %f : f32[] = every {is=[], ns=[], ss=[], shape=[]}
    return %e as "out", %f as "b"
  })");
  const Attributes& a = g.node(g.nodes()[0]).attributes;
  EXPECT_EQ(a.get<std::string>("s"), "a\"b");
  EXPECT_EQ(a.get<Shape>("shape").back(), Dim(-1));
  EXPECT_EQ(to_string(a.get<Format>("format")), "mxfp8_e4m3.rule=rceil");
  EXPECT_EQ(g.metadata.at("family"), "bert \"x\"\n");
  expect_round_trip(g);
  EXPECT_TRUE(parse(print(g)).node(0).attributes.same(a));
}

// Random attributes of every kind whose text is not a name, extremes among them.
TEST(Text, RoundTripsWhateverAttributesHold) {
  Philox random(9);
  const auto bits = [&] { return uint64_t{random.next()} << 32 | random.next(); };
  const auto integer = [&]() -> int64_t {
    const int64_t edges[] = {INT64_MIN, INT64_MAX, 0, -1};
    const uint32_t pick = random.below(8);
    return pick < 4 ? edges[pick] : static_cast<int64_t>(bits());
  };
  const auto number = [&] {
    const auto any = std::bit_cast<double>(bits());
    return std::isnan(any) ? -0.0 : any;
  };
  const auto text = [&] {
    std::string made;
    for (uint32_t i = random.below(9); i > 0; --i) made += static_cast<char>(random.below(256));
    return made;
  };
  const auto several = [&](auto one) {
    std::vector<decltype(one())> made;
    for (uint32_t i = random.below(4); i > 0; --i) made.push_back(one());
    return made;
  };
  for (int round = 0; round < 200; ++round) {
    const Attributes given{{"i", integer()},
                           {"n", number()},
                           {"s", text()},
                           {"is", several(integer)},
                           {"ns", several(number)},
                           {"ss", several(text)},
                           {"dim", Dim(integer())},
                           {"shape", to_shape(several(integer))},
                           {"t", Tensor::of<int64_t>({2}, {integer(), integer()})}};
    Graph g;
    g.add_output(g.emit(test::every_def, {}, given), text());
    const Graph again = parse(print(g));
    EXPECT_TRUE(again.node(0).attributes.same(given)) << print(g);
    EXPECT_EQ(again.outputs()[0].label, g.outputs()[0].label);
  }
}

TEST(Text, RoundTripsAbsentOperandsAndSeveralResults) {
  const Graph g = parse(R"(
    %x : f32[4] = input "x"
    %c = clip %x, _, 6.0
    %a : f32[4], %b : i64[4] = split %c
    %d, %e = split %a
    return %a, %b, %d, %e)");
  EXPECT_EQ(g.operand(g.nodes("clip")[0], 1), kNone);
  EXPECT_NE(print(g).find("%a : f32[4], %b : i64[4] = split %c"), std::string::npos) << print(g);
  expect_round_trip(g);
}

// Bits of every value, not only its text.
TEST(Text, RoundTripsConstantsExactly) {
  Philox rng(2);
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) values.push_back(std::bit_cast<float>(rng.next() & 0xff7fffff));
  const Tensor floats = Tensor::of<float>({10, 10}, values);
  for (int dtype = 0; dtype <= static_cast<int>(DType::f6e3m2); ++dtype) {
    if (static_cast<DType>(dtype) == DType::string) continue;
    Graph g;
    g.add_output(g.add_constant("", floats.converted(static_cast<DType>(dtype))), "out");
    const Graph again = parse(print(g));
    EXPECT_TRUE(again.constant(again.outputs()[0].value)->same_bits(*g.constant(g.outputs()[0].value))) << dtype;
  }
}

TEST(Text, RoundTripsPackedAndStringConstants) {
  Graph g;
  const Tensor x = Tensor::of<float>({2, 3}, {1, -0.5f, 0.25f, 2, 0, -1});
  for (const char* format : {"mxint8", "mxfp4", "int8.channel", "uint8.asym"})
    g.add_output(g.add_constant("", pack(parse_format(format), x)), format);
  g.add_output(g.add_constant("", Tensor::strings({2}, {"a\x01", "\"b\""})), "s");
  g.add_output(g.add_constant("", Tensor(DType::f32, {0, 3})), "empty");
  const Graph again = parse(print(g));
  EXPECT_EQ(print(again), print(g));
  for (size_t i = 0; i < g.outputs().size(); ++i)
    EXPECT_TRUE(again.constant(again.outputs()[i].value)->same_bits(*g.constant(g.outputs()[i].value))) << i;
}

TEST(Text, LargeLabelledConstantsAreFoundByName) {
  Graph g;
  g.add_output(g.add_constant("big", Tensor(DType::f32, {100})), "out");
  const std::string text = print(g);
  EXPECT_EQ(text.find('{', text.find("const")), std::string::npos);
  EXPECT_NE(error_of([&] { parse(text); }).find("no contents are given for \"big\""), std::string::npos);
  ParseContext context = test::context();
  context.find_constant = [](const std::string& label, const TensorType& type) {
    return label == "big" ? std::optional(Tensor(type.dtype, constant_shape(type.shape))) : std::nullopt;
  };
  EXPECT_EQ(print(parse_graph(text, context)), text);
  context.find_constant = [](const std::string&, const TensorType&) { return Tensor(DType::f32, {99}); };
  EXPECT_NE(error_of([&] { parse_graph(text, context); }).find("f32[99]"), std::string::npos);
}

TEST(Text, ErrorsNameThePlaceAndTheNextStep) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"%x : f32[2] = input\n%y = ad %x, 1.0 return %y", "t:2:6: unknown op ad. Did you mean add"},
           {"%x : f32[2] = input\n  %y = add %x, %z\n return %y", "t:2:16: %z is not defined above"},
           {"%x : f32[2] = input %x : f32[2] = input return %x", "t:1:21: %x is already defined"},
           {"%x : f32[2] = input %y : f32[3] = add %x, 1.0 return %y",
            "%y is declared as f32[3], but add gives f32[2]"},
           {"%w = const f32[3] {1, 2} return %w", "2 elements for f32[3]; expected 3"},
           {"%w = const f32[1] {1, 2} return %w", "more elements than the 1 of the type"},
           {"%w = const i8[1] {300} return %w", "expected an element of type i8, found \"300\""},
           {"%w = const i4[1] {8} return %w", "expected an element of type i4, found 8"},
           {"%w = const u4[1] {16} return %w", "expected an element of type u4, found 16"},
           {"%w = const f32[B] {1} return %w", "a constant needs a shape of numbers"},
           {"%w = const f32[99999999999] {1} return %w", "1 elements for f32[99999999999]"},
           {"%e = every {x=1} return %e", "unknown attribute x; known: i, n"},
           {"%e = every {i=1, i=2} return %e", "attribute i is given twice"},
           {"%e = every {i=one} return %e", "expected an integer, found \"one\""},
           {"%e = every {s=\"a} return %e", "does not end on its line"},
           {"%e = every {dtype=f99} return %e", "unknown element type \"f99\""},
           {"graph g { %e = every return %e", "expected '}', found the end of the text"},
           {"%e = every", "expected a statement"},
           {"%a, %b = every return %a", "every has 1 results, 2 names are given"},
           {"%x : f32[2 = input return %x", "t:1:6"},
           {"%e = every return %e, %e", "already has an output \"e\""},
           {"%x : f32[2] = input %y = add %x, 1.0e return %y", "expected an element of type f32, found \"1.0e\""},
           {"", "found the end of the text"},
       }) {
    const std::string message = error_of([&] { parse(c.text); });
    EXPECT_NE(message.find(c.message), std::string::npos) << c.text << "\n gives: " << message;
  }
}

// Damaged text gives an Error or another graph, never a crash.
TEST(Text, SurvivesDamage) {
  const std::string text = print(parse(R"(%x : f32[B,(S+1)/2] = input %c = clip %x, _, 6.0 %a, %b = split %c
    %e = every {i=-3, s="a\"b", is=[1, -2], shape=[B,S+1,-1], format=mxfp8_e4m3.rule=rceil, t=f16[2] {0.5, nan}} return %a)"));
  Philox rng(3);
  int errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = text;
    const size_t at = rng.below(static_cast<uint32_t>(text.size()));
    if (rng.below(3) == 0) damaged.resize(at);
    else damaged[at] = "{}[]()%=,:\"_#-9aB/ \n"[rng.below(20)];
    errors += !error_of([&] { parse(damaged); }).empty();
  }
  EXPECT_GT(errors, 500);
}

}  // namespace
}  // namespace hone
