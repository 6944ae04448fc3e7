// Which constants get which number format. The pass `quantize` puts `fake_quant` nodes after them; `fold_fake_quant`
// then packs.
//
// Eligible are floating constants of rank 2 or more that weigh a linear, conv or matmul, or are the table of a
// gather. Biases and parameters of normalisations are kept unless a rule gives their exact name.
//
// Rules, `format` being a format string or `keep`; the last one that matches decides:
//   op:linear=mxint8                        eligible constants that feed such an op
//   name:encoder.pooler.dense.bias=fp16     the constant of exactly this name, eligible or not
//   layer\.0\..*=mxfp4                      eligible constants in whose name the regular expression (ECMAScript) is
//   found
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/options.h"

namespace hone {

struct QuantizeOptions {
  std::string to;                 // default format of eligible constants; empty: they are kept
  std::vector<std::string> rule;  // in order
  std::vector<std::string> skip;  // regular expressions: eligible constants that are kept whatever the rules say
  std::string activations;        // format of fake_quant on the inputs of linear, conv and matmul; empty: none
};
std::span<const OptionField<QuantizeOptions>> quantize_fields();

struct QuantizeChoice {
  ValueId value = kNone;
  std::string name;                     // label of the constant
  std::vector<int64_t> shape;           // as it is packed: weights of convs are matrices [O, window * channels]
  std::string before, after;            // formats or element types; equal when the constant is kept
  std::optional<Format> format;         // none: kept
  std::string decided_by;               // "--to mxint8", the text of a rule, "skip …", "kept by default"
  std::vector<std::string> overridden;  // earlier rules that matched too
};

// One entry per floating or packed constant with a name, in the order of the graph. Throws Error for a malformed rule,
// one that matches nothing (with the nearest names), a format that does not fit a shape, or when nothing at all is
// asked for.
std::vector<QuantizeChoice> plan_quantisation(const Graph& graph, const QuantizeOptions& options);

}  // namespace hone
