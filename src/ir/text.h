// The textual form of a graph (docs/DESIGN.md, section 3). print and parse round-trip.
//
//   graph minilm {
//     %ids : i64[B,S]            = input "input_ids"
//     %w   : mxint8[1536,384]    = const "encoder.layer.0.intermediate.dense.weight"
//     %two : f32[2]              = const {1, 2}                    (anonymous or small constants carry their values)
//     %h   : f32[B,S,1536]       = linear %x, %w, %b {axis=0}      (an absent operand is _)
//     %r   : f32[2]              = if %c, %x do                    (bodies; captured values are trailing operands)
//         graph then { … }
//         graph else { … }
//     %s   : f32[2]              = param "scale"                   (the session owns it; small ones carry values)
//     %n   : f32[2]              = state "mean" {0, 0}             (a context keeps it; it begins as this, as what is
//                                                                   `stored` in a file, or as what a context is given)
//     update %n = %r                                               (what it is after a run)
//     return %h as "last"
//   }
// Also read: literals as operands (`mul %w, 3.0`: a scalar constant of the other operand's dtype), omitted result types
// (inferred), omitted braces and name around a body (tests), # comments. Metadata lines: `meta "key" = "value"`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace hone {

struct PrintOptions {
  int64_t max_inline_elements =
      16;  // larger labelled constants are printed by name only; anonymous ones always with values
};
std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print_node(const Graph& graph, NodeId node);  // one line, for messages

// The parser's ways out: which ops exist and where the contents of `const "name"` come from.
struct ParseContext {
  std::function<const OpDef*(std::string_view)> find_op;
  std::function<std::vector<std::string>()> op_names;  // for "did you mean"
  std::function<std::optional<Tensor>(const std::string&, const TensorType&)>
      find_constant;  // may be empty: then such constants are an Error
};
Graph parse_graph(std::string_view text, const ParseContext& context,
                  const std::string& source = "<text>");  // Error with line and column

}  // namespace hone
