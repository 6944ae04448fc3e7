// Points of the front that measured losses predict: the exact solution of the multiple-choice knapsack for one budget
// after the other, the whole budget first, then halves of halves of what is between it and the cheapest choice.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "study/samplers/choice_solver.h"

namespace hone {
namespace {

struct IlpOptions {
  int64_t points = 16;
  static constexpr const char* kPass = "ilp";
  static std::span<const OptionField<IlpOptions>> fields();
};
constexpr OptionField<IlpOptions> kFields[] = {
    {"points", "budgets that are solved for, at most", &IlpOptions::points},
};

constexpr const char* kPoint = "hone:ilp";

// 1, 0, 1/2, 1/4, 3/4, 1/8, …: each further one falls into the middle of a gap.
double share_of(int64_t i) {
  if (i < 2) return i == 0 ? 1 : 0;
  const auto level = static_cast<int>(std::floor(std::log2(static_cast<double>(i - 1))));
  return (2 * static_cast<double>(i - 1 - (int64_t{1} << level)) + 1) / std::exp2(level + 1);
}

class IlpSampler : public Sampler {
 public:
  explicit IlpSampler(const IlpOptions& options) : options_(options) {
    if (options.points < 1 || options.points > 10'000) fail("points is {}; accepted: 1 to 10000", options.points);
  }

  bool learns() const override { return true; }
  void learn(ChoiceTable table) override {
    solver_ = ChoiceSolver(std::move(table));
    std::set<std::vector<int>> seen;
    for (int64_t i = 0; i < options_.points; ++i)
      if (Solution s = solver_.solve(share_of(i)); seen.insert(s.chosen).second) points_.push_back(std::move(s));
  }

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    if (!solver_.has_table()) refuse_without_table("ilp");
    const size_t point = next_free(context.study, context.trial.number).value_or(0);
    context.set_system(kPoint, static_cast<int64_t>(point));
    return solver_.parameters(points_[point], context.space);
  }

  double independent(const SampleContext& context, const std::string&, const DistributionPtr& distribution) override {
    return uniform_value(*distribution, context.rng);
  }

  std::optional<std::string> exhausted(const StudyView& study, const Space*) override {
    const bool waits =
        std::ranges::any_of(study.trials, [](const TrialPtr& t) { return t->state == TrialState::waiting; });
    if (!solver_.has_table() || waits || next_free(study, -1)) return std::nullopt;
    return "all points that were solved for are taken";
  }

 private:
  std::optional<size_t> next_free(const StudyView& study, int64_t own) const {
    std::vector<bool> taken(points_.size());
    for (const TrialPtr& t : study.trials) {
      if (t->number == own || t->state == TrialState::waiting || !t->system_attributes.is_object()) continue;
      const auto at = t->system_attributes.find(kPoint);
      if (at == t->system_attributes.end() || !at->is_number_integer()) continue;
      const auto point = at->get<int64_t>();
      if (point >= 0 && point < std::ssize(points_)) taken[static_cast<size_t>(point)] = true;
    }
    const auto free = std::ranges::find(taken, false);
    if (free == taken.end()) return std::nullopt;
    return static_cast<size_t>(free - taken.begin());
  }

  IlpOptions options_;
  ChoiceSolver solver_;
  std::vector<Solution> points_;
};

}  // namespace

std::span<const OptionField<IlpOptions>> IlpOptions::fields() { return kFields; }

extern constinit const SamplerDef ilp_sampler_def{
    .name = "ilp",
    .doc = "solutions of the knapsack of measured losses, one budget after the other",
    .options = &option_table<IlpOptions>,
    .make = [](const std::any& options, uint64_t) -> std::unique_ptr<Sampler> {
      return std::make_unique<IlpSampler>(std::any_cast<const IlpOptions&>(options));
    }};

}  // namespace hone
