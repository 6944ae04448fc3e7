// Dynamic programming over the items with partial selections as states. A state is dropped when another one costs no
// more and loses no more, or when even the linear relaxation of what is left can't bring it below a selection that is
// known. The relaxation is off by less than one step of one item, so few states live.
#include "study/knapsack.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

struct Option {
  double cost, loss;
  int index;
};

// By rising cost and strictly falling loss: nothing else can be part of a best selection.
std::vector<Option> undominated(const std::vector<Choice>& choices) {
  std::vector<Option> all, kept;
  for (size_t i = 0; i < choices.size(); ++i) {
    CHECK(std::isfinite(choices[i].cost) && choices[i].cost >= 0 && std::isfinite(choices[i].loss),
          "choice {} costs {} and loses {}", i, choices[i].cost, choices[i].loss);
    all.push_back({choices[i].cost, choices[i].loss, static_cast<int>(i)});
  }
  std::sort(all.begin(), all.end(),
            [](const Option& a, const Option& b) { return a.cost != b.cost ? a.cost < b.cost : a.loss < b.loss; });
  for (const Option& option : all)
    if (kept.empty() || option.loss < kept.back().loss) kept.push_back(option);
  return kept;
}

// A step along the lower convex hull of an item's options.
struct Step {
  double cost, loss;  // added; loss < 0
  double slope() const { return loss / cost; }
};

std::vector<Step> hull_steps(const std::vector<Option>& options) {
  std::vector<Step> steps;
  for (size_t i = 1; i < options.size(); ++i) {
    Step step{options[i].cost - options[i - 1].cost, options[i].loss - options[i - 1].loss};
    while (!steps.empty() && steps.back().slope() >= step.slope()) {
      step = {steps.back().cost + step.cost, steps.back().loss + step.loss};
      steps.pop_back();
    }
    steps.push_back(step);
  }
  return steps;
}

// The linear relaxation of the items from some place on: their cheapest options, then steps by falling gain. Losses are
// summed from the far end, where they are smallest: a difference of large sums would say nothing about small losses.
struct Relaxation {
  struct Point {
    double cost, loss;
  };
  std::vector<Point> points;  // by rising cost

  double cost() const { return points[0].cost; }
  // At most `room` may be spent, which is at least cost().
  double least_loss(double room) const {
    const auto above =
        std::upper_bound(points.begin(), points.end(), room, [](double r, const Point& p) { return r < p.cost; });
    const Point& below = *(above - 1);
    if (above == points.end()) return below.loss;
    const double share = (room - below.cost) / (above->cost - below.cost);
    return (1 - share) * below.loss + share * above->loss;
  }
};

Relaxation relax(std::span<const std::vector<Option>> items) {
  double cost = 0, loss = 0;  // of the cheapest options; of the dearest ones
  std::vector<Step> steps;
  for (const std::vector<Option>& options : items) {
    cost += options.front().cost, loss += options.back().loss;
    const std::vector<Step> own = hull_steps(options);
    steps.insert(steps.end(), own.begin(), own.end());
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.slope() < b.slope(); });
  Relaxation relaxation{{{cost, 0}}};
  for (const Step& step : steps) relaxation.points.push_back({relaxation.points.back().cost + step.cost, 0});
  relaxation.points.back().loss = loss;
  for (size_t i = steps.size(); i-- > 0;) relaxation.points[i].loss = relaxation.points[i + 1].loss - steps[i].loss;
  return relaxation;
}

struct State {
  double cost = 0, loss = 0;
  size_t parent = 0;  // among the states of the item before
  int option = 0;
};

void drop_dominated(std::vector<State>& states) {
  std::sort(states.begin(), states.end(),
            [](const State& a, const State& b) { return a.cost != b.cost ? a.cost < b.cost : a.loss < b.loss; });
  size_t kept = 0;
  for (const State& state : states)
    if (kept == 0 || state.loss < states[kept - 1].loss) states[kept++] = state;
  states.resize(kept);
}

class Solver {
 public:
  Solver(std::span<const std::vector<Choice>> items, double budget) : budget_(budget) {
    for (const std::vector<Choice>& choices : items) {
      CHECK(!choices.empty(), "an item without choices");
      options_.push_back(undominated(choices));
    }
    for (size_t i = 0; i <= options_.size(); ++i) rest_.push_back(relax(std::span(options_).subspan(i)));
  }

  bool fits(const State& state, size_t next) const { return state.cost + rest_[next].cost() <= budget_; }

  std::vector<int> solve() {
    layers_ = {{State()}};
    known_ = greedy(State(), 0);
    for (size_t i = 0; i < options_.size(); ++i) extend(i);
    const std::vector<State>& last = layers_.back();
    return trace(static_cast<size_t>(
        std::min_element(last.begin(), last.end(), [](auto& a, auto& b) { return a.loss < b.loss; }) - last.begin()));
  }

 private:
  // The loss that is reached from a state by giving each following item the best that leaves room for the rest.
  double greedy(const State& from, size_t next) const {
    double cost = from.cost + rest_[next].cost();
    std::vector<size_t> at(options_.size(), 0);
    for (;;) {
      size_t best = options_.size(), to = 0;
      double best_slope = 0;
      for (size_t i = next; i < options_.size(); ++i)
        for (size_t o = at[i] + 1; o < options_[i].size(); ++o) {
          const Option &now = options_[i][at[i]], &then = options_[i][o];
          const double slope = (then.loss - now.loss) / (then.cost - now.cost);
          if (cost + then.cost - now.cost <= budget_ && slope < best_slope) best = i, to = o, best_slope = slope;
        }
      if (best == options_.size()) break;
      cost += options_[best][to].cost - options_[best][at[best]].cost;
      at[best] = to;
    }
    double loss = from.loss;
    for (size_t i = next; i < options_.size(); ++i) loss += options_[i][at[i]].loss;
    return loss;
  }

  void extend(size_t item) {
    std::vector<State> next;
    const std::vector<State>& states = layers_.back();
    for (size_t s = 0; s < states.size(); ++s)
      for (size_t o = 0; o < options_[item].size(); ++o) {
        const State state{states[s].cost + options_[item][o].cost, states[s].loss + options_[item][o].loss, s,
                          static_cast<int>(o)};
        if (fits(state, item + 1)) next.push_back(state);
      }
    drop_dominated(next);
    const auto bound = [&](const State& s) { return s.loss + rest_[item + 1].least_loss(budget_ - s.cost); };
    const auto best =
        std::min_element(next.begin(), next.end(), [&](const State& a, const State& b) { return bound(a) < bound(b); });
    known_ = std::min(known_, greedy(*best, item + 1));
    const double limit = known_ + 1e-12 * std::abs(known_);  // sums in another order round differently
    std::erase_if(next, [&](const State& s) { return bound(s) > limit; });
    layers_.push_back(std::move(next));
  }

  std::vector<int> trace(size_t state) const {
    std::vector<int> chosen(options_.size());
    for (size_t i = options_.size(); i-- > 0;) {
      const State& s = layers_[i + 1][state];
      chosen[i] = options_[i][static_cast<size_t>(s.option)].index;
      state = s.parent;
    }
    return chosen;
  }

  double budget_, known_ = 0;
  std::vector<std::vector<Option>> options_;
  std::vector<Relaxation> rest_;  // of the items from i on
  std::vector<std::vector<State>> layers_;
};

}  // namespace

Solution select(std::span<const std::vector<Choice>> items, std::span<const int> chosen) {
  Solution selection{{chosen.begin(), chosen.end()}};
  for (size_t i = 0; i < items.size(); ++i) {
    const Choice& choice = items[i][static_cast<size_t>(chosen[i])];
    selection.cost += choice.cost, selection.loss += choice.loss;
  }
  return selection;
}

std::optional<Solution> solve_knapsack(std::span<const std::vector<Choice>> items, double budget) {
  Solver solver(items, budget);
  if (!solver.fits({}, 0)) return std::nullopt;
  return select(items, solver.solve());
}

Solution cheapest(std::span<const std::vector<Choice>> items) {
  std::vector<int> chosen;
  for (const std::vector<Choice>& choices : items) chosen.push_back(undominated(choices)[0].index);
  return select(items, chosen);
}

}  // namespace hone
