// Every point of a space of finite parameters once, in an order shuffled by the seed. Which points were taken is read
// off the trials, so that a stopped grid goes on, by any number of workers.
#include <algorithm>

#include "base/error.h"
#include "study/sampler.h"

namespace hone {
namespace {

struct GridOptions {
  int64_t max_points = 1'000'000;
  static constexpr const char* kPass = "grid";
  static std::span<const OptionField<GridOptions>> fields();
};

constexpr OptionField<GridOptions> kFields[] = {
    {"max-points", "a grid of more points than this is refused before it starts", &GridOptions::max_points},
};

constexpr const char* kGridId = "hone:grid_id";

class GridSampler : public Sampler {
 public:
  GridSampler(const GridOptions& options, uint64_t seed) : options_(options), seed_(seed) {}

  std::vector<TrialParameter> relative(const SampleContext& context) override {
    if (!context.space) fail("a grid needs the whole space before it starts; give a space, not parameters one by one");
    make_points(*context.space);
    const std::optional<size_t> free = next_free(context.study, context.trial.number);
    // All are taken: what a caller asks for nevertheless is the first point once more.
    const size_t point = order_[free.value_or(0)];
    context.set_system(kGridId, static_cast<int64_t>(point));
    return points_[point];
  }

  double independent(const SampleContext&, const std::string& name, const DistributionPtr&) override {
    fail("parameter {} is no part of the grid; the space has changed. Start a new study", name);
  }

  bool draws_again() const override { return false; }

  std::optional<std::string> exhausted(const StudyView& study, const Space* space) override {
    if (!space) return std::nullopt;
    make_points(*space);
    const bool waits =
        std::ranges::any_of(study.trials, [](const TrialPtr& t) { return t->state == TrialState::waiting; });
    if (waits || next_free(study, -1)) return std::nullopt;
    return "all points of the grid are taken";
  }

 private:
  // The points that conditions and constraints allow, each with its active parameters.
  void make_points(const Space& space) {
    if (!points_.empty()) return;
    for (const SpaceParameter& p : space.parameters())
      if (p.distribution.size() == 0)
        fail("parameter {} is a continuum ({}), of which no grid can be made; give it a step or choices", p.name,
             p.distribution.describe());
    if (const double size = space.grid_size(); size > static_cast<double>(options_.max_points))
      fail(
          "the grid has {:.6g} points, more than max-points {}; coarser steps or fewer choices, another sampler (tpe), "
          "or a larger max-points",
          size, options_.max_points);
    for (const SpaceParameter& p : space.parameters())
      distributions_.push_back(std::make_shared<const Distribution>(p.distribution));
    std::vector<TrialParameter> chosen;
    extend(space, 0, chosen);
    if (points_.empty()) fail("no point of the grid meets the constraints; loosen them");
    for (size_t i = 0; i < points_.size(); ++i) order_.push_back(i);
    Philox rng(seed_);
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng.below(static_cast<uint32_t>(i))]);
  }

  void extend(const Space& space, size_t at, std::vector<TrialParameter>& chosen) {
    if (at == space.parameters().size()) {
      if (space.violation(chosen) == 0) points_.push_back(chosen);
      return;
    }
    const SpaceParameter& p = space.parameters()[at];
    if (!space.is_active(p, chosen)) return extend(space, at + 1, chosen);
    for (int64_t i = 0; i < p.distribution.size(); ++i) {
      chosen.push_back({p.name, p.distribution.value_at(i), distributions_[at]});
      extend(space, at + 1, chosen);
      chosen.pop_back();
    }
  }

  static bool is_at(const TrialRecord& trial, const std::vector<TrialParameter>& point) {
    return trial.parameters.size() == point.size() && std::ranges::all_of(point, [&](const TrialParameter& p) {
             const TrialParameter* other = trial.find(p.name);
             return other && other->value == p.value;
           });
  }

  // A point is taken by a trial that carries its id and, since another run may have had another grid, its values.
  std::optional<size_t> next_free(const StudyView& study, int64_t own) const {
    std::vector<bool> taken(points_.size());
    for (const TrialPtr& trial : study.trials) {
      if (trial->state == TrialState::failed || trial->number == own || !trial->system_attributes.is_object()) continue;
      const auto id = trial->system_attributes.find(kGridId);
      if (id == trial->system_attributes.end() || !id->is_number_integer()) continue;
      const auto point = id->get<int64_t>();
      if (point >= 0 && point < static_cast<int64_t>(points_.size()) &&
          (is_at(*trial, points_[static_cast<size_t>(point)]) || !is_finished(trial->state)))
        taken[static_cast<size_t>(point)] = true;
    }
    for (size_t i = 0; i < order_.size(); ++i)
      if (!taken[order_[i]]) return i;
    return std::nullopt;
  }

  GridOptions options_;
  uint64_t seed_;
  std::vector<std::vector<TrialParameter>> points_;
  std::vector<DistributionPtr> distributions_;
  std::vector<size_t> order_;
};

}  // namespace

std::span<const OptionField<GridOptions>> GridOptions::fields() { return kFields; }

extern constinit const SamplerDef grid_sampler_def{
    .name = "grid",
    .doc = "every point of the space once",
    .options = &option_table<GridOptions>,
    .make = [](const std::any& options, uint64_t seed) -> std::unique_ptr<Sampler> {
      return std::make_unique<GridSampler>(std::any_cast<const GridOptions&>(options), seed);
    }};

}  // namespace hone
