#include "allocate/candidates.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "base/error.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

QuantizeOptions to_format(const QuantizeOptions& base, const std::string& format) {
  QuantizeOptions options = base;
  options.to = format;
  return options;
}

// The tensors that the default format packs, by name.
std::vector<QuantizeChoice> packed_by_default(const Graph& model, const QuantizeOptions& options) {
  std::vector<QuantizeChoice> choices = plan_quantization(model, options).constants;
  std::erase_if(choices, [&](const QuantizeChoice& c) { return !c.format || c.decided_by != "to " + options.to; });
  return choices;
}

// Where a plain element type changed the dtype of the constant, its values as f32.
Tensor usable(const Tensor& tensor) { return tensor.is_packed() ? tensor : tensor.converted(DType::f32); }

// The model with the weights of convs that any format packs as matrices: what the pass makes of them.
Graph with_matrices(const Graph& model, const QuantizeOptions& base,
                    const std::map<std::string, std::string>& format_of, const Quantize& quantize) {
  QuantizeOptions options = base;
  for (const auto& [name, format] : format_of) options.rule.push_back("name:" + name + "=" + format);
  Graph graph = quantize(model, options);
  for (const auto& [name, format] : format_of) {
    const Tensor& plain = *model.constant(model.find_constant(name));
    const ValueId value = graph.find_constant(name);
    const bool is_matrix = graph.type(value).shape.size() != plain.shape().size();
    graph.set_constant(value, is_matrix ? weight_matrix(plain).value() : plain);
  }
  graph.reinfer();
  return graph;
}

}  // namespace

Graph Candidates::with(std::span<const int> chosen) const {
  Graph result = graph;
  for (size_t t = 0; t < tensors.size(); ++t)
    if (chosen[t] != kPlain) result.set_constant(tensors[t].value, tensors[t].in(chosen[t]));
  result.reinfer();
  return result;
}

int64_t Candidates::stored_bytes(std::span<const int> chosen) const {
  int64_t bytes = other_bytes;
  for (size_t t = 0; t < tensors.size(); ++t) bytes += tensors[t].stored_bytes(chosen[t]);
  return bytes;
}

double Candidates::average_bits(std::span<const int> chosen) const {
  return 8.0 * static_cast<double>(stored_bytes(chosen)) / static_cast<double>(std::max<int64_t>(elements, 1));
}

std::string Candidates::text(std::span<const int> chosen) const {
  std::string text;
  for (size_t t = 0; t < tensors.size(); ++t)
    if (chosen[t] != kPlain) text += tensors[t].name + "=" + formats[static_cast<size_t>(chosen[t])] + "\n";
  return text;
}

Candidates make_candidates(const Graph& model, std::span<const std::string> formats, const QuantizeOptions& base,
                           const Quantize& quantize, const std::function<void(const std::string&)>& told) {
  Candidates candidates;
  std::vector<std::map<std::string, Tensor>> tensors;  // by format, by name
  std::map<std::string, std::string> format_of;        // one that packs it
  for (const std::string& text : formats) {
    const std::string format = to_string(parse_format(text));
    if (told) told(format);
    candidates.formats.push_back(format);
    const QuantizeOptions options = to_format(base, format);
    const Graph packed = quantize(model, options);
    tensors.emplace_back();
    for (const QuantizeChoice& choice : packed_by_default(model, options)) {
      tensors.back().emplace(choice.name, *packed.constant(packed.find_constant(choice.name)));
      format_of.emplace(choice.name, format);
    }
  }
  if (format_of.empty())
    fail("none of the formats {} changes a weight of the model: nothing is to be chosen", fmt::join(formats, ", "));
  candidates.graph = with_matrices(model, base, format_of, quantize);
  const Sizes all = sizes(candidates.graph);
  candidates.elements = all.parameters, candidates.other_bytes = all.weight_bytes;
  for (const auto& [name, format] : format_of) {
    const ValueId value = candidates.graph.find_constant(name);
    CandidateTensor tensor{.name = name, .value = value, .plain = *candidates.graph.constant(value)};
    for (const auto& by_name : tensors) {
      const auto found = by_name.find(name);
      const Tensor& stored = found == by_name.end() ? tensor.plain : found->second;
      tensor.bytes.push_back(stored.bytes());
      tensor.rounded.push_back(usable(stored));
    }
    candidates.other_bytes -= tensor.plain.bytes();
    candidates.tensors.push_back(std::move(tensor));
  }
  return candidates;
}

}  // namespace hone
