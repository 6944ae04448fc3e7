// Layers of a graph by the names and types that MASE has for them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "passes/layer.h"

namespace hone {

// What hone rounds of a type of MASE's, or why it rounds nothing there.
struct MaseType {
  const char* name;  // "conv2d"
  const char* op;    // hone's, or null
  const char* says;  // which rules, or why none
};
std::span<const MaseType> mase_types();

// A layer, or a table of a gather, which is one with a weight alone.
struct MaseLayer {
  const Graph* graph;
  Layer layer;
  std::string type;  // MASE's name of it; "" for one that it has no layer of
  const char* op;    // hone's
};
std::vector<MaseLayer> mase_layers(const Graph& graph);  // bodies' too

// Ops of the graph that are no layers, whose inputs MASE rounds where its default says so.
std::vector<std::string> rounded_there(const Graph& graph);

// "bert.encoder.layer.0.output.dense" as torch.fx names that node: with _ for what is no letter or digit.
std::string fx_name(std::string_view name);

// Whether a name, or a regular expression on all of one, is about the layer: dotted or as torch.fx has it, and with the
// part that heads of models put before the encoder's names, which files of hone's do not have.
bool is_mase_name_of(std::string_view name, const std::string& layer);
bool is_matched_by(const Regex& regex, const std::string& layer);

}  // namespace hone
