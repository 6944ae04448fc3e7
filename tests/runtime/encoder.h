// A sentence encoder in miniature whose steps cover every kind of kernel, with weights in f32, bf16 and packed formats;
// the batch B and the length S are symbolic.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "passes/pipelines.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/seeded_constants.h"

namespace hone::test {

inline constexpr int64_t kWords = 61, kPositions = 256;

inline Graph encoder() {
  return parse_seeded(R"(graph encoder {
    %ids : i64[B,S] = input "ids"
    %mask : f32[B,1,1,S] = input "mask"
    %table : mxint8[61,64] = const "table"
    %places : f32[256,64] = const "positions"
    %words = gather %table, %ids
    %all = iota {shape=[256]}
    %some = slice %all {starts=[0], ends=[S]}
    %at = gather %places, %some
    %sum = add %words, %at
    %nw : f32[64] = const "norm.weight"
    %nb : f32[64] = const "norm.bias"
    %x = layer_norm %sum, %nw, %nb
    %wq : mxint8[64,64] = const "query"
    %wk : f32[64,64] = const "key"
    %wv : bf16[64,64] = const "value"
    %b : f32[64] = const "bias"
    %q = linear %x, %wq, %b
    %k = linear %x, %wk
    %v = linear %x, %wv
    %a = attention %q, %k, %v, %mask {heads=2}
    %s = add %a, %x
    %w1 : mxint8[256,64] = const "inner.weight"
    %b1 : f32[256] = const "inner.bias"
    %h = linear %s, %w1, %b1
    %g = gelu %h
    %w2 : int8[64,256] = const "outer.weight"
    %o = linear %g, %w2
    %r = add %o, %s
    %m : f32[64] = const "mix"
    %t = mul %r, %m
    %y = tanh %t
    %p = softmax %r
    return %y as "last", %p as "weights"
  })");
}

inline NamedTensors encoder_inputs(int64_t batch, int64_t length) {
  Philox rng(static_cast<uint64_t>(batch * 1000 + length));
  return {{"ids", random_integers(rng, {batch, length}, DType::i64, -kWords, kWords - 1)},
          {"mask", random_floats(rng, {batch, 1, 1, length}, DType::f32, -3, 0)}};
}

inline void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].same_bits(want[i])) << what << ", output " << i;
}

}  // namespace hone::test
