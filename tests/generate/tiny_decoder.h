// A decoder of one attention, small enough to compute by another way: in the form that keeps keys and values.
#pragma once

#include <fmt/core.h>

#include "generate/decoder_runs.h"
#include "tests/support/seeded_constants.h"

namespace hone::test {

constexpr int64_t kTinyVocabulary = 20, kTinyContext = 24;

inline DecoderFacts tiny_facts() {
  DecoderFacts facts;
  facts.context = kTinyContext, facts.vocabulary = kTinyVocabulary, facts.end = {2};
  return facts;
}

// logits = attention(e, e, e) of embeddings e, times a head. `spoil`: a line that replaces %spoilt, of [B,S,8].
inline CachedDecoder tiny_decoder(const std::string& spoil = "%spoilt = mul %e, 8.0") {
  return {parse_seeded(fmt::format(R"(graph tiny {{
    %ids : i64[B,S] = input "input_ids"
    %am : i64[B,S] = input "attention_mask"
    %slots : i64[B] = input "slots"
    %k : f32[P,4,8] = state "0.keys"
    %v : f32[P,4,8] = state "0.values"
    %table : i64[N,T] = state "table"
    %lengths : i64[N] = state "lengths"
    %w : f32[20,8] = const "embedding"
    %h : f32[20,8] = const "output_head"
    %e = gather %w, %ids
    {}
    %rows = gather %table, %slots
    %own = gather %lengths, %slots
    %k2 = cache_append %k, %spoilt, %rows, %own
    %v2 = cache_append %v, %spoilt, %rows, %own
    %kp = gather %k2, %rows
    %vp = gather %v2, %rows
    %kr = reshape %kp {{shape=[B,4*T,8]}}
    %vr = reshape %vp {{shape=[B,4*T,8]}}
    %first = reshape %own {{shape=[B,1,1,1]}}
    %row = iota {{shape=[S,1]}}
    %last = add %first, %row
    %t = iota {{shape=[4*T]}}
    %m = less_or_equal %t, %last
    %y = attention %spoilt, %kr, %vr, %m {{heads=2}}
    %z = slice %y {{starts=[S-1], ends=[S], axes=[1]}}
    %zs = mul %z, 8.0
    %l = linear %zs, %h
    %logits = reshape %l {{shape=[B,20]}}
    %counts = reduce_sum %am {{axes=[1], keepdims=1}}
    %sequences = iota {{shape=[N]}}
    %column = reshape %slots {{shape=[B,1]}}
    %is = equal %column, %sequences
    %one = cast %is {{dtype=i64}}
    %each = mul %one, %counts
    %more = reduce_sum %each {{axes=[0], keepdims=0}}
    %lengths2 = add %lengths, %more
    update %k = %k2
    update %v = %v2
    update %lengths = %lengths2
    return %logits as "logits"
  }})",
                                   spoil)),
          {"0.keys", "0.values"}};
}

inline SessionOptions interpreted() {
  SessionOptions options;
  options.optimise = 1, options.cache_folder = "";
  return options;
}

}  // namespace hone::test
