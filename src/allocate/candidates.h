// What each weight of a model may become: its tensors in all the formats that are to be chosen from.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/pipelines.h"

namespace hone {

constexpr int kPlain = -1;  // in a choice of formats: the tensor stays as it is in the model

struct CandidateTensor {
  std::string name;
  ValueId value = kNone;  // in Candidates::graph
  Tensor plain;           // as in the model; weights of convs as the matrix that formats are laid on
  // By format of the list. Those of plain element types hold the rounded values as f32. A tensor that a format would
  // make larger is `plain` again.
  std::vector<Tensor> rounded;
  std::vector<int64_t> bytes;  // as stored, by format
  const Tensor& in(int format) const { return format == kPlain ? plain : rounded[static_cast<size_t>(format)]; }
  int64_t stored_bytes(int format) const {
    return format == kPlain ? plain.bytes() : bytes[static_cast<size_t>(format)];
  }
};

struct Candidates {
  Graph graph;  // canonical, every candidate plain
  std::vector<std::string> formats;
  std::vector<CandidateTensor> tensors;
  int64_t elements = 0, other_bytes = 0;  // elements of all constants; bytes of those that are no candidates

  // The model with one format for each tensor.
  Graph with(std::span<const int> chosen) const;
  int64_t stored_bytes(std::span<const int> chosen) const;  // of all constants
  double average_bits(std::span<const int> chosen) const;   // per element, as stored
  std::vector<int> uniform(int format) const { return std::vector<int>(tensors.size(), format); }
  // "name=format" lines: what measurements of a choice are remembered by.
  std::string text(std::span<const int> chosen) const;
};

// Packs every weight that `quantize` would pack, in each of the formats. `base` gives everything but the format:
// tensors that its rules or `skip` name are decided and no candidates. `told` is called with each format before it is
// worked on.
using Quantize = std::function<Graph(const Graph&, const QuantizeOptions&)>;
Candidates make_candidates(const Graph& model, std::span<const std::string> formats, const QuantizeOptions& base,
                           const Quantize& quantize, const std::function<void(const std::string&)>& told = {});

}  // namespace hone
