// Attention of keys and values that are codes: every packed format whose heads can be read alone gives the bits of
// decoded operands, in rows, over ranges of keys, and laid out.
#include "ops/elements.h"
#include "ops/head_rows.h"
#include "tests/conformance/conform_text.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

constexpr int64_t kHeads = 2, kColumns = 64, kValueColumns = 96, kKeys = 70;

std::vector<std::string> head_formats() {
  std::vector<std::string> formats{"int8.g64",        "int8.g192",       "int8.g1x0",
                                   "int8.g64.s=bf16", "int4.g64.s=fp16", "uint8.g32.asym"};
  for (const std::string& format : packed_examples()) formats.push_back(format);
  std::erase_if(formats, [](const std::string& format) {
    return !head_rows(parse_format(format), kHeads, kColumns) ||
           !head_rows(parse_format(format), kHeads, kValueColumns);
  });
  return formats;
}

// Values of another width than the keys; with groups of 64 columns values' heads would end inside a group.
Graph graph_of(int64_t queries, const NamedTensors& constants) {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType&) { return constants.at(name); };
  return parse_graph(
      fmt::format(R"(graph g {{
    %q : f32[1,{0},256] = input "q"
    %k : {1} = const "k"
    %v : {2} = const "v"
    %m : f32[{0},{3}] = input "m"
    %y = attention %q, %k, %v, %m {{heads=4, kv_heads=2, causal=1}}
    return %y as "y"
  }})",
                  queries, to_string(constants.at("k").type()), to_string(constants.at("v").type()), kKeys),
      context);
}

class PackedAttention : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, PackedAttention, testing::ValuesIn(head_formats()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST_P(PackedAttention, HasTheBitsOfDecodedKeysAndValues) {
  const Format format = parse_format(GetParam());
  Philox rng(3);
  NamedTensors packed, decoded;
  for (const auto& [name, columns] : {std::pair{"k", kColumns}, {"v", kValueColumns}}) {
    const Tensor x = random_floats(rng, {1, kKeys, kHeads * columns});
    packed.emplace(name, pack(format, x));
    decoded.emplace(name, plain(packed.at(name)));
  }
  for (int64_t queries : {2, 19}) {
    const NamedTensors inputs{{"q", random_floats(rng, {1, queries, 256})},
                              {"m", random_floats(rng, {queries, kKeys})}};
    const Graph of_codes = graph_of(queries, packed), of_numbers = graph_of(queries, decoded);
    for (const X86Target& target : target_levels()) {
      SessionOptions options;
      options.device = x86_device(target);
      const Ran codes = run_session(of_codes, inputs, options), numbers = run_session(of_numbers, inputs, options);
      EXPECT_EQ(codes.profile.steps[0].kind, "attention") << codes.profile.steps[0].why_interpreted;
      EXPECT_TRUE(codes.outputs[0].same_bits(numbers.outputs[0])) << queries << " queries, " << to_string(target);
    }
  }
}

// Codes that are made while the graph runs: nothing is decoded between.
TEST(AttentionOfCodes, ReadsWhatQuantizeMakes) {
  for (const char* format : {"int8.g64", "mxint8", "fp8_e4m3.g32"})
    for (const char* queries : {"1", "2", "9", "33"})
      for (const char* limits : {"", ", causal=1, before=150, softcap=2.0"})
        expect_text_conforms(fmt::format(R"(graph g {{
          %q : f32[2,{0},256] = input "q"
          %x : f32[2,1100,128] = input "x"
          %v : f32[2,1100,128] = input "v"
          %c : bool[{0},1100] = input "c"
          %s : f32[4] = input "s"
          %kc = quantize %x {{format={1}}}
          %vc = quantize %v {{format={1}}}
          %y = attention %q, %kc, %vc, %c, %s {{heads=4, kv_heads=2{2}}}
          return %y as "y"
        }})",
                                         queries, format, limits),
                             {}, {}, "; attention attention");
}

// Only keys are codes, or they fall into heads that can't be read alone: those are decoded before.
TEST(AttentionOfCodes, MayHaveOneOperandOfCodes) {
  for (auto [format, steps] :
       {std::pair{"int8.g64", "; attention attention"}, {"int8.g20", "dequantize; attention attention"}})
    expect_text_conforms(fmt::format(R"(graph g {{
      %q : f32[1,3,120] = input "q"
      %x : f32[1,37,120] = input "x"
      %k = quantize %x {{format={}}}
      %y = attention %q, %k, %x {{heads=2}}
      return %y as "y"
    }})",
                                     std::string(format) == "int8.g64" ? "int8.g60" : format),
                         {}, {}, steps);
}

}  // namespace
}  // namespace hone::test
