// How a candidate is made: all that decides the bits of its file besides the model, the data and the seed.
#pragma once

#include <span>
#include <string>

#include "base/options.h"
#include "passes/pipelines.h"

namespace hone {

struct Recipe : QuantizeOptions {
  std::string compute = "f32";  // what products read activations in
  std::string prune;            // structure that is pruned first: heads, neurons or channels; empty: nothing is
  double sparsity = 0;          // share of it that goes
  // qat: trained against rounding to `to`; lora: adapters beside the rounded weights; weights: all of them, before they
  // are rounded. Empty: nothing is trained.
  std::string train;
  int64_t steps = 0;  // of the training
};
std::span<const OptionField<Recipe>> recipe_fields();

bool is_trained(const Recipe& recipe);
std::string name_of(const Recipe& recipe);      // "mxint4, gptq, bf16"
std::string recipe_text(const Recipe& recipe);  // the TOML lines that state it
bool is_given(const Recipe& recipe);            // it says what is to be made

}  // namespace hone
