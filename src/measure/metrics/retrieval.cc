// Evidence: a, a sum over b queries. A query is a row; the documents are the partners of all rows, or all other rows.
// They are ranked by cosine, and equal ones in random order, of which the mean is taken: a model that gives the same
// embedding for everything finds no more than chance does.
#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/cosines.h"
#include "measure/metric.h"

namespace hone {
namespace {

// Where the best right document stands: `above` wrong ones before it for certain, and `right` and `wrong` ones beside
// it, as near as it.
struct Place {
  double above = 0, right = 0, wrong = 0;
};

// P(the first right one comes at place r after `above`): r - 1 of the wrong ones before it.
template <class F>
double mean_over_orders(const Place& place, F value) {
  double sum = 0, left = 1;  // left: P(no right one so far)
  for (double wrong = 0; wrong <= place.wrong && left > 0; ++wrong) {
    const double now = place.right / (place.right + place.wrong - wrong);
    sum += left * now * value(place.above + wrong + 1);
    left *= 1 - now;
  }
  return sum;
}

template <class IsRight>
Place place_of(const std::vector<float>& cosines, IsRight is_right, int64_t self) {
  float best = -INFINITY;
  for (int64_t d = 0; d < std::ssize(cosines); ++d)
    if (d != self && is_right(d)) best = std::max(best, cosines[static_cast<size_t>(d)]);
  Place place;
  for (int64_t d = 0; d < std::ssize(cosines); ++d) {
    if (d == self) continue;
    const float cosine = cosines[static_cast<size_t>(d)];
    if (cosine > best) ++place.above;
    else if (cosine == best) ++(is_right(d) ? place.right : place.wrong);
  }
  return place;
}

// A row of a group of one has nothing to find, and does not count.
template <class F>
void observe_queries(const Answers& answers, Evidence& evidence, F value) {
  const bool partners = answers.kind == TargetKind::partners;
  const Directions queries(answers.scores, answers.width),
      documents(partners ? answers.values : answers.scores, answers.width);
  const int64_t rows = answers.rows();
  std::vector<float> cosines(static_cast<size_t>(rows));
  for (int64_t q = 0; q < rows; ++q) {
    const auto is_right = [&](int64_t d) {
      return partners ? d == q : answers.classes[static_cast<size_t>(d)] == answers.classes[static_cast<size_t>(q)];
    };
    if (!partners && answers.classes[static_cast<size_t>(q)] == kIgnored) continue;
    for (int64_t d = 0; d < rows; ++d) cosines[static_cast<size_t>(d)] = queries.cosine(q, documents, d);
    const Place place = place_of(cosines, is_right, partners ? -1 : q);
    if (place.right == 0) continue;
    evidence.rows.push_back({q * answers.samples / rows, mean_over_orders(place, value), 1});
    ++evidence.counted;
  }
}

void observe_recall(const Answers& answers, int64_t k, Evidence& evidence) {
  observe_queries(answers, evidence, [k](double rank) { return rank <= static_cast<double>(k) ? 1.0 : 0.0; });
}

void observe_reciprocal(const Answers& answers, int64_t, Evidence& evidence) {
  observe_queries(answers, evidence, [](double rank) { return 1 / rank; });
}

constexpr TargetKinds kOf = kinds(TargetKind::partners, TargetKind::groups);

}  // namespace

extern constinit const MetricDef recall_metric_def{
    .name = "recall",
    .title = "recall",
    .doc = "share of texts whose nearest others by cosine (recall@10: ten of them) hold one that belongs to it",
    .targets = kOf,
    .is_share = true,
    .default_k = 1,
    .at_once = true,
    .observe = observe_recall,
    .value = mean_of};
extern constinit const MetricDef mrr_metric_def{
    .name = "mrr",
    .title = "mean reciprocal rank",
    .doc = "mean of 1 / rank, by cosine, of the first text that belongs to it",
    .targets = kOf,
    .at_once = true,
    .observe = observe_reciprocal,
    .value = mean_of};

}  // namespace hone
