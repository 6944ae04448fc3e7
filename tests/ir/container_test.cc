// Sequences, optionals and values of unknown rank: as types, as values, as text.
#include <gtest/gtest.h>

#include "ir/graph.h"
#include "tests/ir/test_ops.h"

namespace hone {
namespace {

TEST(ContainerType, ReadsBackAsItIsWritten) {
  for (const char* text : {"seq(f32)", "opt(i64)", "opt(seq(bool))", "f32[*]", "mxint8[*]", "f8e4m3fn[2,3]", "u4[S]",
                           "seq(f32:4)", "opt(i64:0)", "opt(seq(f16:2))", "seq(string:none)"})
    EXPECT_EQ(to_string(parse_type(text)), text);
  for (const char* text :
       {"seq(f32", "opt(seq(f32)", "seq(mxint8)", "seq()", "seq(f32:)", "seq(f32:-1)", "seq(f32:65)", "seq(f32:two)"})
    EXPECT_THROW(parse_type(text), Error) << text;
}

TEST(TensorType, OfUnknownRankEqualsNoneButMayBeTheSame) {
  const TensorType open = TensorType::unranked(DType::f32), matrix = parse_type("f32[2,S]");
  EXPECT_FALSE(open == open) << "two values of unknown rank need not have the same shape";
  EXPECT_TRUE(may_be_same(open, matrix));
  EXPECT_TRUE(may_be_same(parse_type("f32[2,7]"), matrix));
  EXPECT_FALSE(may_be_same(parse_type("f32[3,7]"), matrix));
  EXPECT_FALSE(may_be_same(parse_type("f32[2,S+1]"), matrix)) << "they differ by a constant";
  EXPECT_FALSE(open.is_static());
  EXPECT_FALSE(parse_type("seq(f32)").is_static());
}

TEST(Container, HoldsTensorsOfOneDtype) {
  const Tensor a = Tensor::of<float>({1}, {1}), b = Tensor::of<float>({2}, {1, 2});
  const Tensor sequence = Tensor::sequence(DType::f32, {a, b});
  EXPECT_EQ(sequence.items().size(), 2u);
  EXPECT_EQ(sequence.bytes(), 12);
  EXPECT_TRUE(sequence.same_bits(Tensor::sequence(DType::f32, {a, b})));
  EXPECT_FALSE(sequence.same_bits(Tensor::sequence(DType::f32, {b, a})));
  EXPECT_THROW(Tensor::sequence(DType::i64, {a}), Bug);
  EXPECT_EQ(to_string(Tensor::optional(sequence.type(), sequence).type()), "opt(seq(f32:1))");
  EXPECT_EQ(Tensor::optional(a.type(), std::nullopt).items().size(), 0u);
  EXPECT_THROW(sequence.to_floats(), Error);
}

TEST(Container, KnowsTheDimensionsThatItsItemsHaveInCommon) {
  const Tensor vector(DType::f32, {2}), other(DType::f32, {3}), matrix(DType::f32, {2, 2});
  const auto type = [](const std::vector<Tensor>& items) { return Tensor::sequence(DType::f32, items).type(); };
  EXPECT_EQ(to_string(type({vector, other})), "seq(f32:1)");
  EXPECT_EQ(to_string(type({vector, matrix})), "seq(f32)");
  EXPECT_EQ(to_string(type({})), "seq(f32:none)");
  EXPECT_EQ(to_string(type({vector}).item()), "f32[?]");
  EXPECT_EQ(to_string(type({}).item()), "f32[*]");
  EXPECT_TRUE(may_be_same(type({}), type({matrix}))) << "nothing goes with anything";
  EXPECT_FALSE(may_be_same(type({vector}), type({matrix})));
  EXPECT_TRUE(fits(Tensor::sequence(DType::f32, {}), parse_type("seq(f32:2)")));
  EXPECT_FALSE(fits(Tensor::sequence(DType::f32, {vector}), parse_type("seq(f32:2)")));
}

TEST(UnknownSizes, BecomeSymbolsThatDifferFromAllOthers) {
  Graph graph;
  const ValueId x = graph.add_input("x", parse_type("f32[_3]"));
  static const OpDef pick{
      .name = "pick", .doc = "", .infer = [](const InferArgs& a) {
        return std::vector{TensorType{.dtype = a[0].dtype, .shape = {Dim::unknown(), Dim::unknown()}}};
      }};
  const ValueId y = graph.emit(pick, {x});
  EXPECT_EQ(to_string(graph.type(y)), "f32[_4,_5]");
  graph.reinfer();
  EXPECT_EQ(to_string(graph.type(y)), "f32[_4,_5]") << "they keep their names";
  verify(graph);
}

TEST(SmallElements, AreRoundedSaturatedAndStoredOneToAByte) {
  const Tensor floats = Tensor::of<float>({5}, {0.3f, -1.75f, 447, 1e9f, -0.0f});
  EXPECT_EQ(floats.converted(DType::f8e4m3fn).to_floats(), (std::vector<float>{0.3125f, -1.75f, 448, 448, 0}));
  EXPECT_EQ(floats.converted(DType::f4e2m1).to_floats(), (std::vector<float>{0.5f, -2, 6, 6, 0}));
  const Tensor integers = Tensor::of<float>({4}, {7.9f, -9, 20, -3}).converted(DType::i4);
  EXPECT_EQ(integers.to_integers(), (std::vector<int64_t>{7, -8, 7, -3}));
  EXPECT_EQ(integers.data().size(), 4u);
}

}  // namespace
}  // namespace hone
