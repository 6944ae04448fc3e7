#include "jobs/bench_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/philox.h"
#include "data/splits.h"
#include "jobs/op_forms.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

constexpr OptionField<AttentionFlags> kFields[] = {
    flag("queries", "With --op attention: queries of each head, the last of its keys (default: as many)",
         &AttentionFlags::queries, {.least = 1, .only_with = "op"}),
    flag("kv-heads", "With --op attention: heads of keys and values, shared (default: one each)",
         &AttentionFlags::kv_heads, {.least = 1, .only_with = "op"}),
    flag("kv-format",
         "With --op attention: number format of keys and values, whose codes the fused form reads, e.g. int8.g64",
         &AttentionFlags::kv_format, {.only_with = "op"}),
    flag("page-rows",
         "With --op attention: keys and values lie in pages of so many, in a random order (default: one behind the "
         "other)",
         &AttentionFlags::page_rows, {.least = 1, .only_with = "op"}),
    flag("causal", "With --op attention: a query sees no key behind its own", &AttentionFlags::causal,
         {.only_with = "op"})};

struct HeadSizes {
  explicit HeadSizes(const AttentionBenchOptions& o)
      : batches(o.shape[0]),
        heads(o.shape[1]),
        keys(o.shape[2]),
        columns(o.shape[3]),
        queries(o.queries == 0 ? keys : o.queries),
        kv_heads(o.kv_heads == 0 ? heads : o.kv_heads) {}
  int64_t batches, heads, keys, columns, queries, kv_heads;

  int64_t length_of(const std::string& x) const { return x == "k" || x == "v" ? keys : queries; }
  int64_t heads_of(const std::string& x) const { return x == "k" || x == "v" ? kv_heads : heads; }
  // Head by head; heads that share keys have a dimension of their own.
  std::vector<int64_t> by_head(const std::string& x) const {
    if (kv_heads == heads) return {batches, heads, length_of(x), columns};
    return {batches, kv_heads, heads_of(x) / kv_heads, length_of(x), columns};
  }
  std::vector<int64_t> by_row(const std::string& x) const { return {batches, length_of(x), heads_of(x) * columns}; }
  int64_t scores() const { return batches * heads * queries * keys; }
};

Graph naive_graph(const HeadSizes& s, const AttentionBenchOptions& options) {
  Graph g;
  g.name = "naive";
  const auto input = [&](const char* name) {
    return g.add_input(name, {.dtype = options.type, .shape = to_shape(s.by_head(name)), .format = {}});
  };
  const ValueId q = input("q"), k = input("k"), v = input("v");
  const double scale = 1 / std::sqrt(static_cast<double>(s.columns));
  ValueId scores =
      ops::mul(g, {ops::matmul(g, {.a = q, .b = k, .transpose_b = 1}), g.add_scalar<float>(static_cast<float>(scale))});
  if (options.causal) {
    const ValueId t = ops::iota(g, {.shape = Shape{s.keys}}),
                  row = ops::add(
                      g, {ops::iota(g, {.shape = Shape{s.queries, 1}}), g.add_scalar<int64_t>(s.keys - s.queries)});
    scores = ops::where(
        g, {ops::less_or_equal(g, {t, row}), scores, g.add_scalar<float>(-std::numeric_limits<float>::infinity())});
  }
  ValueId weights = ops::softmax(g, {.x = scores});
  if (options.type != DType::f32) weights = ops::cast(g, {.x = weights, .dtype = options.type});
  g.add_output(ops::matmul(g, {.a = weights, .b = v}), "y");
  return g;
}

// Keys and values of all sequences: [pages,page_rows,columns].
std::vector<int64_t> paged(const HeadSizes& s, const AttentionBenchOptions& options) {
  return {s.batches * s.keys / options.page_rows, options.page_rows, s.kv_heads * s.columns};
}

TensorType fused_type(const HeadSizes& s, const AttentionBenchOptions& options, const std::string& name) {
  const bool in_pages = options.page_rows > 0 && name != "q";
  TensorType type{
      .dtype = options.type, .shape = to_shape(in_pages ? paged(s, options) : s.by_row(name)), .format = {}};
  if (!options.kv_format.empty() && name != "q") type.format = parse_format(options.kv_format);
  return type;
}

Graph fused_graph(const HeadSizes& s, const AttentionBenchOptions& options) {
  Graph g;
  g.name = "fused";
  const auto input = [&](const char* name) { return g.add_input(name, fused_type(s, options, name)); };
  const ValueId q = input("q");
  ValueId k = input("k"), v = input("v");
  if (options.page_rows > 0) {
    const ValueId table = g.add_input(
        "table", {.dtype = DType::i64, .shape = Shape{s.batches, s.keys / options.page_rows}, .format = {}});
    for (ValueId* x : {&k, &v})
      *x = ops::reshape(g, {.x = ops::gather(g, {.table = *x, .indices = table}), .shape = to_shape(s.by_row("k"))});
  }
  g.add_output(ops::attention(g, {.q = q,
                                  .k = k,
                                  .v = v,
                                  .heads = s.heads,
                                  .kv_heads = s.kv_heads,
                                  .causal = options.causal ? std::optional<int64_t>(1) : std::nullopt}),
               "y");
  return g;
}

// [batches,outer,inner,columns] with the two in the middle in the other order, in this shape.
Tensor swapped(const HeadSizes& s, const Tensor& x, int64_t outer, int64_t inner, std::vector<int64_t> shape) {
  const Tensor split(x.dtype(), {s.batches, outer, inner, s.columns}, x.data());
  const Tensor* const operand = &split;
  const Tensor y = evaluate_node(transpose_def, {&operand, 1}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}})[0];
  return Tensor(y.dtype(), std::move(shape), y.data());
}

// Operand or result `name`, given head by head, by rows; and back.
Tensor rows_of(const HeadSizes& s, const std::string& name, const Tensor& x) {
  return swapped(s, x, s.heads_of(name), s.length_of(name), s.by_row(name));
}
Tensor heads_of(const HeadSizes& s, const std::string& name, const Tensor& x) {
  return swapped(s, x, s.length_of(name), s.heads_of(name), s.by_head(name));
}

// Rows of keys or values cut into pages, page i of them where `order` says; the table of which is `order`.
Tensor pages_of(const Tensor& rows, std::vector<int64_t> shape, const std::vector<int64_t>& order) {
  const std::vector<float> values = rows.to_floats();
  std::vector<float> placed(values.size());
  const auto page = static_cast<std::ptrdiff_t>(shape[1] * shape[2]);
  for (size_t i = 0; i < order.size(); ++i)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i) * page, page, placed.begin() + order[i] * page);
  return Tensor::from_floats(rows.dtype(), std::move(shape), placed);
}

}  // namespace

std::span<const OptionField<AttentionFlags>> AttentionFlags::fields() { return kFields; }

AttentionBenchOptions AttentionFlags::attention() const {
  return {.queries = queries.value_or(0),
          .kv_heads = kv_heads.value_or(0),
          .kv_format = kv_format,
          .page_rows = page_rows.value_or(0),
          .causal = causal};
}

bool AttentionFlags::are_given() const { return queries || kv_heads || page_rows || !kv_format.empty() || causal; }

std::array<int64_t, 4> parse_attention_shape(const std::string& text) {
  std::array<int64_t, 4> shape{};
  const char *at = text.data(), *const end = at + text.size();
  for (size_t i = 0; i < 4; ++i) {
    const auto [after, error] = std::from_chars(at, end, shape[i]);
    const bool ends = i == 3 ? after == end : after != end && *after == ',';
    if (error != std::errc() || !ends || shape[i] < 1)
      fail("--shape {}: expected four sizes of 1 or more: batches,heads,length,columns, as 32,8,128,64", text);
    at = after + (i < 3);
  }
  return shape;
}

AttentionResult bench_attention(const AttentionBenchOptions& options, const OpMeasuring& measuring,
                                const TaskContext& context) {
  const HeadSizes s(options);
  if (s.queries > s.keys) fail("--queries {}: they are the last of {} keys", s.queries, s.keys);
  if (s.heads % s.kv_heads != 0) fail("--kv-heads {}: {} heads cannot share them evenly", s.kv_heads, s.heads);
  if (options.page_rows > 0 && s.keys % options.page_rows != 0)
    fail("--page-rows {}: {} keys are no whole pages", options.page_rows, s.keys);
  if (!options.kv_format.empty() && options.type != DType::f32)
    fail("--kv-format {}: codes are read beside f32, not {}; leave --type out", options.kv_format,
         to_string(options.type));
  if (!options.kv_format.empty() && is_plain_float(parse_format(options.kv_format)))
    fail("--kv-format {}: it has no codes; accepted: packed formats (hone formats), e.g. int8.g64", options.kv_format);
  const int64_t heads = checked_mul(s.batches, s.heads),
                elements = checked_mul(heads, checked_mul(s.keys, checked_add(s.queries, s.columns)));
  require_memory(checked_mul(elements, 16), fmt::format("--shape {}", fmt::join(options.shape, ",")));
  Philox rng(measuring.seed);
  std::vector<int64_t> order;
  if (options.page_rows > 0) order = permutation(paged(s, options)[0], measuring.seed, 0);
  NamedTensors by_head, by_row;
  for (const char* name : {"q", "k", "v"}) {
    const std::vector<int64_t> shape = s.by_head(name);
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& x : values) x = rng.normal();
    const Tensor x = Tensor::from_floats(options.type, shape, values);
    const bool is_query = std::string(name) == "q", has_codes = !options.kv_format.empty() && !is_query;
    Tensor rows = rows_of(s, name, x);
    const auto packed = [&](const Tensor& plain) { return pack(parse_format(options.kv_format), plain); };
    by_head.emplace(name, has_codes ? heads_of(s, name, unpack(packed(rows))) : x);
    if (options.page_rows > 0 && !is_query) rows = pages_of(rows, paged(s, options), order);
    by_row.emplace(name, has_codes ? packed(rows) : rows);
  }
  if (options.page_rows > 0)
    by_row.emplace("table", Tensor::of<int64_t>({s.batches, s.keys / options.page_rows}, order));
  std::vector<OpForm> forms;
  forms.push_back({"naive", naive_graph(s, options), by_head});
  forms.push_back({"fused", fused_graph(s, options), by_row});
  open_sessions(forms, measuring.session);
  const double apart = largest_difference(rows_of(s, "y", forms[0].session->run(forms[0].inputs)[0]),
                                          forms[1].session->run(forms[1].inputs)[0]);
  // Of a mean of values: sums of S terms, or roundings to bf16.
  const bool is_rounded = options.type != DType::f32 || forms[0].session->compute() == Compute::bf16;
  CHECK(apart <= (is_rounded ? 0.05 : 1e-4), "naive and fused attention differ by {}", apart);
  std::vector<OpTimes> times = time_forms(forms, measuring, context);
  AttentionResult result{.options = options, .measuring = measuring, .environment = environment()};
  result.forms[0] = {std::move(times[0]), static_cast<double>(s.scores()) * 4};
  result.forms[1] = {std::move(times[1]), 0};
  return result;
}

}  // namespace hone
