#include "train/head.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ops/calls/cast.h"
#include "ops/calls/linear.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "train/initialise.h"

namespace hone {
namespace {

std::string free_label(const Graph& graph, const std::string& wanted) {
  std::string label = wanted;
  for (int i = 2; graph.find_constant(label) != kNone; ++i) label = fmt::format("{}_{}", wanted, i);
  return label;
}

class HeadFitter {
 public:
  HeadFitter(Graph model, const HeadOptions& options) : graph_(std::move(model)), o_(options) {
    if (o_.width < 1) fail("labels have {} classes or numbers; at least 1 is needed", o_.width);
    one_of("head", o_.head, {"auto", "keep", "replace", "add"});
    one_of("pooling", o_.pooling, {"auto", "mean", "first"});
    find_output();
  }

  FittedHead fit() {
    const NodeId last = graph_.producer(value_);
    const bool is_layer =
        last != kNone && graph_.node(last).op == &linear_def && fits_rank() && graph_.constant(graph_.operand(last, 1));
    const bool has_width = fits_rank() && type().shape.back() == Dim(o_.width);
    std::string how = o_.head;
    if (how == "auto") how = is_layer && has_width ? "keep" : is_layer && is_classifier() ? "replace" : "add";
    if (how == "keep" && !has_width)
      fail("the model gives {} where labels need {} {}; let its last layer be replaced (--head replace)",
           to_string(type()), o_.width, o_.per_word ? "for each word" : "for each row");
    if (how == "replace" && !is_layer)
      fail("the model's output {} comes from no linear layer that could be replaced; add one (--head add)", label_);
    if (how == "replace") replace(last);
    if (how == "add") add();
    graph_.set_outputs({{.value = value_, .label = "logits"}});
    return {.graph = std::move(graph_), .made = how != "keep", .what = std::move(what_)};
  }

 private:
  static void one_of(const char* option, const std::string& given, std::vector<std::string> known) {
    if (std::ranges::find(known, given) == known.end())
      fail("{} is \"{}\"; accepted: {}{}", option, given, fmt::join(known, ", "), did_you_mean(given, known));
  }

  const TensorType& type() const { return graph_.type(value_); }
  bool fits_rank() const { return type().rank() == (o_.per_word ? 3 : 2); }
  // What encoders give is features, even where a linear layer gives it.
  bool is_classifier() const {
    return label_ != "embedding" && label_ != "pooler_output" && label_ != "last_hidden_state";
  }

  void find_output() {
    std::vector<std::string> labels;
    for (const Output& output : graph_.outputs()) labels.push_back(output.label);
    const auto has = [&](const std::string& label) { return std::ranges::find(labels, label) != labels.end(); };
    if (!o_.output.empty() && !has(o_.output))
      fail("the model has no output \"{}\"; it has {}{}", o_.output, fmt::join(labels, ", "),
           did_you_mean(o_.output, labels));
    label_ = o_.output;
    for (const char* usual : {"logits", "last_hidden_state", "embedding"})
      if (label_.empty() && has(usual)) label_ = usual;
    if (o_.output.empty() && label_ == "last_hidden_state" && has("pooler_output") && rank_of(label_) > 3)
      label_ = "pooler_output";  // of maps, the network's own mean, with the norm behind it
    if (label_.empty() && labels.size() == 1) label_ = labels[0];
    if (label_.empty())
      fail("the model has the outputs {}; say which one a layer for labels is to stand behind (--predictions)",
           fmt::join(labels, ", "));
    value_ = output_of(label_);
  }

  ValueId output_of(const std::string& label) const {
    return std::ranges::find(graph_.outputs(), label, &Output::label)->value;
  }
  size_t rank_of(const std::string& label) const { return graph_.type(output_of(label)).rank(); }

  // New weights under the old names, so that other programs find them.
  void replace(NodeId last) {
    const Node node = graph_.node(last);
    const std::string weight = graph_.value(node.operands[1]).label;
    std::string bias;
    if (node.operands.size() > 2 && graph_.constant(node.operands[2])) bias = graph_.value(node.operands[2]).label;
    const Dim old_width = type().shape.back();
    graph_.set_outputs({});
    graph_.erase(last);
    graph_.erase_unused_constants();
    put_linear(node.operands[0], weight.empty() ? "classifier.weight" : weight,
               bias.empty() ? "classifier.bias" : bias);
    what_ += fmt::format(" in place of one of {}", old_width.to_string());
  }

  void add() {
    if (!is_float(type().dtype)) fail("the model's output {} is {}: no features", label_, to_string(type()));
    std::string pooled;
    ValueId x = value_;
    // Directions of unit length leave a layer little room; it reads what they were made of.
    if (graph_.producer_op(x) == &l2_normalise_def) x = graph_.operand(graph_.producer(x), 0);
    if (!o_.per_word && graph_.type(x).rank() == 3) x = pool(x, pooled);
    if (!o_.per_word && graph_.type(x).rank() > 3) x = pool_maps(x, pooled);
    if (graph_.type(x).rank() != (o_.per_word ? 3u : 2u) || !graph_.type(x).shape.back().is_constant())
      fail("the model's output {} is {}; a layer for {} needs [rows, {}features]", label_, to_string(type()),
           o_.per_word ? "words" : "rows", o_.per_word ? "words, " : "");
    put_linear(x, "classifier.weight", "classifier.bias");
    what_ += fmt::format(" behind {}{}", label_, pooled);
  }

  ValueId pool(ValueId x, std::string& how) {
    if (o_.pooling == "first") {
      how = ", its first word";
      const ValueId first =
          ops::slice(graph_, {.x = x, .starts = Shape{0}, .ends = Shape{1}, .axes = std::vector<int64_t>{1}});
      return ops::squeeze(graph_, {.x = first, .axes = std::vector<int64_t>{1}});
    }
    how = ", the mean over words";
    for (ValueId input : graph_.inputs())
      if (graph_.value(input).label == "attention_mask") return ops::mean_pool(graph_, {.x = x, .mask = input});
    return ops::reduce_mean(graph_, {.x = x, .axes = std::vector<int64_t>{1}, .keepdims = 0});
  }

  ValueId pool_maps(ValueId x, std::string& how) {
    how = ", the mean of each map";
    std::vector<int64_t> axes(graph_.type(x).rank() - 2);
    std::iota(axes.begin(), axes.end(), int64_t{2});
    return ops::reduce_mean(graph_, {.x = x, .axes = axes, .keepdims = 0});
  }

  void put_linear(ValueId x, const std::string& weight, const std::string& bias) {
    const Dim inputs = graph_.type(x).shape.back();
    const int64_t columns = inputs.constant();
    const std::string name = free_label(graph_, weight);
    const ValueId w = graph_.add_constant(name, random_matrix(o_.seed, name, o_.width, columns)),
                  b = graph_.add_constant(free_label(graph_, bias), Tensor(DType::f32, {o_.width}));
    if (graph_.type(x).dtype != DType::f32) x = ops::cast(graph_, {.x = x, .dtype = DType::f32});
    value_ = ops::linear(graph_, {.x = x, .w = w, .b = b}, "logits");
    what_ = fmt::format("{} [{},{}]", name, o_.width, columns);
  }

  Graph graph_;
  const HeadOptions& o_;
  ValueId value_ = kNone;
  std::string label_, what_;
};

}  // namespace

FittedHead fit_head(Graph model, const HeadOptions& options) { return HeadFitter(std::move(model), options).fit(); }

}  // namespace hone
