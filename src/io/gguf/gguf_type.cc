#include "io/gguf/gguf_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "io/gguf/block_layout.h"

namespace hone {
namespace {

constexpr const char* kActivations = "it is for activations and never in files";

const std::array<GgufType, 35> kTypes{{
    {0, "F32", 1, 4, "fp32", nullptr, DType::f32},
    {1, "F16", 1, 2, "fp16", nullptr, DType::f16},
    {2, "Q4_0", 32, 18, "int4.g32.s=fp16", &q4_0_layout, {}},
    {3, "Q4_1", 32, 20, "uint4.g32.s=fp16.m=fp16", &q4_1_layout, {}},
    {6, "Q5_0", 32, 22, "int5.g32.s=fp16", &q5_0_layout, {}},
    {7, "Q5_1", 32, 24, "uint5.g32.s=fp16.m=fp16", &q5_1_layout, {}},
    {8, "Q8_0", 32, 34, "int8.g32.s=fp16", &q8_0_layout, {}},
    {9, "Q8_1", 32, 36, "", nullptr, {}, kActivations},
    {10, "Q2_K", 256, 84, "uint2.g16.s=u4.m=u4", &q2_k_layout, {}},
    {11, "Q3_K", 256, 110, "int3.g16.s=i6", &q3_k_layout, {}},
    {12, "Q4_K", 256, 144, "uint4.g32.s=u6.m=u6", &q4_k_layout, {}},
    {13, "Q5_K", 256, 176, "uint5.g32.s=u6.m=u6", &q5_k_layout, {}},
    {14, "Q6_K", 256, 210, "int6.g16.s=i8", &q6_k_layout, {}},
    {15, "Q8_K", 256, 292, "", nullptr, {}, kActivations},
    {16, "IQ2_XXS", 256, 66, "int7.g32", &iq2_xxs_layout, {}},
    {17, "IQ2_XS", 256, 74, "int7.g16", &iq2_xs_layout, {}},
    {18, "IQ3_XXS", 256, 98, "int7.g32", &iq3_xxs_layout, {}},
    {19, "IQ1_S", 256, 50, "int5.g32", &iq1_s_layout, {}},
    {20, "IQ4_NL", 32, 18, "iq4_nl.s=fp16", &iq4_nl_layout, {}},
    {21, "IQ3_S", 256, 110, "int5.g32", &iq3_s_layout, {}},
    {22, "IQ2_S", 256, 82, "int7.g16", &iq2_s_layout, {}},
    {23, "IQ4_XS", 256, 136, "iq4_nl.s=i6", &iq4_xs_layout, {}},
    {24, "I8", 1, 1, "", nullptr, DType::i8},
    {25, "I16", 1, 2, "", nullptr, DType::i16},
    {26, "I32", 1, 4, "", nullptr, DType::i32},
    {27, "I64", 1, 8, "", nullptr, DType::i64},
    {28, "F64", 1, 8, "", nullptr, DType::f64},
    {29, "IQ1_M", 256, 56, "int5.g16", &iq1_m_layout, {}},
    {30, "BF16", 1, 2, "bf16", nullptr, DType::bf16},
    {34, "TQ1_0", 256, 54, "ternary.g256.s=fp16", &tq1_0_layout, {}},
    {35, "TQ2_0", 256, 66, "ternary.g256.s=fp16", &tq2_0_layout, {}},
    {39, "MXFP4", 32, 17, "mxfp4", &mxfp4_blocks, {}},
    {kNvfp4Type, "NVFP4", 64, 36, "nvfp4", &nvfp4_blocks, {}},
    {41, "Q1_0", 128, 18, "binary.g128.s=fp16", &q1_0_layout, {}},
    {42, "Q2_0", 64, 18, "int2.g64.s=fp16", &q2_0_layout, {}},
}};

}  // namespace

std::span<const GgufType> gguf_types() { return kTypes; }

const GgufType* gguf_type(uint32_t id) {
  const auto found = std::ranges::find(kTypes, id, &GgufType::id);
  return found == kTypes.end() ? nullptr : &*found;
}

bool is_codebook(const GgufType& type) {
  constexpr const BlockLayout* kLayouts[] = {&iq1_s_layout, &iq1_m_layout,   &iq2_xxs_layout, &iq2_xs_layout,
                                             &iq2_s_layout, &iq3_xxs_layout, &iq3_s_layout};
  return std::ranges::find(kLayouts, type.layout) != std::end(kLayouts);
}

bool is_writable(const GgufType& type) {
  return type.is_packed() ? type.layout->join != nullptr : type.dtype.has_value();
}

const GgufType& writable_gguf_type(std::string_view name) {
  std::vector<std::string> known;
  for (const GgufType& type : kTypes) {
    if (!is_writable(type)) continue;
    if (name == type.name) return type;
    known.emplace_back(type.name);
  }
  fail("GGUF type \"{}\" is not written; written are: {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

std::string known_gguf_types() {
  std::vector<std::string_view> names;
  for (const GgufType& type : kTypes)
    if (!type.refused) names.emplace_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace hone
