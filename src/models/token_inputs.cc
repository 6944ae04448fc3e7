#include "models/token_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hone {

TokenInputs::TokenInputs(const ModelRequest& request, bool has_labels) : wanted_(request.inputs) {
  if (wanted_.empty()) wanted_ = {"input_ids", "attention_mask"};
  std::vector<std::string> known{"input_ids", "attention_mask", "token_type_ids"};
  if (has_labels) known.push_back("labels");
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (std::find(known.begin(), known.end(), wanted_[i]) == known.end())
      fail("\"{}\" is not an input of this model; accepted: {}{}", wanted_[i], fmt::join(known, ", "),
           did_you_mean(wanted_[i], known));
    const auto here = wanted_.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(wanted_.begin(), here, wanted_[i]) != here) fail("input \"{}\" is listed twice", wanted_[i]);
  }
  if (!has("input_ids")) fail("inputs {} lack input_ids, which the model can't do without", fmt::join(wanted_, ", "));
}

bool TokenInputs::has(const std::string& name) const {
  return std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
}

void TokenInputs::declare(Graph& graph) const {
  for (const std::string& name : wanted_) {
    Shape shape{Dim::symbol("B")};
    if (name != "labels") shape.push_back(Dim::symbol("S"));
    graph.add_input(name, {.dtype = DType::i64, .shape = shape, .format = {}});
  }
}

ValueId input_of(const Graph& graph, const std::string& label) {
  for (ValueId id : graph.arguments())
    if (graph.value(id).label == label) return id;
  return kNone;
}

}  // namespace hone
