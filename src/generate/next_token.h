// Which token comes next, chosen from a model's logits. The definitions and their order are those of transformers'
// processors of logits: repeat penalty, temperature, top-k, top-p, min-p.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hone {

struct ChoiceOptions {
  double temperature = 0;     // logits are divided by it; 0: the largest logit is chosen, and nothing below counts
  int64_t top_k = 0;          // the k largest logits stay, and those equal to the last of them; 0: all
  double top_p = 1;           // the fewest tokens stay whose probabilities sum to at least this
  double min_p = 0;           // tokens stay whose probability is at least this share of the largest one
  double repeat_penalty = 1;  // logits of tokens that were there are divided by it if positive, else multiplied
};

// Throws Error naming the option whose value says nothing.
void check(const ChoiceOptions& options);

struct Candidate {
  int64_t id = 0;
  double probability = 0;
};

// The tokens that may come, with probabilities that sum to 1: the likeliest first, of equals the smaller id. Greedy:
// one.
//   logits    [vocabulary], of which none is NaN or +inf and one is finite
//   history   ids of prompt and answer so far, for the repeat penalty
// Throws Error naming the place of NaN or an infinity, and for ids of history beyond the vocabulary.
std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> history,
                                  const ChoiceOptions& options);

// The candidate in whose part of [0, 1) `at` lies, parts in the order of the candidates.
int64_t pick(std::span<const Candidate> candidates, double at);

// pick() at the random number that belongs to this seed and step, whatever else runs: Philox, keyed by the seed.
int64_t choose_token(std::span<const float> logits, std::span<const int64_t> history, const ChoiceOptions& options,
                     uint64_t seed, int64_t step);

// ln of the probability that the model itself gives a token: of softmax over all logits as they are.
double log_probability(std::span<const float> logits, int64_t id);

// The first logit that is NaN or +inf, as "NaN at token 3"; empty when there is none and one is finite.
std::string unusable_logit(std::span<const float> logits);

}  // namespace hone
