#include "nas/format_losses.h"

#include <algorithm>
#include <cmath>

#include "allocate/sensitivity.h"
#include "base/error.h"
#include "calibrate/collect.h"
#include "jobs/format_study.h"
#include "jobs/plan_files.h"
#include "study/samplers/choice_solver.h"

namespace hone {
namespace {

constexpr int64_t kRows = 512;   // sensitivities of a few hundred rows rank as those of all
constexpr double kWorst = 1e30;  // in place of an infinite loss
constexpr int kAttempts = 4;     // of solving anew where a file is beyond the budget
constexpr int kRounds = 4;       // of measuring what the solution rests on

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

bool is_of_files(const SearchStudy& study) {
  return std::ranges::any_of(study.limits, [](const FigureLimit& l) { return l.figure == "bytes"; });
}

// Bytes that a candidate of these figures leaves of the limits; below 0: it is beyond one. None: nothing limits them.
std::optional<double> left_of(std::span<const FigureLimit> limits, const Figures& figures) {
  std::optional<double> least;
  for (const FigureLimit& limit : limits) {
    if (limit.figure != "bits" && limit.figure != "bytes") continue;
    const double unit = limit.figure == "bits" ? figures.at("parameters") / 8 : 1;
    const double left = (limit.bound - figures.at(limit.figure)) * unit;
    least = std::min(least.value_or(left), left);
  }
  return least;
}

class FormatLosses {
 public:
  FormatLosses(const SearchStudy& study, const Space& space, const FiguresOf& figures_of, const Progress& progress)
      : study_(study),
        space_(space),
        figures_of_(figures_of),
        formats_(formats_of(space)),
        measured_(load_model(study.fixed.model, study.fixed.inputs, study.fixed.model_format), study_options(study)),
        candidates_(make_candidates(measured_.graph, formats_, {}, [&](const Graph& graph, const QuantizeOptions& o) {
          return quantize(graph, o, {}, {.packer = measured_.packer.get()});
        })) {
    options_.session = measured_.session;
    options_.told = [&](size_t done, size_t of) {
      tell(progress, fmt::format("{}: sensitivity of weight {} of {}", study_.name, done + 1, of));
    };
  }

  ChoiceTable table() {
    set_choices();
    const Statistics statistics =
        collect_statistics(measured_.graph, measured_.data.selecting.batches, {.session = measured_.session});
    sensitivities_ = measure_sensitivity(candidates_, statistics, measured_.selection(), measured_.known, options_);
    set_losses();
    set_budget();
    for (int round = 0; table_.budget && round < kRounds && measure_solution(); ++round) set_losses();
    set_budget();
    return std::move(table_);
  }

 private:
  static StudyOptions study_options(const SearchStudy& study) {
    EvaluationOptions judged = study.life.judged;
    judged.data.limit = judged.data.limit > 0 ? std::min(judged.data.limit, kRows) : kRows;
    return {.data = {study.life.data, judged.data.batch, {}},
            .judged = judged,
            .calibration = {},
            .quantize = {},
            .session = study.life.session};
  }

  // What each choice of the space costs.
  void set_choices() {
    const PlanFiles files(measured_, candidates_, {}, std::nullopt, "safetensors");
    const bool of_files = is_of_files(study_);
    for (size_t t = 0; t < candidates_.tensors.size(); ++t) {
      const SpaceParameter* p = space_.find("format." + candidates_.tensors[t].name);
      if (!p) continue;
      table_.parameters.push_back(p->name);
      Weight& weight = weights_.emplace_back(Weight{t, {}});
      std::vector<Choice>& item = table_.items.emplace_back();
      for (const Json& choice : p->distribution.choices) {
        const auto f = std::ranges::find(formats_, choice.get<std::string>());
        const int format = f == formats_.end() ? kPlain : static_cast<int>(f - formats_.begin());
        weight.formats.push_back(format);
        item.push_back(
            {of_files ? files.cost(t, format) : static_cast<double>(candidates_.tensors[t].stored_bytes(format))});
      }
    }
    if (table_.parameters.empty())
      fail(
          "{}: sampler {} solves for formats of weights by their names, and the space has none; e.g. format = {{each = "
          "\"op:linear\", choices = [\"int4\", \"int8\"]}}",
          study_.source, study_.sampler);
  }

  void set_losses() {
    for (size_t i = 0; i < weights_.size(); ++i)
      for (size_t c = 0; c < weights_[i].formats.size(); ++c)
        if (const int format = weights_[i].formats[c]; format != kPlain)
          table_.items[i][c].loss =
              std::min(sensitivities_[weights_[i].tensor].loss(static_cast<size_t>(format)), kWorst);
  }

  // What the solution rests on, as hone allocate does: it would choose what is estimated too low. Whether any was not
  // measured yet.
  bool measure_solution() {
    const std::optional<Solution> solved = solve_knapsack(table_.items, *table_.budget);
    if (!solved) return false;
    std::vector<int> chosen = candidates_.uniform(kPlain);
    for (size_t i = 0; i < weights_.size(); ++i)
      chosen[weights_[i].tensor] = weights_[i].formats[static_cast<size_t>(solved->chosen[i])];
    return measure_chosen(chosen, sensitivities_, candidates_, measured_.selection(), measured_.known, options_);
  }

  // What all else takes is seen from the file of the cheapest selection, then from that of what is solved for: what
  // tensors share of a file differs from selection to selection.
  void set_budget() {
    const ChoiceSolver unlimited({table_.parameters, table_.items, std::nullopt});
    Solution selection = cheapest(table_.items);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::optional<double> left =
          left_of(study_.limits, figures_of_(space_.values(unlimited.parameters(selection, &space_))));
      if (!left) return;
      table_.budget = std::min(table_.budget.value_or(INFINITY), selection.cost + *left);
      const std::optional<Solution> solved = solve_knapsack(table_.items, *table_.budget);
      if (!solved || solved->chosen == selection.chosen) return;
      selection = *solved;
    }
  }

  struct Weight {
    size_t tensor;             // of the candidates
    std::vector<int> formats;  // of its choices, or kPlain
  };

  const SearchStudy& study_;
  const Space& space_;
  const FiguresOf& figures_of_;
  const std::vector<std::string> formats_;
  FormatStudy measured_;
  const Candidates candidates_;
  SensitivityOptions options_;
  std::vector<TensorSensitivity> sensitivities_;
  std::vector<Weight> weights_;  // of the table's items
  ChoiceTable table_;
};

}  // namespace

ChoiceTable format_losses(const SearchStudy& study, const Space& space, const FiguresOf& figures_of,
                          const Progress& progress) {
  require_one_model(study, space);
  return FormatLosses(study, space, figures_of, progress).table();
}

}  // namespace hone
