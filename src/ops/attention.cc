// attention: scaled dot-product attention of several heads that lie side by side in the last dimension; and its
// gradient, which computes the weights again instead of keeping them: nothing of queries x keys outlives a row.
#include <algorithm>
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
    {"causal", AttributeKind::integer, false, "1: a query sees no key behind its own; default 0"},
    {"from_start", AttributeKind::integer, false,
     "1: query s of S stands at key s; default 0: at key s + T - S, the last at the last"},
    {"before", AttributeKind::integer, false, "how many keys before its own a query sees; default all"},
    {"behind", AttributeKind::integer, false, "how many keys behind its own a query sees; default all"},
    {"softcap", AttributeKind::number, false,
     "scores x become softcap * tanh(x / softcap) before the mask; default 0: they stay"},
    {"blind_is_zero", AttributeKind::integer, false,
     "1: a query that sees no key gives 0; default 0: NaN, as softmax does"},
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

void check_mask(const InferArgs& a, const TensorType& type, int64_t heads) {
  if (type.dtype != DType::boolean && !is_float(type.dtype))
    fail("the mask is {}; accepted: floats, which are added to the scores, and bool, true where a key is seen",
         to_string(type));
  const Shape full{a[0].shape[0], heads, a[0].shape[1], a[1].shape[1]};
  const Shape& mask = type.shape;
  bool fits = mask.size() <= full.size();
  for (size_t i = 0; fits && i < mask.size(); ++i)
    fits = mask[i] == Dim(1) || may_be_same(mask[i], full[full.size() - mask.size() + i]);
  if (!fits)
    fail("the mask {} does not broadcast to {} = [batch, heads, queries, keys]", to_string(mask), to_string(full));
}

// Of q, k and v, the first operands.
TensorType attended(const InferArgs& a) {
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
  const DType dtype = a[2].dtype == DType::f64 ? DType::f64 : sum_dtype(a, 0, 1);
  return plain_type(dtype,
                    {a[0].shape[0], a[0].shape[1], checked_mul(heads.queries, head_columns(a[2], heads.keys, "v"))});
}

void check_limits(const Attributes& attributes) {
  for (const char* name : {"before", "behind"})
    if (const int64_t keys = attributes.get_or<int64_t>(name, 0); keys < 0)
      fail("{} is {} keys; accepted: 0 or more, or no such attribute for all", name, keys);
  const double cap = attributes.get_or<double>("softcap", 0);
  if (!(cap >= 0) || std::isinf(cap)) fail("softcap is {}; accepted: 0, which leaves scores as they are, or more", cap);
}

std::vector<TensorType> infer_attention(const InferArgs& a) {
  const TensorType result = attended(a);
  check_limits(a.attributes);
  const int64_t heads = heads_of(a.attributes).queries;
  if (a.has(3)) check_mask(a, a[3], heads);
  if (a.has(4)) {
    expect_float(a[4], "sinks");
    expect_rank(a[4], 1, 1, "sinks [heads]");
    expect_dim(a[4].shape[0], heads, "the number of sinks, that of heads,");
  }
  return {result};
}

std::vector<TensorType> infer_gradient(const InferArgs& a) {
  const TensorType result = attended(a);
  check_limits(a.attributes);
  expect_float(a[3], "d");
  expect_rank(a[3], 3, 3, "d");
  for (size_t i = 0; i < 3; ++i)
    expect_dim(a[3].shape[i], result.shape[i], "a dimension of d, that of attention's result,");
  if (a.has(4)) check_mask(a, a[4], heads_of(a.attributes).queries);
  const DType dtype = a[3].dtype == DType::f64 ? DType::f64 : result.dtype;
  return {plain_type(dtype, a[0].shape), plain_type(dtype, a[1].shape), plain_type(dtype, a[2].shape)};
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Softmax in place, with one more score that is left out of the result. A row that is all -inf becomes NaN.
void softmax(std::vector<double>& scores, double sink) {
  double most = sink, sum = 0;
  for (double s : scores) most = s > most ? s : most;
  for (double& s : scores) sum += s = std::exp(s - most);
  if (sink != kHidden) sum += std::exp(sink - most);
  for (double& s : scores) s /= sum;
}

struct Attention {
  std::vector<double> q, k, v, mask, sinks;
  std::vector<int64_t> mask_strides{0, 0, 0, 0};
  Heads heads;
  int64_t queries, keys, columns, value_columns;
  double scale, softcap;
  bool is_chosen;  // the mask says which keys are seen; else it is added
  bool blind_is_zero;
  int64_t first, before, behind;  // where query 0 stands, and how many keys around its own a query sees

  const double* query(int64_t b, int64_t h, int64_t s) const {
    return q.data() + ((b * queries + s) * heads.queries + h) * columns;
  }
  int64_t shared(int64_t h) const { return h / (heads.queries / heads.keys); }
  int64_t row_of(int64_t b, int64_t h, int64_t t) const { return (b * keys + t) * heads.keys + shared(h); }  // k and v

  // How much head h at query s of batch b takes from each key.
  std::vector<double> weights(int64_t b, int64_t h, int64_t s) const {
    std::vector<double> scores(static_cast<size_t>(keys));
    for (int64_t t = 0; t < keys; ++t) {
      double& score = scores[static_cast<size_t>(t)];
      score = scale * dot(query(b, h, s), k.data() + row_of(b, h, t) * columns, columns);
      if (softcap != 0) score = softcap * std::tanh(score / softcap);
      if (!mask.empty()) {
        const double m = mask[static_cast<size_t>(b * mask_strides[0] + h * mask_strides[1] + s * mask_strides[2] +
                                                  t * mask_strides[3])];
        score = !is_chosen ? score + m : m != 0 ? score : kHidden;
      }
      if (t < s + first - before || t > s + first + behind) score = kHidden;
    }
    if (blind_is_zero && std::all_of(scores.begin(), scores.end(), [](double x) { return x == kHidden; }))
      return std::vector<double>(scores.size(), 0.0);
    softmax(scores, sinks.empty() ? kHidden : sinks[static_cast<size_t>(h)]);
    return scores;
  }

  // The result of one head h at query s of batch b.
  void row(int64_t b, int64_t h, int64_t s, double* out) const {
    const std::vector<double> of_keys = weights(b, h, s);
    std::fill(out, out + value_columns, 0.0);
    for (int64_t t = 0; t < keys; ++t)
      for (int64_t c = 0; c < value_columns; ++c)
        out[c] += of_keys[static_cast<size_t>(t)] * v[static_cast<size_t>(row_of(b, h, t) * value_columns + c)];
  }

  // What the result's gradient d_row of that row adds to the gradients of q, k and v. A weight's gradient is d_row ·
  // v[t]; softmax takes its mean, by the weights, off.
  void add_gradients(int64_t b, int64_t h, int64_t s, const double* d_row, double* d_q, double* d_k,
                     double* d_v) const {
    const std::vector<double> of_keys = weights(b, h, s);
    std::vector<double> d_weights;
    double mean = 0;
    for (int64_t t = 0; t < keys; ++t) {
      const int64_t row = row_of(b, h, t) * value_columns;
      d_weights.push_back(dot(d_row, v.data() + row, value_columns));
      mean += of_keys[static_cast<size_t>(t)] * d_weights.back();
      for (int64_t c = 0; c < value_columns; ++c) d_v[row + c] += of_keys[static_cast<size_t>(t)] * d_row[c];
    }
    const double* from = query(b, h, s);
    double* to = d_q + (from - q.data());
    for (int64_t t = 0; t < keys; ++t) {
      const int64_t row = row_of(b, h, t) * columns;
      double d_score = scale * of_keys[static_cast<size_t>(t)] * (d_weights[static_cast<size_t>(t)] - mean);
      if (softcap != 0) {
        const double y = std::tanh(scale * dot(from, k.data() + row, columns) / softcap);
        d_score *= 1 - y * y;
      }
      for (int64_t c = 0; c < columns; ++c) {
        to[c] += d_score * k[static_cast<size_t>(row + c)];
        d_k[row + c] += d_score * from[c];
      }
    }
  }
};

constexpr int64_t kReach = int64_t{1} << 40;  // beyond the length of any sequence
int64_t within_reach(int64_t keys) { return std::min(keys, kReach); }

// Of q, k and v, the first operands, and a mask.
Attention read_attention(const EvalArgs& a, size_t mask) {
  const Heads heads = heads_of(a.attributes);
  const int64_t columns = a[0].dim(2) / heads.queries;
  Attention attention{.q = a[0].to_doubles(),
                      .k = a[1].to_doubles(),
                      .v = a[2].to_doubles(),
                      .mask = {},
                      .sinks = {},
                      .heads = heads,
                      .queries = a[0].dim(1),
                      .keys = a[1].dim(1),
                      .columns = columns,
                      .value_columns = a[2].dim(2) / heads.keys,
                      .scale = a.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(columns))),
                      .softcap = a.attributes.get_or<double>("softcap", 0),
                      .is_chosen = a.has(mask) && a[mask].dtype() == DType::boolean,
                      .blind_is_zero = a.attributes.get_or<int64_t>("blind_is_zero", 0) != 0,
                      .first = a.attributes.get_or<int64_t>("from_start", 0) != 0 ? 0 : a[1].dim(1) - a[0].dim(1),
                      .before = within_reach(a.attributes.get_or<int64_t>("before", kReach)),
                      .behind = a.attributes.get_or<int64_t>("causal", 0) != 0
                                    ? 0
                                    : within_reach(a.attributes.get_or<int64_t>("behind", kReach))};
  if (a.has(mask)) {
    attention.mask = a[mask].to_doubles();
    attention.mask_strides = strides_broadcast(
        a[mask].shape(), std::vector<int64_t>{a[0].dim(0), heads.queries, attention.queries, attention.keys});
  }
  return attention;
}

std::vector<Tensor> eval_attention(const EvalArgs& a) {
  Attention attention = read_attention(a, 3);
  if (a.has(4)) attention.sinks = a[4].to_doubles();
  const int64_t heads = attention.heads.queries, queries = attention.queries;
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<double> out(static_cast<size_t>(element_count(sizes)));
  parallel_for(a[0].dim(0) * queries * heads, [&](int64_t i) {
    attention.row(i / heads / queries, i % heads, i / heads % queries, out.data() + i * attention.value_columns);
  });
  return {Tensor::from_doubles(a.results[0].dtype, sizes, out)};
}

// The heads that share keys add to the same rows, one after the other.
std::vector<Tensor> eval_gradient(const EvalArgs& a) {
  const Attention attention = read_attention(a, 4);
  const std::vector<double> d = a[3].to_doubles();
  std::vector<double> gradients[3];
  for (size_t i = 0; i < 3; ++i) gradients[i].resize(static_cast<size_t>(a[i].elements()));
  const int64_t heads = attention.heads.queries, shared = attention.heads.keys;
  parallel_for(a[0].dim(0) * shared, [&](int64_t at) {
    const int64_t b = at / shared, first = at % shared * (heads / shared);
    for (int64_t h = first; h < first + heads / shared; ++h)
      for (int64_t s = 0; s < attention.queries; ++s) {
        check_stop();
        const double* row = d.data() + ((b * attention.queries + s) * heads + h) * attention.value_columns;
        attention.add_gradients(b, h, s, row, gradients[0].data(), gradients[1].data(), gradients[2].data());
      }
  });
  std::vector<Tensor> results;
  for (size_t i = 0; i < 3; ++i)
    results.push_back(Tensor::from_doubles(a.results[i].dtype, sizes_of(a.results[i]), gradients[i]));
  return results;
}

// q·k and scores·v.
Dim attention_flops(const InferArgs& a) {
  const Dim scores = a[0].shape[0] * a[0].shape[1] * a[1].shape[1];
  return 2 * scores * (a[0].shape[2] + infer_attention(a)[0].shape[2]);
}

// q·k again, and two products for each of the two of attention.
Dim gradient_flops(const InferArgs& a) {
  const Dim scores = a[0].shape[0] * a[0].shape[1] * a[1].shape[1];
  return 2 * scores * (3 * a[0].shape[2] + 2 * a[3].shape[2]);
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
        "f32[B,S,H*E] (f64 where an operand is); H heads share G kv_heads. A mask is added, or bool: true where a key "
        "is seen. sinks[H] is a score that each head's softmax counts besides, without a value. Where q, k and v are "
        "bf16, weights may be rounded to bf16 before they meet v.",
    .operands = {factor("q"), factor("k"), factor("v"), optional("mask"), optional("sinks")},
    .attributes = kAttributes,
    .infer = infer_attention,
    .eval = eval_attention,
    .summed_axis = [](const Attributes&, size_t operand) -> int64_t { return operand == 2 ? -2 : -1; },
    .fits_all_sizes = attention_fits_all_sizes,
    .flops = attention_flops};
extern constinit const OpDef attention_gradient_def{
    .name = "attention_gradient",
    .doc =
        "The gradients of q, k and v in attention(q, k, v, mask) from that of its result, d[B,S,H*E]; the weights are "
        "computed again from q, k and the mask. f32 (f64 where an operand is).",
    .operands = {"q", "k", "v", "d", optional("mask")},
    .attributes = kAttributes,
    .results = 3,
    .infer = infer_gradient,
    .eval = eval_gradient,
    .no_gradient = "gradients of gradients are not taken",
    .flops = gradient_flops};

}  // namespace hone
