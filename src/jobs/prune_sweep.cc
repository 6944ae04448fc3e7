#include "jobs/prune_sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "jobs/prune_model.h"
#include "jobs/sweep_training.h"
#include "passes/pipelines.h"
#include "train/training_form.h"

namespace hone {
namespace {

constexpr size_t kMostSparsities = 1000;

double number_of(const std::string& text, const std::string& all) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1))
    fail("sparsity \"{}\": \"{}\" is no share from 0 to below 1; expected e.g. 0.5, 0.1,0.5 or 0.1:0.9", all, text);
  return value;
}

int64_t count_of(double figure) { return static_cast<int64_t>(std::clamp(figure, 0.0, 0x1p62)); }

class PruneSweeper {
 public:
  PruneSweeper(const Model& model, const PruneSweepOptions& options, const TaskContext& context)
      : options_(options),
        context_(context),
        study_(model,
               {.data = options.data,
                .judged = options.judged,
                .calibration = options.calibration,
                .quantize = {},
                .session = options.session,
                .memory = options.measurements,
                .settings = fmt::format("prune {} {} as stored ", options.prune.structure, options.prune.scope)}),
        original_(model) {
    original_.graph = training_form(model.graph).graph;  // the tensors of the file, norms apart
    if (options.training) {
      training_ = *options.training;
      training_->training.keep_zeros = true;
      key_ = training_key(*training_);
    }
  }

  PruneSweep run() {
    PruneSweep sweep{.study = study_.facts(), .methods = options_.methods, .trains = training_.has_value()};
    size_t number = 0;
    for (const std::string& method : options_.methods) {
      PruneOptions prune = options_.prune;
      prune.method = method;
      for (double sparsity : options_.sparsities) {
        prune.sparsity = sparsity;
        const std::string name = fmt::format("{} {}", method, sparsity);
        context_.tell(
            fmt::format("{} ({} of {})", name, ++number, options_.methods.size() * options_.sparsities.size()));
        sweep.prunings.push_back(measured(name, prune, false));
        if (training_) sweep.prunings.push_back(measured(name, prune, true));
      }
    }
    if (training_) sweep.original_trained = trained_original();
    sweep.measured = study_.known.measured(), sweep.recalled = study_.known.recalled();
    if (training_)
      sweep.original = swept("the original", 0, false, study_.measured_original(), figures_of(study_.graph));
    return sweep;
  }

 private:
  using Figures = std::array<double, 2>;
  static Figures figures_of(const Graph& graph) {
    return {static_cast<double>(sizes(graph).parameters), static_cast<double>(stored_bytes(graph).sparse)};
  }
  static SweptPruning swept(const std::string& method, double sparsity, bool trained,
                            const FormatStudy::Measured& measured, const Figures& figures) {
    return {
        method, sparsity, trained, measured.selecting, measured.held_out, count_of(figures[0]), count_of(figures[1])};
  }
  static FormatStudy::Changed changed(const Graph& graph) { return {graph, figures_of(graph)}; }

  Graph pruned(const PruneOptions& prune) {
    if (!sources_.contains(prune.method))  // the scores of a method are the same at every sparsity
      sources_[prune.method] =
          score_sources(original_, original_.graph, prune, options_.calibration, PruneSchedule().score_rate);
    return prune_weights(original_.graph, prune, sources_.at(prune.method)).graph;
  }

  Graph trained(const std::string& name, const Graph& graph) {
    Model variant = original_;
    variant.graph = graph;
    return trained_variant(variant, *training_, options_.judged, name, context_);
  }

  SweptPruning measured(const std::string& name, const PruneOptions& prune, bool trains) {
    const std::string key = trains ? fmt::format("{} trained {}", name, key_) : name;
    const FormatStudy::Measured measured = study_.measured(key, [&] {
      const Graph graph = pruned(prune);
      return changed(trains ? trained(name, graph) : canonicalise(graph));
    });
    return swept(prune.method, prune.sparsity, trains, measured, measured.figures);
  }

  SweptPruning trained_original() {
    const std::string name = "the original";
    const FormatStudy::Measured measured = study_.measured(fmt::format("{} trained {}", name, key_),
                                                           [&] { return changed(trained(name, original_.graph)); });
    return swept(name, 0, true, measured, measured.figures);
  }

  const PruneSweepOptions& options_;
  const TaskContext& context_;
  FormatStudy study_;
  Model original_;  // in training form
  std::optional<TrainModelOptions> training_;
  std::string key_;  // of the training
  std::map<std::string, ScoreSources> sources_;
};

}  // namespace

std::vector<double> parse_sparsities(const std::string& text) {
  std::vector<double> found;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> range = split(part, ':');
    if (range.size() == 1) {
      found.push_back(number_of(part, text));
      continue;
    }
    if (range.size() > 3) fail("sparsity \"{}\": expected FIRST:LAST or FIRST:LAST:STEP, found \"{}\"", text, part);
    const double first = number_of(range[0], text), last = number_of(range[1], text),
                 step = range.size() == 3 ? number_of(range[2], text) : 0.1;
    if (!(step > 0) || last < first)
      fail("sparsity \"{}\": \"{}\" goes nowhere; expected FIRST:LAST:STEP with a step above 0", text, part);
    const auto count = static_cast<size_t>(std::floor((last - first) / step + 1e-9)) + 1;
    if (found.size() + count > kMostSparsities) fail("sparsity \"{}\": more than {} numbers", text, kMostSparsities);
    // Thousandths of a step apart are the same number: 0.1 + 2 * 0.1 is 0.3.
    for (size_t i = 0; i < count; ++i) found.push_back(std::round((first + static_cast<double>(i) * step) * 1e9) / 1e9);
  }
  return found;
}

PruneSweep sweep_pruning(const Model& model, const PruneSweepOptions& options, const TaskContext& context) {
  if (options.sparsities.empty() || options.methods.empty()) fail("a sweep of pruning needs sparsities and methods");
  for (const std::string& method : options.methods) {
    PruneOptions prune = options.prune;
    prune.method = method;
    prune.sparsity = options.sparsities[0];
    check_options(prune);
    if (find_score(prune).needs != ScoreDef::Needs::nothing && options.calibration.file.empty())
      fail("method {} scores weights by data, which should not be those it is judged on; give --calib FILE", method);
  }
  return PruneSweeper(model, options, context).run();
}

}  // namespace hone
