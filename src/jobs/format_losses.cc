#include "jobs/format_losses.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibrate/collect.h"
#include "jobs/format_study.h"
#include "search/sensitivity.h"

namespace hone {
namespace {

constexpr int64_t kRows = 512;   // sensitivities of a few hundred rows rank as those of all
constexpr double kWorst = 1e30;  // in place of an infinite loss

void require_one_model(const SearchStudy& study, const Space& space) {
  const TrialPlan& plan = study.fixed;
  for (const SpaceParameter& p : space.parameters())
    for (const char* table : {"build.", "layer.", "train.", "prune."})
      if (p.name.starts_with(table))
        fail("{}: sampler {} measures the formats of one model, and {} changes the model; take tpe", study.source,
             study.sampler, p.name);
  if (plan.is_built() || plan.trains || plan.prunes)
    fail("{}: sampler {} measures the formats of a trained model; give a file, and leave build, train and prune out",
         study.source, study.sampler);
  if (study.life.data.empty()) fail("{}: sampler {} measures on data; give --data", study.source, study.sampler);
}

std::vector<std::string> formats_of(const Space& space) {
  std::vector<std::string> all;
  for (const SpaceParameter& p : space.parameters())
    if (p.name.starts_with("format."))
      for (const Json& choice : p.distribution.choices)
        if (choice != "keep" && std::ranges::find(all, choice.get<std::string>()) == all.end())
          all.push_back(choice.get<std::string>());
  return all;
}

std::optional<double> budget_of(const SearchStudy& study, const Candidates& candidates, double overhead) {
  std::optional<double> budget;
  for (const FigureLimit& limit : study.limits) {
    double bytes = 0;
    if (limit.figure == "bits") bytes = limit.bound * static_cast<double>(candidates.elements) / 8;
    else if (limit.figure == "bytes") bytes = limit.bound - overhead;
    else continue;
    budget = std::min(budget.value_or(bytes), bytes);
  }
  if (budget) *budget -= static_cast<double>(candidates.other_bytes);
  return budget;
}

}  // namespace

ChoiceTable format_losses(const SearchStudy& study, const Space& space, double overhead, const Progress& progress) {
  require_one_model(study, space);
  EvaluationOptions judged = study.life.judged;
  judged.data.limit = judged.data.limit > 0 ? std::min(judged.data.limit, kRows) : kRows;
  FormatStudy measured({.model = study.fixed.model,
                        .inputs = study.fixed.inputs,
                        .data = {study.life.data, judged.data.batch, {}},
                        .judged = judged,
                        .calibration = {},
                        .quantize = {},
                        .session = study.life.session});
  const std::vector<std::string> formats = formats_of(space);
  const Quantize pack = [&](const Graph& graph, const QuantizeOptions& options) {
    return quantize(graph, options, {}, {.packer = &measured.packer});
  };
  QuantizeOptions nearest;
  const Candidates candidates = make_candidates(measured.graph, formats, nearest, pack);
  const Statistics statistics =
      collect_statistics(measured.graph, measured.data.selecting.batches, {.session = measured.session});
  const std::vector<TensorSensitivity> sensitivities = measure_sensitivity(
      candidates, statistics, measured.selection(), measured.known,
      {.session = measured.session, .told = [&](size_t done, size_t of) {
         tell(progress, fmt::format("{}: sensitivity of weight {} of {}", study.name, done + 1, of));
       }});
  ChoiceTable table;
  double chosen_elsewhere = 0;  // bytes of weights that no parameter decides: they stay as they are
  for (size_t t = 0; t < candidates.tensors.size(); ++t) {
    const SpaceParameter* p = space.find("format." + candidates.tensors[t].name);
    if (!p) {
      chosen_elsewhere += static_cast<double>(candidates.tensors[t].stored_bytes(kPlain));
      continue;
    }
    table.parameters.push_back(p->name);
    std::vector<Choice>& item = table.items.emplace_back();
    for (const Json& choice : p->distribution.choices) {
      const auto format = choice.get<std::string>();
      const auto f = static_cast<size_t>(std::ranges::find(formats, format) - formats.begin());
      const bool keeps = f == formats.size();
      item.push_back({static_cast<double>(candidates.tensors[t].stored_bytes(keeps ? kPlain : static_cast<int>(f))),
                      keeps ? 0 : std::min(sensitivities[t].loss(f), kWorst)});
    }
  }
  if (table.parameters.empty())
    fail(
        "{}: sampler {} solves for formats of weights by their names, and the space has none; e.g. format = {{each = "
        "\"op:linear\", choices = [\"int4\", \"int8\"]}}",
        study.source, study.sampler);
  table.budget = budget_of(study, candidates, overhead);
  if (table.budget) *table.budget -= chosen_elsewhere;
  return table;
}

}  // namespace hone
