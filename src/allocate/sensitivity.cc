#include "allocate/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "allocate/layer_error.h"
#include "measure/statistics.h"

namespace hone {
namespace {

// One tensor in one format, all others as they are.
class Substitutions {
 public:
  Substitutions(const Candidates& candidates, const OutputMeasure& measure, Measurements& known, size_t batches)
      : candidates_(candidates), measure_(measure), known_(known), batches_(batches) {
    // What the original itself is away from the reference, in the arithmetic that is measured in.
    floor_ = error("nothing", candidates.uniform(kPlain));
  }

  double operator()(size_t tensor, size_t format) {
    std::vector<int> chosen = candidates_.uniform(kPlain);
    chosen[tensor] = static_cast<int>(format);
    return std::max(0.0, error(candidates_.text(chosen), chosen) - floor_);
  }

 private:
  double error(const std::string& name, const std::vector<int>& chosen) {
    return known_.get(fmt::format("alone, {} batches\n{}", batches_, name),
                      [&] { return measure_(candidates_.with(chosen), batches_).error; });
  }

  const Candidates& candidates_;
  const OutputMeasure& measure_;
  Measurements& known_;
  size_t batches_;
  double floor_ = 0;
};

constexpr double kProportional = 0.1;  // layer error up to which the output's error is in proportion to it

size_t format_to_measure_first(const std::vector<double>& layer_error) {
  const auto worth = [](double error) {  // an exact format says nothing of the others
    if (!(error > 0)) return -std::numeric_limits<double>::infinity();
    return error <= kProportional ? error : -std::min(error, std::numeric_limits<double>::max());
  };
  return static_cast<size_t>(std::ranges::max_element(layer_error, {}, worth) - layer_error.begin());
}

}  // namespace

double TensorSensitivity::estimate(size_t format) const {
  return layer_error[format] > 0 ? layer_error[format] * *output_error[first] / layer_error[first] : 0;
}

double TensorSensitivity::loss(size_t format) const {
  if (output_error[format]) return *output_error[format];
  if (!std::isfinite(layer_error[format])) return std::numeric_limits<double>::infinity();
  if (layer_error[format] == 0) return 0;
  double closest = std::numeric_limits<double>::infinity(), loss = 0;
  for (size_t f = 0; f < layer_error.size(); ++f) {
    if (!output_error[f]) continue;
    const double ratio = layer_error[format] / layer_error[f], distance = std::abs(std::log(ratio));
    if (distance < closest) closest = distance, loss = ratio * *output_error[f];
  }
  return loss;
}

std::vector<TensorSensitivity> measure_sensitivity(const Candidates& candidates, const Statistics& statistics,
                                                   const OutputMeasure& measure, Measurements& known,
                                                   const SensitivityOptions& options) {
  LayerError layer_error(options.session);
  Substitutions measured(candidates, measure, known, options.batches);
  std::vector<TensorSensitivity> all;
  for (size_t t = 0; t < candidates.tensors.size(); ++t) {
    if (options.told) options.told(t, candidates.tensors.size());
    const CandidateTensor& tensor = candidates.tensors[t];
    const auto found = statistics.layers.find(tensor.name);
    const LayerStatistics* layer = found == statistics.layers.end() ? nullptr : &found->second;
    TensorSensitivity s;
    for (size_t f = 0; f < candidates.formats.size(); ++f)
      s.layer_error.push_back(known.get(fmt::format("layer {}={}", tensor.name, candidates.formats[f]),
                                        [&] { return layer_error(tensor.plain, tensor.rounded[f], layer); }));
    s.output_error.resize(candidates.formats.size());
    s.first = format_to_measure_first(s.layer_error);
    for (size_t f = 0; f < candidates.formats.size(); ++f)
      if (s.layer_error[f] > 0 && (options.measure_all || f == s.first)) s.output_error[f] = measured(t, f);
    all.push_back(std::move(s));
  }
  return all;
}

bool measure_chosen(std::span<const int> chosen, std::vector<TensorSensitivity>& sensitivities,
                    const Candidates& candidates, const OutputMeasure& measure, Measurements& known,
                    const SensitivityOptions& options) {
  Substitutions measured(candidates, measure, known, options.batches);
  bool any = false;
  for (size_t t = 0; t < chosen.size(); ++t) {
    if (chosen[t] == kPlain) continue;
    const auto f = static_cast<size_t>(chosen[t]);
    TensorSensitivity& s = sensitivities[t];
    if (s.output_error[f] || !(s.layer_error[f] > 0)) continue;
    if (options.told) options.told(t, chosen.size());
    s.output_error[f] = measured(t, f);
    any = true;
  }
  return any;
}

EstimateQuality estimate_quality(const std::vector<TensorSensitivity>& sensitivities) {
  std::vector<double> measured, layer, others, estimates;
  for (const TensorSensitivity& s : sensitivities)
    for (size_t f = 0; f < s.layer_error.size(); ++f) {
      if (!s.output_error[f]) continue;
      measured.push_back(*s.output_error[f]), layer.push_back(s.layer_error[f]);
      if (f != s.first) others.push_back(*s.output_error[f]), estimates.push_back(s.estimate(f));
    }
  return {rank_correlation(layer, measured), rank_correlation(estimates, others), measured.size()};
}

}  // namespace hone
