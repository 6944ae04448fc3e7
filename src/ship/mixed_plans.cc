#include "ship/mixed_plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/collect.h"

namespace hone {
namespace {

constexpr size_t kBatches = 2;   // of what there is to learn from, that each tensor is measured on
constexpr double kWorst = 1e30;  // in place of an infinite error: outputs that are not finite

std::vector<NamedTensors> first(const std::vector<NamedTensors>& batches, size_t count) {
  return {batches.begin(), batches.begin() + static_cast<std::ptrdiff_t>(std::min(count, batches.size()))};
}

}  // namespace

MixedPlans::MixedPlans(const Maker& maker, const std::vector<std::string>& formats, const Recipe& base,
                       const SessionOptions& session, Measurements& known,
                       const std::function<void(const std::string&)>& told)
    : base_(base) {
  told("mixed plans: what the layers are given");
  const CollectOptions collecting{.session = session};
  const Statistics statistics = collect_statistics(maker.graph(), maker.learning().batches, collecting);
  const auto quantizer = [&](const Graph& graph, const QuantizeOptions& options) {
    return quantize(graph, options, [&](const Graph&, bool) { return statistics; }, {.packer = &maker.packer()});
  };
  candidates_ = make_candidates(maker.graph(), formats, base, quantizer,
                                [&](const std::string& format) { told("mixed plans: packing in " + format); });
  const OutputMeasure measure(maker.graph(), first(maker.learning().batches, kBatches), std::nullopt, session);
  const SensitivityOptions options{.session = session, .told = [&](size_t done, size_t of) {
                                     told(fmt::format("mixed plans: tensor {} of {}", done + 1, of));
                                   }};
  const auto sensitivities = measure_sensitivity(candidates_, statistics, measure, known, options);
  items_.resize(candidates_.tensors.size());
  for (size_t t = 0; t < items_.size(); ++t)
    for (size_t f = 0; f < candidates_.formats.size(); ++f)
      items_[t].push_back(
          {static_cast<double>(candidates_.tensors[t].bytes[f]), std::min(sensitivities[t].loss(f), kWorst)});
}

std::optional<Recipe> MixedPlans::within(double bytes, double beside) const {
  const std::optional<Solution> solved =
      solve_knapsack(items_, bytes - beside - static_cast<double>(candidates_.other_bytes));
  if (!solved) return std::nullopt;
  Recipe plan = base_;
  plan.to.clear();
  for (size_t t = 0; t < solved->chosen.size(); ++t) {
    const CandidateTensor& tensor = candidates_.tensors[t];
    const auto f = static_cast<size_t>(solved->chosen[t]);
    const bool is_smaller = tensor.bytes[f] < tensor.plain.bytes();
    plan.rule.push_back(fmt::format("name:{}={}", tensor.name, is_smaller ? candidates_.formats[f] : "keep"));
  }
  return plan;
}

}  // namespace hone
