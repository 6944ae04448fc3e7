// What gets which number format. The pass `quantize` puts `fake_quant` nodes after constants and activations;
// `fold_fake_quant` then packs the constants.
//
// The parts of a layer (layer.h) have addresses: LAYER.weight, LAYER.bias and LAYER.in, where LAYER is the weight's
// name without ".weight" (encoder.layer.0.output.dense.in), or the name of the result where two activations are
// multiplied (attention.in). LAYER.in is all its operands that are no constants; blocks of a format lie along the axis
// that the layer sums over, unless it names another.
//
// Rules are address=format, `format` being a format string or `keep`; the last one that matches decides:
//   op:linear=mxint8                        weights (rank 2 or more) of such ops, tables of gather
//   op:linear.in=int8  op:conv.bias=int16   inputs and biases of such ops
//   op:linear.in=int8@min-max               by a scale that an observer of calibration data chooses once, not each run
//   name:encoder.pooler.dense.bias=fp16     exactly this constant, whatever it is, or exactly this address
//   layer\.0\..*=mxfp4                      weights and tables in whose name the regular expression (ECMAScript) is
//   layer\.0\..*\.in=int8                   found; inputs or biases when it ends in .in or .bias
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "ir/graph.h"
#include "ir/statistics.h"

namespace hone {

// Options of the pass quantize, and of all that ask what it is going to do.
struct FormatRules {
  std::string to;                 // default format of weights and tables; empty: they are kept
  std::vector<std::string> rule;  // in order
  std::vector<std::string> skip;  // regular expressions, as in rules: what is kept whatever the rules say
  std::string activations;  // default format, maybe with an observer, of the inputs of layers; empty: they are kept
  static constexpr const char* kPass = "quantize";
  static std::span<const OptionField<FormatRules>> fields();
};

// One floating or packed constant with a name, or the inputs of one layer.
struct QuantizeChoice {
  ValueId value = kNone;                // the constant; the first input, before any rounding
  std::string name;                     // label of the constant; address of the inputs
  std::vector<int64_t> shape;           // of a constant as it is packed: weights of convs are matrices [O, window * I]
  std::vector<Graph::Use> uses;         // of inputs: the operands to round
  std::string before, after;            // formats or element types; equal when nothing changes
  std::optional<Format> format;         // none: kept
  std::string observer = {};            // of inputs; "": scales follow from the data of each run
  std::string decided_by;               // "to mxint8", "activations int8", the text of a rule, "skip …", …
  std::vector<std::string> overridden;  // earlier rules that matched too
};

struct BodyPlan;

// Of one graph; the ids in its choices are that graph's. Rules see the names of the whole tree of bodies.
struct QuantizationPlan {
  std::vector<QuantizeChoice> constants;    // in the order of the graph
  std::vector<QuantizeChoice> activations;  // of each layer, likewise
  std::vector<BodyPlan> bodies;             // of if, loop and scan, in the order of the nodes

  const Format* format_of(ValueId constant) const;  // nullptr: kept
  bool rounds_input(NodeId layer) const;
};

struct BodyPlan {
  NodeId node = kNone;
  size_t body = 0;  // which of the node's
  QuantizationPlan plan;
};

// Throws Error for a malformed rule, one that matches nothing (with the nearest names; all names that the model does
// not have in one error), a format that does not fit a shape, or when nothing at all is asked for.
QuantizationPlan plan_quantization(const Graph& graph, const FormatRules& options);

// What calibration data choose scales for, each once, without ranges. Error where a body of if, loop or scan has some.
std::vector<ObservedInput> observed_inputs(const Graph& graph, const QuantizationPlan& plan);

ValueId unrounded(const Graph& graph, ValueId input);  // what is before the fake_quant, if one produces the input

}  // namespace hone
