// hone train from file to file, as its verb does it: a model is opened, trained, and written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/train_model.h"

namespace hone::test {

struct FileTraining : TrainModelOptions {
  std::string model, output;
  std::vector<std::string> inputs;
  TaskContext context = {};
};

inline TrainedModel train_file(FileTraining options, std::vector<std::string>* said = nullptr) {
  if (options.folder.empty()) options.folder = run_folder(options.output);
  if (said) options.context.warn = [said](const std::string& line) { said->push_back(line); };
  const Model original = load_model(options.model, options.inputs);
  TrainedModel trained = train_model(original, options, options.context);
  save_trained(options.output, trained, original);
  return trained;
}

}  // namespace hone::test
