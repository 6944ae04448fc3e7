#include "search/sensitivity.h"

#include <algorithm>

#include "measure/statistics.h"
#include "search/layer_error.h"

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
                      [&] { return std::vector{measure_(candidates_.with(chosen), batches_).error}; })[0];
  }

  const Candidates& candidates_;
  const OutputMeasure& measure_;
  Measurements& known_;
  size_t batches_;
  double floor_ = 0;
};

size_t largest(const std::vector<double>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

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
      s.layer_error.push_back(known.get(fmt::format("layer {}={}", tensor.name, candidates.formats[f]), [&] {
        return std::vector{layer_error(tensor.plain, tensor.rounded[f], layer)};
      })[0]);
    s.output_error.resize(candidates.formats.size());
    const size_t coarsest = largest(s.layer_error);
    for (size_t f = 0; f < candidates.formats.size(); ++f)
      if (s.layer_error[f] > 0 && (options.measure_all || f == coarsest)) s.output_error[f] = measured(t, f);
    if (s.layer_error[coarsest] > 0) s.gain = *s.output_error[coarsest] / s.layer_error[coarsest];
    all.push_back(std::move(s));
  }
  return all;
}

EstimateQuality estimate_quality(const std::vector<TensorSensitivity>& sensitivities) {
  std::vector<double> measured, layer, others, with_gain;
  for (const TensorSensitivity& s : sensitivities)
    for (size_t f = 0; f < s.layer_error.size(); ++f) {
      if (!s.output_error[f]) continue;
      measured.push_back(*s.output_error[f]), layer.push_back(s.layer_error[f]);
      if (f == largest(s.layer_error)) continue;  // where the gain is from
      others.push_back(*s.output_error[f]), with_gain.push_back(s.gain * s.layer_error[f]);
    }
  return {rank_correlation(layer, measured), rank_correlation(with_gain, others), measured.size()};
}

}  // namespace hone
