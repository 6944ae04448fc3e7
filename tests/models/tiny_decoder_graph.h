// A decoder without state, by ops: two layers of rotary attention whose heads share keys, gated products, tied words.
#pragma once

#include <fmt/core.h>

#include "tests/support/seeded_constants.h"

namespace hone::test {

constexpr int64_t kGraphVocabulary = 20, kGraphContext = 64;

// What attention reads of %x where pages hold another type than f32: rounded as they round.
inline std::string tiny_held(const std::string& x, const std::string& held) {
  if (held == "bf16") return fmt::format("\n    {0}h = cast {0} {{dtype=bf16}}", x);
  if (held.empty()) return fmt::format("\n    {0}h = mul {0}, 1.0", x);
  return fmt::format("\n    {0}c = quantize {0} {{format={1}}}\n    {0}h = dequantize {0}c", x, held);
}

// Heads of 16 columns, 4 of queries over 2 of keys and values; x → %zNUMBER.
inline std::string tiny_layer(const std::string& x, int number, const std::string& attributes,
                              const std::string& held) {
  const auto turned = [&](const std::string& name, int heads) {
    return fmt::format(R"(
    %{0}s = reshape %{0} {{shape=[B,S,{1},16]}}
    %{0}a = slice %{0}s {{starts=[0], ends=[8], axes=[3]}}
    %{0}b = slice %{0}s {{starts=[8], ends=[16], axes=[3]}}
    %{0}ac = mul %{0}a, %cosine
    %{0}bs = mul %{0}b, %sine
    %{0}bc = mul %{0}b, %cosine
    %{0}as = mul %{0}a, %sine
    %{0}first = sub %{0}ac, %{0}bs
    %{0}second = add %{0}bc, %{0}as
    %{0}both = concat %{0}first, %{0}second {{axis=3}}
    %{0}r = reshape %{0}both {{shape=[B,S,{2}]}})",
                       name, heads, heads * 16);
  };
  const std::string q = fmt::format("q{}", number), k = fmt::format("k{}", number);
  return fmt::format(R"(
    %wn{0} : f32[24] = const "{0}.norm.weight"
    %wq{0} : f32[64,24] = const "{0}.query.weight"
    %wk{0} : f32[32,24] = const "{0}.keys.weight"
    %wv{0} : f32[32,24] = const "{0}.values.weight"
    %wo{0} : f32[24,64] = const "{0}.output.weight"
    %wg{0} : f32[40,24] = const "{0}.gate.weight"
    %wd{0} : f32[24,40] = const "{0}.down.weight"
    %n{0} = rms_norm {1}, %wn{0} {{epsilon=1e-5}}
    %n{0}x = mul %n{0}, 4.0
    %q{0} = linear %n{0}x, %wq{0}
    %k{0} = linear %n{0}x, %wk{0}
    %v{0} = linear %n{0}x, %wv{0}{2}{3}{5}
    %y{0} = attention %q{0}rh, %k{0}rh, %v{0}h, %mask {{heads=4, kv_heads=2{4}}}
    %o{0} = linear %y{0}, %wo{0}
    %x{0} = add {1}, %o{0}
    %xs{0} = mul %x{0}, 0.125
    %g{0} = linear %xs{0}, %wg{0}
    %s{0} = silu %g{0}
    %d{0} = linear %s{0}, %wd{0}
    %z{0} = add %x{0}, %d{0})",
                     number, x, turned(q, 4), turned(k, 2), attributes,
                     tiny_held("%" + q + "r", held == "bf16" ? held : "") + tiny_held("%" + k + "r", held) +
                         tiny_held(fmt::format("%v{}", number), held));
}

struct TinyParts {
  std::string positions = "%so_far = cumsum %am {axis=1}\n %last = sub %so_far, 1\n %positions = max %last, 0";
  std::string mask = "%is = not_equal %am, 0\n %mask = unsqueeze %is {axes=[1,2]}";
  std::string first = ", causal=1", second = ", causal=1";  // attributes of the attentions
  std::string held;                                         // a type that keys and values are rounded to; empty: none
  std::string end = "%logits = linear %h, %words";
};

inline Graph tiny_decoder_graph(const TinyParts& parts = {}) {
  return parse_seeded(fmt::format(R"(graph tiny {{
    %ids : i64[B,S] = input "input_ids"
    %am : i64[B,S] = input "attention_mask"
    %words : f32[20,24] = const "words.weight"
    %frequencies : f32[8] = const {{1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125}}
    {}
    {}
    %places = cast %positions {{dtype=f32}}
    %places4 = unsqueeze %places {{axes=[2,3]}}
    %angles = mul %places4, %frequencies
    %cosine = cos %angles
    %sine = sin %angles
    %e = gather %words, %ids
    %x = mul %e, 32.0
    {}
    {}
    %wf : f32[24] = const "final.norm.weight"
    %f = rms_norm %z1, %wf {{epsilon=1e-5}}
    %h = mul %f, 8.0
    {}
    return %logits as "logits"
  }})",
                                  parts.positions, parts.mask, tiny_layer("%x", 0, parts.first, parts.held),
                                  tiny_layer("%z0", 1, parts.second, parts.held), parts.end));
}

}  // namespace hone::test
