// attention: scaled dot-product attention of several heads that lie side by side in the last dimension.
#include <cmath>
#include <limits>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"heads", AttributeKind::integer, true, "heads of q"},
    {"kv_heads", AttributeKind::integer, false,
     "heads of k and v, each shared by heads / kv_heads heads of q; default heads"},
    {"scale", AttributeKind::number, false, "factor of q·k; default 1 / sqrt(columns of a head)"},
    {"causal", AttributeKind::integer, false, "1: query s of S sees the keys up to s + T - S; default 0"},
};

struct Heads {
  int64_t queries, keys;
};
Heads heads_of(const Attributes& attributes) {
  const int64_t heads = attributes.get<int64_t>("heads"), kv_heads = attributes.get_or<int64_t>("kv_heads", heads);
  expect_positive(heads, "heads");
  expect_positive(kv_heads, "kv_heads");
  if (heads % kv_heads != 0) fail("{} heads do not share {} kv_heads evenly", heads, kv_heads);
  return {heads, kv_heads};
}

int64_t head_columns(const TensorType& type, int64_t heads, const char* what) {
  if (!type.shape[2].is_constant() || type.shape[2].constant() % heads != 0)
    fail("{} has {} columns, which do not fall into {} heads", what, type.shape[2].to_string(), heads);
  if (type.shape[2].constant() < heads) fail("{} has {} columns for {} heads", what, type.shape[2].constant(), heads);
  return type.shape[2].constant() / heads;
}

void check_mask(const InferArgs& a, int64_t heads) {
  expect_float(a[3], "the mask (added to the scores)");
  const Shape full{a[0].shape[0], heads, a[0].shape[1], a[1].shape[1]};
  const Shape& mask = a[3].shape;
  bool fits = mask.size() <= full.size();
  for (size_t i = 0; fits && i < mask.size(); ++i)
    fits = mask[i] == Dim(1) || may_be_same(mask[i], full[full.size() - mask.size() + i]);
  if (!fits)
    fail("the mask {} does not broadcast to {} = [batch, heads, queries, keys]", to_string(a[3].shape),
         to_string(full));
}

std::vector<TensorType> infer_attention(const InferArgs& a) {
  constexpr const char* kNames[] = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    expect_float(a[i], kNames[i]);
    expect_rank(a[i], 3, 3, kNames[i]);
    expect_dim(a[i].shape[0], a[0].shape[0], "the batch of k and v, that of q,");
  }
  const Heads heads = heads_of(a.attributes);
  expect_dim(a[2].shape[1], a[1].shape[1], "the length of v, that of k,");
  if (head_columns(a[0], heads.queries, "q") != head_columns(a[1], heads.keys, "k"))
    fail("a head has {} columns in q but {} in k", head_columns(a[0], heads.queries, "q"),
         head_columns(a[1], heads.keys, "k"));
  if (a.has(3)) check_mask(a, heads.queries);
  const DType dtype = a[2].dtype == DType::f64 ? DType::f64 : sum_dtype(a, 0, 1);
  return {plain_type(dtype,
                     {a[0].shape[0], a[0].shape[1], checked_mul(heads.queries, head_columns(a[2], heads.keys, "v"))})};
}

// Softmax in place; a row that is all -inf becomes NaN.
void softmax(std::vector<double>& scores) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double s : scores) most = s > most ? s : most;
  for (double& s : scores) sum += s = std::exp(s - most);
  for (double& s : scores) s /= sum;
}

struct Attention {
  std::vector<double> q, k, v, mask;
  std::vector<int64_t> mask_strides{0, 0, 0, 0};
  Heads heads;
  int64_t queries, keys, columns, value_columns;
  double scale;
  bool causal;

  // The result of one head h at query s of batch b.
  void row(int64_t b, int64_t h, int64_t s, double* out) const {
    const int64_t kv = h / (heads.queries / heads.keys);
    const double* query = q.data() + ((b * queries + s) * heads.queries + h) * columns;
    std::vector<double> scores(static_cast<size_t>(keys));
    for (int64_t t = 0; t < keys; ++t) {
      double& score = scores[static_cast<size_t>(t)];
      score = scale * dot(query, k.data() + ((b * keys + t) * heads.keys + kv) * columns, columns);
      if (!mask.empty())
        score += mask[static_cast<size_t>(b * mask_strides[0] + h * mask_strides[1] + s * mask_strides[2] +
                                          t * mask_strides[3])];
      if (causal && t > s + keys - queries) score = -std::numeric_limits<double>::infinity();
    }
    softmax(scores);
    std::fill(out, out + value_columns, 0.0);
    for (int64_t t = 0; t < keys; ++t)
      for (int64_t c = 0; c < value_columns; ++c)
        out[c] += scores[static_cast<size_t>(t)] *
                  v[static_cast<size_t>(((b * keys + t) * heads.keys + kv) * value_columns + c)];
  }
};

std::vector<Tensor> eval_attention(const EvalArgs& a) {
  const Heads heads = heads_of(a.attributes);
  const int64_t batches = a[0].dim(0), queries = a[0].dim(1), keys = a[1].dim(1), columns = a[0].dim(2) / heads.queries;
  Attention attention{.q = a[0].to_doubles(),
                      .k = a[1].to_doubles(),
                      .v = a[2].to_doubles(),
                      .mask = {},
                      .heads = heads,
                      .queries = queries,
                      .keys = keys,
                      .columns = columns,
                      .value_columns = a[2].dim(2) / heads.keys,
                      .scale = a.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(columns))),
                      .causal = a.attributes.get_or<int64_t>("causal", 0) != 0};
  if (a.has(3)) {
    attention.mask = a[3].to_doubles();
    attention.mask_strides =
        strides_broadcast(a[3].shape(), std::vector<int64_t>{batches, heads.queries, queries, keys});
  }
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<double> out(static_cast<size_t>(element_count(sizes)));
  parallel_for(batches * queries * heads.queries, [&](int64_t i) {
    attention.row(i / heads.queries / queries, i % heads.queries, i / heads.queries % queries,
                  out.data() + i * attention.value_columns);
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, out)};
}

// q·k and scores·v.
Dim attention_flops(const InferArgs& a) {
  const Dim scores = a[0].shape[0] * a[0].shape[1] * a[1].shape[1];
  return 2 * scores * (a[0].shape[2] + infer_attention(a)[0].shape[2]);
}

bool attention_fits_all_sizes(const InferArgs& a, const TensorType&) {
  const Shape &q = a[0].shape, &k = a[1].shape, &v = a[2].shape;
  if (q.size() != 3 || k.size() != 3 || k != v || q[0] != k[0]) return false;
  return !a.has(3) || broadcasts_to(a[3].shape, {q[0], a.attributes.get<int64_t>("heads"), q[1], k[1]});
}

}  // namespace

extern constinit const OpDef attention_def{
    .name = "attention",
    .doc =
        "softmax(scale · q·kᵀ + mask) · v for each head: q[B,S,H*D], "
        "k[B,T,G*D], v[B,T,G*E], mask broadcastable to [B,H,S,T] → "
        "f32[B,S,H*E] (f64 where an operand is); H heads share G kv_heads.",
    .operands = {factor("q"), factor("k"), factor("v"), optional("mask")},
    .attributes = kAttributes,
    .infer = infer_attention,
    .eval = eval_attention,
    .summed_axis = [](const Attributes&, size_t operand) -> int64_t { return operand == 2 ? -2 : -1; },
    .fits_all_sizes = attention_fits_all_sizes,
    .flops = attention_flops};

}  // namespace hone
