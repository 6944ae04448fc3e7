// adapter_config.json of PEFT: what it says of the tensors beside it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/regex.h"

namespace hone {

// Numbers of single modules: keys are regular expressions that a module's name ends in.
class ModuleNumbers {
 public:
  ModuleNumbers(const Json& config, const char* key, double usual, const std::string& source);
  double of(const std::string& module) const;

 private:
  double usual_;
  std::vector<std::pair<Regex, double>> entries_;
};

struct PeftConfig {
  ModuleNumbers alphas;
  double dropout = 0;
  bool rslora = false, dora = false;
  bool trains_biases = false;              // bias is "all" or "lora_only"
  std::vector<std::string> saved_modules;  // modules_to_save: ends of names
};

// Throws Error that names the file and a key that is missing, of the wrong type, or changes what adapters compute in a
// way that is not read.
PeftConfig read_peft_config(const std::string& path);

}  // namespace hone
