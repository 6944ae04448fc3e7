// What of a model is a parameter: asked of what its file stores, by names and by what reads them, before anything is
// folded (docs/decisions/parameters-of-a-file.md). One stored tensor is one parameter, however often and through
// whatever moves it is read.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// As what a tensor is read. Of several, the first of these.
enum class ParameterRole : uint8_t {
  weight,  // multiplied and summed: of a linear, convolution, recurrent layer, product
  table,   // rows are looked up
  bias,    // added to what a layer sums, in whatever dimensions
  norm,    // scale or shift of a normalisation, be it an operand of it or behind it
  slope,   // of a leaky unit
  step,    // of a learned rounding
  number,  // anything else that is computed with
  none     // no arithmetic reads it as a number: an argument, an index, a statistic
};
std::string_view to_string(ParameterRole role);

struct StoredTensor {
  ValueId id = kNone;  // a constant of the graph
  std::string name;
  std::vector<int64_t> shape;
  ParameterRole role = ParameterRole::none;
  bool decays = false;        // weights and tables, and numbers that are no vector: neither biases nor norms
  bool multiplies = false;    // as scales of normalisations do, not added
  std::set<std::string> ops;  // that read it, behind the moves
  std::string why_not;        // no parameter unless a rule says so; "": a parameter
  bool can_be = true;         // else no rule makes it one
};

// The floating tensors that the graph has under names, packed ones too, in the order of the graph. Those in bodies
// count where they are captured from outside.
std::vector<StoredTensor> stored_tensors(const Graph& graph);

// As what one use of a stored tensor reads it, behind what only moves elements; in bodies, too.
ParameterRole role_of_use(const Graph& graph, const Graph::Use& use);

// Those that bodies (of if, loop, scan, ...) have as constants of their own, and integers there that dequantize_linear
// reads. Nothing trains them, and each says why; their ids are none of the graph's.
std::vector<StoredTensor> tensors_in_bodies(const Graph& graph);

// Integers of the graph's own nodes that dequantize_linear reads, which nothing trains either.
std::vector<StoredTensor> stored_codes(const Graph& graph);

// Stored weights and tables that nothing reads as they lie, or none of these ops, so that what addresses layers does
// not see them. Each says why: "linear reads it behind slice".
std::vector<StoredTensor> unseen_weights(const Graph& graph, std::span<const OpDef* const> seen_by = {});

// Whether it is a single number of a formula, such as the 0.5 of a GELU: a rank-0 exponent, bound or epsilon, or a name
// that exporters make up.
bool is_literal(const StoredTensor& tensor);

// Whether it is a mean or variance that batch norms carry on.
bool is_statistic(const StoredTensor& tensor);

}  // namespace hone
