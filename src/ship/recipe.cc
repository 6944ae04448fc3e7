#include "ship/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/option_tables.h"

namespace hone {
namespace {

void check_compute(const std::string& text) { parse_compute(text); }
std::vector<std::string> structures() { return {"heads", "neurons", "channels"}; }
std::vector<std::string> trainings() { return {"qat", "lora", "weights"}; }

constexpr OptionField<Recipe> kOwn[] = {
    {"compute", "what products read activations in: f32 or bf16", &Recipe::compute, check_compute},
    {.name = "prune",
     .doc = "structure that is pruned first",
     .member = &Recipe::prune,
     .traits = {.choices = structures}},
    {.name = "sparsity",
     .doc = "share of it that goes",
     .member = &Recipe::sparsity,
     .traits = {.least = 0, .most = 1}},
    {.name = "train", .doc = "what is trained", .member = &Recipe::train, .traits = {.choices = trainings}},
    {.name = "steps", .doc = "steps of that training", .member = &Recipe::steps, .traits = {.least = 0, .most = 1e9}}};

}  // namespace

std::span<const OptionField<Recipe>> recipe_fields() {
  static const auto all = joined_fields<Recipe>(quantize_fields(), kOwn);
  return all;
}

bool is_trained(const Recipe& recipe) { return !recipe.train.empty(); }

bool is_given(const Recipe& recipe) { return !recipe_text(recipe).empty(); }

std::string recipe_text(const Recipe& recipe) { return options_toml(recipe_fields(), recipe); }

std::string name_of(const Recipe& r) {
  std::vector<std::string> words;
  if (!r.prune.empty()) words.push_back(fmt::format("{:g} % of {} pruned", 100 * r.sparsity, r.prune));
  if (!r.rule.empty()) words.push_back(fmt::format("mixed, {} tensors", r.rule.size()));
  else if (!r.to.empty()) words.push_back(r.to);
  if (!r.activations.empty()) words.push_back("inputs in " + r.activations);
  if (r.awq_scaling) words.emplace_back("awq");
  if (r.method != QuantizeOptions().method) words.push_back(r.method);
  if (r.train == "weights") words.push_back(fmt::format("{} steps of training", r.steps));
  else if (is_trained(r)) words.push_back(fmt::format("{} steps of {}", r.steps, r.train));
  if (words.empty()) words.emplace_back("as it is");
  words.push_back(r.compute);
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace hone
