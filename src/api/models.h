// Models, tokenizers and tasks of include/hone and those of the library.
#pragma once

#include <hone/model.h>

#include "jobs/load_model.h"
#include "jobs/task.h"
#include "tokenizers/tokenizer.h"

namespace hone::api {

struct Model::Impl {
  hone::Model model;
};
struct Tokenizer::Impl {
  hone::Tokenizer tokenizer;
};

inline const hone::Model& engine(const Model& model) { return model.impl()->model; }
Model wrapped(hone::Model model);
TaskContext context_of(const Task& task);

}  // namespace hone::api
