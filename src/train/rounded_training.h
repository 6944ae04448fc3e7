// Quantization-aware training: fake_quant nodes stand between weights, which stay f32, and what reads them, and before
// the inputs of layers; gradients pass them straight-through (docs/FORMATS.md, section 3.7). Training begins with what
// quantizing after training gives, and what is packed at the end computes what was trained, to the bit.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ranges.h"
#include "ir/graph.h"
#include "ir/packer.h"

namespace hone {

struct RoundedTrainingOptions {
  std::vector<std::string> rules;  // as of hone quantize (passes/compress/quantize.h)
  bool learn_scales = false;       // of the weights and inputs that the rules round
};

// What values of the graph span on the data.
using RangesOf = std::function<std::vector<ValueRange>(const Graph&, std::span<const ValueId>)>;

struct RoundedModel {
  Graph graph;
  std::vector<std::string> rules;  // of parameter groups: those of learned scales
  std::string what;                // "weights of 12 layers and inputs of 3 are rounded: …"
};

// `model` is in training form. Weights that are packed and get a format become f32. Throws Error for a rule that
// matches nothing, rules that round nothing, and formats whose scale can't be learned.
RoundedModel round_for_training(Graph model, const RoundedTrainingOptions& options, const RangesOf& ranges);

// The model with its weights packed as they were trained. Of learned scales those of inputs stay constants.
Graph packed_as_trained(Graph trained, const Packer& packer);

}  // namespace hone
