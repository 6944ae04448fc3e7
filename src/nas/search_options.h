// What hone search is asked for, as a program or another language gives it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "jobs/run_options.h"
#include "nas/search_model.h"

namespace hone {

struct SearchFlags : DataOptions, RunFlags {
  std::string model, model_format, config, space, data, storage = "memory", study, sampler, pruner, output;
  std::vector<std::string> objectives, budgets, sampler_options, pruner_options, inputs;
  std::optional<int64_t> trials, seed, rebuild;
  int64_t workers = 1;
  bool resume = false;
  // The texts that were given, by the names of options: of the data, where a configuration has the same keys, they win.
  std::map<std::string, std::vector<std::string>> given;

  SearchModelOptions typed() const;
  static std::span<const OptionField<SearchFlags>> fields();
};

}  // namespace hone
