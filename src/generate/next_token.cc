#include "generate/next_token.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

// The penalty of CTRL (Keskar et al., 2019), as transformers has it: once for each token, however often it was there.
std::vector<double> penalised(std::span<const float> logits, std::span<const int64_t> history, double penalty) {
  std::vector<double> values(logits.begin(), logits.end());
  if (penalty == 1) return values;
  for (int64_t id : history) {
    if (id < 0 || id >= std::ssize(logits))
      fail("token {} is beyond the {} tokens of the model's vocabulary", id, logits.size());
    const double logit = logits[static_cast<size_t>(id)];
    values[static_cast<size_t>(id)] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return values;
}

bool likelier(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

// Makes probabilities of logits, in place; softmax with the maximum subtracted first.
void soften(std::vector<Candidate>& all) {
  double most = all.front().probability, sum = 0;
  for (const Candidate& each : all) most = std::max(most, each.probability);
  for (Candidate& each : all) sum += each.probability = std::exp(each.probability - most);
  for (Candidate& each : all) each.probability /= sum;
}

void normalise(std::vector<Candidate>& all) {
  double sum = 0;
  for (const Candidate& each : all) sum += each.probability;
  for (Candidate& each : all) each.probability /= sum;
}

void keep_top_k(std::vector<Candidate>& all, int64_t k) {
  if (k == 0 || k >= std::ssize(all)) return;
  std::nth_element(all.begin(), all.begin() + (k - 1), all.end(), likelier);
  const double last = all[static_cast<size_t>(k - 1)].probability;
  std::erase_if(all, [&](const Candidate& each) { return each.probability < last; });
}

// Nucleus sampling (Holtzman et al., 2020), of sorted candidates.
void keep_top_p(std::vector<Candidate>& all, double p) {
  if (p >= 1) return;
  double sum = 0;
  size_t kept = 0;
  while (kept < all.size() && (kept == 0 || sum < p)) sum += all[kept++].probability;
  all.resize(kept);
  normalise(all);
}

// Of sorted candidates. Nguyen et al., "Min-p sampling" (2024).
void keep_min_p(std::vector<Candidate>& all, double p) {
  if (p <= 0) return;
  const double least = p * all.front().probability;
  std::erase_if(all, [&](const Candidate& each) { return each.probability < least; });
  normalise(all);
}

}  // namespace

constexpr double kLeastTemperature = 1e-6;

void check(const ChoiceOptions& options) {
  const auto within = [](const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most))
      fail("option {}: expected a number from {} to {}, found {}", name, least, most, value);
  };
  within("temperature", options.temperature, 0, 100);
  if (options.temperature > 0 && options.temperature < kLeastTemperature)  // logits over it are not finite
    fail("option temperature: {} is too small; 0 chooses the largest logit, and others are at least {}",
         options.temperature, kLeastTemperature);
  within("top-p", options.top_p, 0, 1);
  within("min-p", options.min_p, 0, 1);
  within("repeat-penalty", options.repeat_penalty, 0.01, 100);
  if (options.top_k < 0) fail("option top-k: expected an integer from 0, found {}", options.top_k);
}

std::string unusable_logit(std::span<const float> logits) {
  bool any = false;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id])) return fmt::format("NaN at token {}", id);
    if (logits[id] == std::numeric_limits<float>::infinity()) return fmt::format("inf at token {}", id);
    any |= std::isfinite(logits[id]);
  }
  return any ? "" : "no finite one";
}

std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> history,
                                  const ChoiceOptions& options) {
  check(options);
  if (const std::string found = unusable_logit(logits); !found.empty()) fail("logits can't be chosen from: {}", found);
  const std::vector<double> values = penalised(logits, history, options.repeat_penalty);
  if (options.temperature == 0) return {{std::ranges::max_element(values) - values.begin(), 1}};
  std::vector<Candidate> all(values.size());
  for (size_t id = 0; id < values.size(); ++id) all[id] = {static_cast<int64_t>(id), values[id] / options.temperature};
  keep_top_k(all, options.top_k);
  soften(all);
  std::ranges::sort(all, likelier);
  keep_top_p(all, options.top_p);
  keep_min_p(all, options.min_p);
  return all;
}

int64_t pick(std::span<const Candidate> candidates, double at) {
  double end = 0;
  const Candidate* last = &candidates.front();
  for (const Candidate& each : candidates) {
    if (each.probability <= 0) break;
    last = &each;
    end += each.probability;
    if (at < end) break;
  }
  return last->id;
}

int64_t choose_token(std::span<const float> logits, std::span<const int64_t> history, const ChoiceOptions& options,
                     uint64_t seed, int64_t step) {
  return pick(candidates(logits, history, options), Philox(seed, static_cast<uint64_t>(step)).uniform());
}

double log_probability(std::span<const float> logits, int64_t id) {
  if (id < 0 || id >= std::ssize(logits))
    fail("token {} is beyond the {} tokens of the model's vocabulary", id, logits.size());
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return static_cast<double>(logits[static_cast<size_t>(id)]) - most - std::log(sum);
}

}  // namespace hone
