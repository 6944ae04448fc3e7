// Graphs whose nodes share kernels: epilogues, prologues, second results, masks, moves in between.
#include "tests/conformance/conform_text.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

TEST(Fused, LinearWithBiasGeluAndResidual) {
  for (const char* shape : {"1,40", "7,40", "2,17,40", "3,1,40"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[{0}] = input "x"
      %r : f32[{1}] = input "r"
      %w : f32[24,40] = const "w"
      %b : f32[24] = const "b"
      %h = linear %x, %w, %b
      %g = gelu %h
      %y = add %g, %r
      return %y as "y"
    }})",
                                     shape, std::string(shape).substr(0, std::string(shape).size() - 2) + "24"),
                         {}, {}, "gemm linear+gelu+add");
}

TEST(Fused, EveryActivationFollowsALinear) {
  for (const char* op : {"relu", "sigmoid", "tanh", "silu", "gelu", "softplus", "hard_swish"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[5,19] = input "x"
      %w : f32[33,19] = const "w"
      %h = linear %x, %w
      %y = {} %h
      return %y as "y"
    }})",
                                     op),
                         {}, {}, fmt::format("gemm linear+{}", op));
}

TEST(Fused, LinearWithTwoResults) {
  expect_text_conforms(R"(graph g {
      %x : f32[9,16] = input "x"
      %w : f32[20,16] = const "w"
      %h = linear %x, %w
      %y = tanh %h
      %z = mul %y, %h
      return %h as "h", %z as "z"
    })");
}

TEST(Fused, LayerNormWithAddBeforeAndRoundedSecondResult) {
  expect_text_conforms(R"(graph g {
      %a : f32[2,7,48] = input "a"
      %b : f32[2,7,48] = input "b"
      %w : f32[48] = const "w"
      %c : f32[48] = const "c"
      %s = add %a, %b
      %n = layer_norm %s, %w, %c
      %h : bf16[2,7,48] = cast %n {dtype=bf16}
      return %n as "n", %h as "h"
    })",
                       {}, {}, "row add+layer_norm+cast");
}

TEST(Fused, LayerNormOfASumThatIsReadElsewhereToo) {
  expect_text_conforms(R"(graph g {
      %a : f32[5,33] = input "a"
      %b : f32[33] = input "b"
      %s = add %a, %b
      %n = layer_norm %s
      %m = mul %n, %s
      return %s as "s", %m as "m"
    })");
}

TEST(Fused, AttentionWithMask) {
  for (const char* mask : {"f32[2,1,1,9]", "f32[2,4,9,9]", "f32[1,1,9,9]"})
    for (const char* dtype : {"f32", "bf16"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %q : {0}[2,9,32] = input "q"
      %k : {0}[2,9,32] = input "k"
      %v : {0}[2,9,32] = input "v"
      %m : {1} = input "m"
      %y = attention %q, %k, %v, %m {{heads=4, scale=0.2}}
      return %y as "y"
    }})",
                                       dtype, mask),
                           {}, {}, "attention attention");
}

// Of 512 keys each, and less than that of the last.
TEST(Fused, AttentionOverSeveralBlocksOfKeys) {
  for (const char* limits : {"", ", causal=1", ", causal=1, from_start=1", ", before=540", ", before=20, behind=9",
                             ", from_start=1, behind=520", ", softcap=0.5, causal=1"})
    for (const char* operands : {"", ", %m", ", %c", ", _, %s", ", %m, %s"})
      for (const char* dtype : {"f32", "bf16"})
        expect_text_conforms(fmt::format(R"(graph g {{
          %q : {0}[1,19,32] = input "q"
          %k : {0}[1,601,16] = input "k"
          %v : {0}[1,601,16] = input "v"
          %m : f32[601] = input "m"
          %c : bool[19,601] = input "c"
          %s : f32[4] = input "s"
          %y = attention %q, %k, %v{1} {{heads=4, kv_heads=2{2}}}
          return %y as "y"
        }})",
                                         dtype, operands, limits),
                             {}, {}, "attention attention");
}

struct FewQueries {
  std::string queries = "3", kv_heads = "2", dtype = "f32", operands = "", limits = "", batches = "1", keys = "301";
};

// Of at most 128 keys in a range; a head's queries fill no strip, so that heads share them. Values are narrower.
void expect_few_queries_conform(const FewQueries& c) {
  const int kv_heads = std::stoi(c.kv_heads);
  SCOPED_TRACE(
      fmt::format("{} queries, {} heads of keys, {}{}{}", c.queries, c.kv_heads, c.dtype, c.operands, c.limits));
  expect_text_conforms(fmt::format(R"(graph g {{
      %q : {0}[{1},{2},1024] = input "q"
      %k : {0}[{1},{3},{4}] = input "k"
      %v : {0}[{1},{3},{5}] = input "v"
      %m : f32[4,{2},{3}] = input "m"
      %c : bool[{2},{3}] = input "c"
      %s : f32[4] = input "s"
      %y = attention %q, %k, %v{6} {{heads=4, kv_heads={7}{8}}}
      return %y as "y"
    }})",
                                   c.dtype, c.batches, c.queries, c.keys, kv_heads * 256, kv_heads * 200, c.operands,
                                   c.kv_heads, c.limits),
                       {}, {}, "attention attention");
}

TEST(Fused, AttentionOfFewQueriesJoinsRangesOfKeys) {
  for (const char* limits : {"", ", causal=1", ", causal=1, from_start=1", ", before=140", ", before=20, behind=9",
                             ", from_start=1, behind=130", ", softcap=0.5, causal=1"})
    for (const char* operands : {"", ", %m", ", %c", ", _, %s", ", %m, %s"})
      expect_few_queries_conform({.operands = operands, .limits = limits});
  for (const char* dtype : {"f32", "bf16"})
    for (const char* kv_heads : {"4", "1"})
      for (const char* queries : {"1", "5", "9", "16"})
        expect_few_queries_conform(
            {.queries = queries, .kv_heads = kv_heads, .dtype = dtype, .operands = ", %m, %s", .limits = ", causal=1"});
  for (const char* keys : {"1", "128", "129", "256"})
    expect_few_queries_conform({.queries = "1", .dtype = "bf16", .batches = "2", .keys = keys});
}

// All of a query's keys are out of sight, or all of one range.
TEST(Fused, AttentionOfRangesThatNoQuerySees) {
  for (const char* limits : {", before=3, behind=0", ", from_start=1, causal=1, before=0",
                             ", before=3, blind_is_zero=1", ", from_start=1, before=150, blind_is_zero=1"})
    for (const char* operands : {"", ", %c", ", %c, %s"})
      expect_few_queries_conform({.operands = operands, .limits = limits});
}

TEST(Fused, AttentionRoundsItsResult) {
  expect_text_conforms(R"(graph g {
      %q : f32[2,5,16] = input "q"
      %k : f32[2,11,16] = input "k"
      %y = attention %q, %k, %k {heads=2}
      %h : bf16[2,5,16] = cast %y {dtype=bf16}
      return %h as "h"
    })",
                       {}, {}, "attention attention+cast");
}

TEST(Fused, SelfAttentionFromOneProjection) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,6,32] = input "x"
      %wq : f32[32,32] = const "wq"
      %wk : f32[32,32] = const "wk"
      %wv : f32[32,32] = const "wv"
      %q = linear %x, %wq
      %k = linear %x, %wk
      %v = linear %x, %wv
      %y = attention %q, %k, %v {heads=2}
      %wo : f32[32,32] = const "wo"
      %o = linear %y, %wo
      %s = add %o, %x
      return %s as "s"
    })");
}

TEST(Fused, MatmulBatchedWithTransposesAround) {
  for (const char* heads : {"4", "1"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %q : f32[2,7,{0},8] = input "q"
      %k : f32[2,9,{0},8] = input "k"
      %a = transpose %q {{perm=[0, 2, 1, 3]}}
      %b = transpose %k {{perm=[0, 2, 3, 1]}}
      %s = matmul %a, %b
      %d = mul %s, 0.25
      %t = transpose %d {{perm=[0, 2, 3, 1]}}
      return %t as "t"
    }})",
                                     heads));
}

TEST(Fused, TransposeOfAWeightBeforeMatmul) {
  expect_text_conforms(R"(graph g {
      %x : f32[2,5,12] = input "x"
      %w : f32[12,10] = const "w"
      %y = matmul %x, %w
      %b : f32[10] = const "b"
      %z = add %y, %b
      %r = relu %z
      return %r as "r"
    })",
                       {}, {}, "gemm");
}

TEST(Fused, SliceAndConcatBetweenKernels) {
  expect_text_conforms(R"(graph g {
      %x : f32[4,24] = input "x"
      %w : f32[30,24] = const "w"
      %h = linear %x, %w
      %a = slice %h {axes=[1], starts=[0], ends=[15]}
      %b = slice %h {axes=[1], starts=[15], ends=[30]}
      %s = silu %a
      %p = mul %s, %b
      %c = concat %p, %a {axis=1}
      return %c as "c"
    })");
}

TEST(Fused, SoftmaxOfScaledScores) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,5,21] = input "x"
      %m : f32[3,1,21] = input "m"
      %s = mul %x, 0.5
      %t = add %s, %m
      %y = softmax %t
      return %y as "y"
    })");
}

TEST(Fused, PooledAndNormalisedSentence) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,7,20] = input "x"
      %m : i64[3,7] = input "m"
      %p = mean_pool %x, %m
      %n = l2_normalise %p
      return %n as "n"
    })");
}

TEST(Fused, ValuesThatAreRoundedInBetweenStayRounded) {
  expect_text_conforms(R"(graph g {
      %x : bf16[6,17] = input "x"
      %y : bf16[6,17] = input "y"
      %a = add %x, %y
      %b = mul %a, %x
      %c = sub %b, %y
      return %c as "c"
    })");
}

TEST(Fused, ProductsOfBroadcastBatches) {
  for (const auto& [a, b] : {std::pair("2,1,5,16", "3,16,9"), std::pair("5,16", "4,16,9"),
                             std::pair("3,2,5,16", "2,16,9"), std::pair("3,1,5,16", "1,2,16,9")})
    expect_text_conforms(fmt::format(R"(graph g {{
      %a : f32[{}] = input "a"
      %b : f32[{}] = input "b"
      %c = matmul %a, %b
      %r = relu %c
      return %r as "r"
    }})",
                                     a, b),
                         {}, {}, "gemm matmul+relu");
}

// Every format that gather and linear read, in the shapes of an embedding followed by its norm and a projection.
class FusedFormat : public testing::TestWithParam<std::string> {};

TEST_P(FusedFormat, GatherAddsAndLayerNorm) {
  Philox rng(11);
  const NamedTensors constants{{"table", random_packed(rng, {19, 72}, GetParam())}};
  expect_text_conforms(fmt::format(R"(graph g {{
      %ids : i64[2,5] = input "ids"
      %p : f32[1,5,72] = input "p"
      %t : {}[19,72] = const "table"
      %w : f32[72] = const "w"
      %c : f32[72] = const "c"
      %x = gather %t, %ids
      %y = add %x, %p
      %z = add %y, 0.125
      %n = layer_norm %z, %w, %c
      return %n as "n"
    }})",
                                   to_string(parse_format(GetParam()))),
                       constants);
}

TEST_P(FusedFormat, LinearWithBiasGeluAndResidualInBothActivationTypes) {
  Philox rng(12);
  const NamedTensors constants{{"w", random_packed(rng, {40, 72}, GetParam())}};
  for (const char* dtype : {"f32", "bf16"})
    for (int m : {1, 6, 35})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {1}[{2},72] = input "x"
      %r : f32[{2},40] = input "r"
      %w : {0}[40,72] = const "w"
      %b : f32[40] = const "b"
      %h = linear %x, %w, %b
      %g = gelu %h
      %y = add %g, %r
      return %y as "y"
    }})",
                                       to_string(parse_format(GetParam())), dtype, m),
                           constants);
}

INSTANTIATE_TEST_SUITE_P(Examples, FusedFormat, testing::ValuesIn(packed_examples()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace hone::test
