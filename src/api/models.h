// Models, tokenizers and tasks of include/hone and those of the library.
#pragma once

#include <hone/model.h>

#include "jobs/load_model.h"
#include "jobs/task.h"
#include "tokenizers/tokenizer.h"

namespace hone::api {

struct Model::Impl {
  Model model;
};
struct Tokenizer::Impl {
  hone::Tokenizer tokenizer;
};

inline const Model& engine(const Model& model) { return model.impl()->model; }
Model wrapped(Model model);
TaskContext context_of(const Task& task);

}  // namespace hone::api
