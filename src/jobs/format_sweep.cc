#include "jobs/format_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calibrate/collect.h"
#include "jobs/sweep_training.h"

namespace hone {
namespace {

constexpr std::string_view kByDefault = "kept by default";  // what no rule and no default format is about

// What measurements depend on besides the model, the data and how it is quantized.
std::string settings(const FormatSweepOptions& options) {
  const std::string text = options.activations ? "activations " : "";
  return options.training ? text + "trained as quantized " + training_key(*options.training) + " " : text;
}

// What a norm was folded into has its own name again where none is.
std::string stored_label(const std::string& label) { return label.substr(0, label.find(".folded")); }

SweptFormat swept(const std::string& format, bool trained, const FormatStudy::Measured& measured) {
  const auto [bytes, parameters] = measured.figures;
  return {format,
          trained,
          measured.selecting,
          measured.held_out,
          8 * bytes / std::max(parameters, 1.0),
          static_cast<int64_t>(std::clamp(bytes, 0.0, 0x1p62))};
}

class Sweeper {
 public:
  Sweeper(const Model& model, const FormatSweepOptions& options, const TaskContext& context)
      : model_(model),
        options_(options),
        context_(context),
        study_(model, {.data = options.data,
                       .judged = options.judged,
                       .calibration = options.calibration,
                       .quantize = options.quantize,
                       .session = options.session,
                       .memory = options.measurements,
                       .settings = settings(options)}) {}

  FormatSweep run() {
    FormatSweep sweep{
        .study = study_.facts(), .activations = options_.activations, .trains = options_.training.has_value()};
    size_t number = 0;
    for (const std::string& format : options_.formats) {
      context_.tell(fmt::format("{} ({} of {})", format, ++number, options_.formats.size()));
      sweep.formats.push_back(quantized(format));
      if (options_.training) sweep.formats.push_back(trained(format));
    }
    if (options_.training) sweep.original_trained = trained("");
    sweep.measured = study_.known.measured(), sweep.recalled = study_.known.recalled();  // of formats
    sweep.original = original();
    const auto best = std::ranges::min_element(
        sweep.formats, [&](const SweptFormat& a, const SweptFormat& b) { return is_better(study_.scale, a, b); });
    sweep.best = static_cast<size_t>(best - sweep.formats.begin());
    return sweep;
  }

 private:
  SweptFormat quantized(const std::string& format) {
    return swept(format, false, study_.measured(format, [&]() -> FormatStudy::Changed {
      QuantizeOptions options = options_.quantize;
      options.to = format;
      if (options_.activations) options.activations = format;
      const StatisticsSource statistics = [&](const Graph& g, bool moments) {
        return collect_statistics(g, study_.data.for_methods().batches,
                                  {.moments = moments, .session = study_.session});
      };
      const Graph graph = quantize(study_.graph, options, statistics, {.packer = study_.packer.get()});
      const Sizes all = sizes(graph);
      return {graph, {static_cast<double>(all.weight_bytes), static_cast<double>(all.parameters)}};
    }));
  }

  // Trained in the format from the model as it is; with no format, trained alike in f32.
  SweptFormat trained(const std::string& format) {
    const std::string name = format.empty() ? "the original" : format;
    return swept(name, true, study_.measured(name + " trained", [&]() -> FormatStudy::Changed {
      TrainModelOptions training = *options_.training;
      training.training.qat = format.empty() ? std::vector<std::string>() : rules_of(format);
      if (format.empty()) training.training.learn_scales = false;
      const Graph graph = trained_variant(model_, training, options_.judged, name, context_);
      return {graph, size_as_quantized(graph, format)};
    }));
  }

  // The rules by which training rounds what quantizing to the format rounds.
  std::vector<std::string> rules_of(const std::string& format) const {
    QuantizeOptions options = options_.quantize;
    options.to = format;
    std::vector<std::string> rules{".*=" + format};
    for (const QuantizeChoice& choice : plan_quantization(study_.graph, options).constants) {
      const std::string name = "name:" + stored_label(choice.name);
      const bool is_weight = study_.graph.type(choice.value).rank() >= 2;
      if (choice.format && (choice.after != format || !is_weight)) rules.push_back(name + "=" + choice.after);
      else if (!choice.format && is_weight && choice.decided_by != kByDefault) rules.push_back(name + "=keep");
    }
    if (options_.activations) rules.push_back(".*\\.in=" + format);
    return rules;
  }

  // What quantizing to the format stores, rounded to the nearest; the model as it is where there is no format.
  Graph stored_by_quantizing(const std::string& format) const {
    if (format.empty()) return study_.graph;
    QuantizeOptions options = options_.quantize;
    options.to = format, options.method = "nearest";
    options.bias_correction = options.smooth_quant = options.awq_scaling = false;
    return quantize(study_.graph, options, {}, {.packer = study_.packer.get()});
  }

  // Bytes and elements of the tensors that quantizing stores, each as the trained graph stores it: the norms that are
  // still apart there are counted as what they become once they are folded.
  std::array<double, 2> size_as_quantized(const Graph& trained, const std::string& format) const {
    std::map<std::string, const Tensor*> stored;
    for (ValueId id : trained.constants())
      if (!trained.value(id).label.empty()) stored.emplace(trained.value(id).label, trained.constant(id));
    const Graph quantized = stored_by_quantizing(format);
    const Sizes all = sizes(quantized);
    int64_t bytes = all.weight_bytes;
    for (ValueId id : quantized.constants()) {
      const Tensor& same = *quantized.constant(id);
      const auto found = stored.find(stored_label(quantized.value(id).label));
      if (found != stored.end() && found->second->elements() == same.elements())
        bytes += found->second->bytes() - same.bytes();
    }
    return {static_cast<double>(bytes), static_cast<double>(all.parameters)};
  }

  // The model as it is, in the arithmetic of the others. It is what they differ from: it has no difference.
  SweptFormat original() {
    const Sizes all = sizes(study_.graph);
    const FormatStudy::Measured measured = study_.measured_original();
    return swept("the original", false,
                 {measured.selecting,
                  measured.held_out,
                  {static_cast<double>(all.weight_bytes), static_cast<double>(all.parameters)}});
  }

  const Model& model_;
  const FormatSweepOptions& options_;
  const TaskContext& context_;
  FormatStudy study_;
};

}  // namespace

bool SweptFormat::is_finite() const { return std::isfinite(selecting.error) && std::isfinite(held_out.error); }

bool is_better(const QualityScale& scale, const SweptFormat& a, const SweptFormat& b) {
  if (scale.is_better(a.selecting, b.selecting)) return true;
  return !scale.is_better(b.selecting, a.selecting) && a.bytes < b.bytes;
}

FormatSweep sweep_formats(const Model& model, const FormatSweepOptions& options, const TaskContext& context) {
  if (options.formats.empty()) fail("no formats to sweep; give --formats, e.g. 'int{{4..16}}.f{{2,4,8}}'");
  return Sweeper(model, options, context).run();
}

}  // namespace hone
