// linear_attention: attention whose keys and values are summed into one matrix per head, which every query reads, so
// that a step costs the same however long the sequence is. Katharopoulos et al., "Transformers are RNNs" (2020); with a
// decay: Yang et al., "Gated Linear Attention Transformers" (2023); with corrections: "Gated Delta Networks" (2024).
//
// Letters: B samples, T steps, H heads of queries, G heads of keys and values, K columns of a key, V of a value.
#include <cmath>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"heads", AttributeKind::integer, true, "heads of q"},
    {"kv_heads", AttributeKind::integer, true, "heads of k and v, each shared by heads / kv_heads heads of q"},
    {"scale", AttributeKind::number, false, "factor of the result; default 1 / sqrt(columns of a key)"},
    {"delta", AttributeKind::integer, false,
     "1: v less what the matrix already gives for k, times beta, is added; default 0: v"},
};

struct Sizes {
  int64_t heads, groups;
  Dim keys, values;  // K, V
};

int64_t columns(const TensorType& type, int64_t heads, const char* what) {
  if (!type.shape[2].is_constant() || type.shape[2].constant() % heads != 0)
    fail("{} has {} columns, which do not fall into {} heads", what, type.shape[2].to_string(), heads);
  return type.shape[2].constant() / heads;
}

Sizes sizes_of_heads(const InferArgs& a) {
  const int64_t heads = a.attributes.get<int64_t>("heads"), groups = a.attributes.get<int64_t>("kv_heads");
  expect_positive(heads, "heads");
  expect_positive(groups, "kv_heads");
  if (heads % groups != 0) fail("{} heads do not share {} kv_heads evenly", heads, groups);
  const int64_t keys = columns(a[0], heads, "q");
  if (const int64_t found = columns(a[1], groups, "k"); found != keys)
    fail("a head has {} columns in q but {} in k", keys, found);
  return {heads, groups, keys, columns(a[2], groups, "v")};
}

// decay: one per head of keys, or per column of a key; beta: one per head of keys, or one in all.
void check_gate(const InferArgs& a, size_t operand, const char* what, const Dim& few, const Dim& many) {
  if (!a.has(operand)) return;
  const TensorType& gate = a[operand];
  expect_float(gate, what);
  expect_rank(gate, 3, 3, what);
  expect_dim(gate.shape[0], a[0].shape[0], what);
  expect_dim(gate.shape[1], a[0].shape[1], what);
  if (!may_be_same(gate.shape[2], few) && !may_be_same(gate.shape[2], many))
    fail("{} has {} columns; accepted: {} or {}", what, gate.shape[2].to_string(), few.to_string(), many.to_string());
}

std::vector<TensorType> infer_linear_attention(const InferArgs& a) {
  constexpr const char* kNames[] = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    expect_float(a[i], kNames[i]);
    expect_rank(a[i], 3, 3, kNames[i]);
    expect_dim(a[i].shape[0], a[0].shape[0], "the batch of k and v, that of q,");
    expect_dim(a[i].shape[1], a[0].shape[1], "the length of k and v, that of q,");
  }
  const Sizes sizes = sizes_of_heads(a);
  const Shape state{a[0].shape[0], sizes.groups, sizes.keys, sizes.values};
  if (a.has(3)) {
    expect_float(a[3], "the state");
    expect_rank(a[3], 4, 4, "the state");
    for (size_t i = 0; i < 4; ++i) expect_dim(a[3].shape[i], state[i], "a dimension of the state");
  }
  check_gate(a, 4, "decay", sizes.groups, sizes.groups * sizes.keys);
  check_gate(a, 5, "beta", 1, sizes.groups);
  const bool delta = a.attributes.get_or<int64_t>("delta", 0) != 0;
  if (delta != a.has(5)) fail("delta is {}, but beta is {}; they go together", delta, a.has(5) ? "given" : "absent");
  return {plain_type(a[0].dtype, {a[0].shape[0], a[0].shape[1], sizes.heads * sizes.values}),
          plain_type(a.has(3) ? a[3].dtype : a[0].dtype, state)};
}

struct Recurrence {
  std::vector<double> q, k, v, decay, beta;
  std::span<double> state, out;
  int64_t steps, heads, groups, keys, values, decays, betas;  // decays, betas: columns of them
  double scale;

  double decay_of(int64_t at, int64_t g, int64_t key) const {
    if (decay.empty()) return 1;
    return std::exp(decay[static_cast<size_t>(at * decays + (decays == groups ? g : g * keys + key))]);
  }

  // What is written of v at step `at`, with the matrix decayed already.
  void write(int64_t at, int64_t g, double* matrix) const {
    const double *key = k.data() + (at * groups + g) * keys, *value = v.data() + (at * groups + g) * values;
    for (int64_t j = 0; j < values; ++j) {
      double added = value[j];
      if (!beta.empty()) {
        for (int64_t i = 0; i < keys; ++i) added -= matrix[i * values + j] * key[i];
        added *= beta[static_cast<size_t>(at * betas + (betas == 1 ? 0 : g))];
      }
      for (int64_t i = 0; i < keys; ++i) matrix[i * values + j] += key[i] * added;
    }
  }

  void read(int64_t at, int64_t h, const double* matrix) {
    const double* query = q.data() + (at * heads + h) * keys;
    double* result = out.data() + (at * heads + h) * values;
    for (int64_t j = 0; j < values; ++j) {
      for (int64_t i = 0; i < keys; ++i) result[j] += query[i] * matrix[i * values + j];
      result[j] *= scale;
    }
  }

  void run(int64_t b, int64_t g) {
    double* matrix = state.data() + (b * groups + g) * keys * values;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t at = b * steps + t;
      for (int64_t i = 0; i < keys; ++i) {
        const double factor = decay_of(at, g, i);
        for (int64_t j = 0; j < values; ++j) matrix[i * values + j] *= factor;
      }
      write(at, g, matrix);
      for (int64_t h = g * (heads / groups); h < (g + 1) * (heads / groups); ++h) read(at, h, matrix);
    }
  }
};

std::vector<Tensor> eval_linear_attention(const EvalArgs& a) {
  const int64_t heads = a.attributes.get<int64_t>("heads"), groups = a.attributes.get<int64_t>("kv_heads"),
                keys = a[0].dim(2) / heads;
  const std::vector<int64_t> y = hone::sizes_of(a.results[0]), state = hone::sizes_of(a.results[1]);
  const auto doubles = [&](size_t operand) { return a.has(operand) ? a[operand].to_doubles() : std::vector<double>(); };
  Tensor out(DType::f64, y), matrices = a.has(3) ? a[3].converted(DType::f64) : Tensor(DType::f64, state);
  if (out.elements() == 0 && matrices.elements() == 0)
    return {Tensor(a.results[0].dtype, y), Tensor(a.results[1].dtype, state)};
  Recurrence r{.q = doubles(0),
               .k = doubles(1),
               .v = doubles(2),
               .decay = doubles(4),
               .beta = doubles(5),
               .state = matrices.mutable_as<double>(),
               .out = out.mutable_as<double>(),
               .steps = y[1],
               .heads = heads,
               .groups = groups,
               .keys = keys,
               .values = state[3],
               .decays = a.has(4) ? a[4].dim(2) : 0,
               .betas = a.has(5) ? a[5].dim(2) : 0,
               .scale = a.attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(keys)))};
  parallel_for(y[0] * groups, [&](int64_t i) { r.run(i / groups, i % groups); });
  return {out.converted(a.results[0].dtype), matrices.converted(a.results[1].dtype)};
}

}  // namespace

extern constinit const OpDef linear_attention_def{
    .name = "linear_attention",
    .doc =
        "For each step: S = exp(decay) · S + k ⊗ v, y = scale · qᵀS; with delta, beta · (v - Sᵀk) in place of v. "
        "q[B,T,H*K], k[B,T,G*K], v[B,T,G*V], S[B,G,K,V]?, decay[B,T,G] or [B,T,G*K]?, beta[B,T,G] or [B,T,1]? → "
        "y[B,T,H*V], S.",
    .operands = {"q", "k", "v", optional("state"), optional("decay"), optional("beta")},
    .attributes = kAttributes,
    .results = 2,
    .infer = infer_linear_attention,
    .eval = eval_linear_attention,
    .no_gradient = "its state goes from token to token inside the op, and no rule follows it back"};

}  // namespace hone
