// Attention of keys and values in pages: read through the table, with the bits of rows that were gathered first.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "device/x86/device.h"
#include "runtime/page_table.h"
#include "runtime/session.h"
#include "tests/device/x86/test_targets.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// Appends S keys and values to each of B sequences, then attends to all up to each query's own. Also what it attends to
// where `shows`.
std::string decoder(const std::string& type, const std::string& packing, bool shows, int page_rows) {
  return fmt::format(R"(graph decoder {{
    %q : {4}[B,S,256] = input "q"
    %x : {4}[B,S,128] = input "x"
    %z : {4}[B,S,128] = input "z"
    %k : {0}[P,{1},128] = state "k"
    %v : {0}[P,{1},128] = state "v"
    %table : i64[B,T] = state "table"
    %lengths : i64[B] = state "lengths"
    {2}
    %k2 = cache_append %k, %xn, %table, %lengths
    %v2 = cache_append %v, %zn, %table, %lengths
    %shape = shape_of %x
    %s = slice %shape {{starts=[1], ends=[2], axes=[0]}}
    %lengths2 = add %lengths, %s
    %kp = gather %k2, %table
    %vp = gather %v2, %table
    %kr = reshape %kp {{shape=[B,{1}*T,128]}}
    %vr = reshape %vp {{shape=[B,{1}*T,128]}}
    %own = reshape %lengths {{shape=[B,1,1,1]}}
    %row = iota {{shape=[S,1]}}
    %last = add %own, %row
    %t = iota {{shape=[{1}*T]}}
    %m = less_or_equal %t, %last
    %y = attention %q, %kr, %vr, %m {{heads=4, kv_heads=2}}
    update %k = %k2
    update %v = %v2
    update %lengths = %lengths2
    return %y as "y"{3}
  }})",
                     type, page_rows, packing, shows ? ", %kr as \"kr\", %vr as \"vr\", %m as \"m\"" : "",
                     type == "bf16" ? "bf16" : "f32");
}

const Graph kDense = parse(R"(graph dense {
  %q : f32[B,S,256] = input "q"
  %k : f32[B,T,128] = input "kr"
  %v : f32[B,T,128] = input "vr"
  %m : bool[B,1,S,T] = input "m"
  %y = attention %q, %k, %v, %m {heads=4, kv_heads=2}
  return %y as "y"
})");

Tensor random_rows(DType dtype, std::vector<int64_t> shape, Philox& rng) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& x : values) x = rng.normal();
  return Tensor::from_floats(dtype, shape, values);
}

struct Kind {
  const char *type, *packing;
};
constexpr Kind kKinds[] = {{"f32", "%xn = relu %x\n %zn = relu %z"},
                           {"bf16", "%xn = relu %x\n %zn = relu %z"},
                           {"int8.g64", "%xn = quantize %x {format=int8.g64}\n %zn = quantize %z {format=int8.g64}"},
                           {"mxint8", "%xn = quantize %x {format=mxint8}\n %zn = quantize %z {format=mxint8}"}};

SessionOptions options_of(const X86Target& target, int threads) {
  SessionOptions options;
  options.device = x86_device(target), options.threads = threads, options.cache_folder = "";
  return options;
}

// New keys in turn: few queries, that are multiplied with rows, and many, for which rows are laid out; over several
// blocks of keys, in pages that share no size with them.
TEST(PagedAttention, ReadsPagesWhereTheyLie) {
  for (const Kind& kind : kKinds)
    for (const X86Target& target : test_targets())
      for (int page_rows : {5, 32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", kind.type, to_string(target), page_rows));
        const bool is_bf16 = std::string(kind.type) == "bf16";
        const DType dtype = is_bf16 ? DType::bf16 : DType::f32;
        const std::string packing = kind.packing;
        Session session(parse(decoder(kind.type, packing, false, page_rows)), options_of(target, 2)),
            shown(parse(decoder(kind.type, packing, true, page_rows)), options_of(target, 1));
        Context context, beside;
        PageTable pages(session.graph(), context, {.pages = {"k", "v"}}, 2),
            others(shown.graph(), beside, {.pages = {"k", "v"}}, 2);
        Session dense(kDense, options_of(target, 1));
        Philox rng(4);
        for (int64_t rows : {1, 33, 700, 2, 1, 19}) {
          const NamedTensors inputs{{"q", random_rows(dtype, {2, rows, 256}, rng)},
                                    {"x", random_rows(dtype, {2, rows, 128}, rng)},
                                    {"z", random_rows(dtype, {2, rows, 128}, rng)}};
          pages.reserve(rows), others.reserve(rows);
          RunProfile profile;
          const std::vector<Tensor> y = session.run(context, inputs, &profile), all = shown.run(beside, inputs);
          for (const StepProfile& step : profile.steps) EXPECT_NE(step.kind, "gather") << step.ops;
          EXPECT_TRUE(y[0].same_bits(all[0])) << rows;
          if (is_bf16) continue;
          const std::vector<Tensor> want =
              dense.run({{"q", inputs.at("q")}, {"kr", all[1]}, {"vr", all[2]}, {"m", all[3]}});
          EXPECT_TRUE(y[0].same_bits(want[0])) << rows;
        }
      }
}

// What the reference gathers and sums, to the bounds of a few hundred roundings of values of about 1.
TEST(PagedAttention, IsThatOfTheReference) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.type);
    const DType dtype = std::string(kind.type) == "bf16" ? DType::bf16 : DType::f32;
    const Graph graph = parse(decoder(kind.type, kind.packing, false, 7));
    SessionOptions interpreted = options_of(host_target(), 1);
    interpreted.optimise = 0;
    Session session(graph, options_of(host_target(), 2)), reference(graph, interpreted);
    Context context, beside;
    PageTable pages(graph, context, {.pages = {"k", "v"}}, 3), others(graph, beside, {.pages = {"k", "v"}}, 3);
    Philox rng(5);
    for (int64_t rows : {3, 20, 1}) {
      const NamedTensors inputs{{"q", random_rows(dtype, {3, rows, 256}, rng)},
                                {"x", random_rows(dtype, {3, rows, 128}, rng)},
                                {"z", random_rows(dtype, {3, rows, 128}, rng)}};
      pages.reserve(rows), others.reserve(rows);
      const std::vector<float> got = session.run(context, inputs)[0].to_floats(),
                               want = reference.run(beside, inputs)[0].to_floats();
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], dtype == DType::bf16 ? 0.02 : 1e-4) << i;
    }
  }
}

TEST(PagedAttention, PagesThatThereAreNotAreRefused) {
  Session session(parse(R"(graph g {
    %q : f32[1,1,32] = input "q"
    %k : f32[P,4,32] = state "k"
    %table : i64[1,T] = input "table"
    %kp = gather %k, %table
    %kr = reshape %kp {shape=[1,4*T,32]}
    %y = attention %q, %kr, %kr {heads=2}
    return %y as "y"
  })"),
                  options_of(host_target(), 1));
  Context context;
  context.set_state("k", Tensor::of<float>({2, 4, 32}, std::vector<float>(256, 1.0f)));
  const Tensor q = Tensor::of<float>({1, 1, 32}, std::vector<float>(32, 1.0f));
  EXPECT_EQ(session.run(context, {{"q", q}, {"table", Tensor::of<int64_t>({1, 2}, {1, -2})}})[0].to_floats()[5], 1.0f);
  const std::string error = error_of([&] {
    session.run(context, {{"q", q}, {"table", Tensor::of<int64_t>({1, 2}, {1, 2})}});
  });
  EXPECT_NE(error.find("element 1 is 2, but there are 2 pages"), std::string::npos) << error;
}

}  // namespace
}  // namespace hone::test
