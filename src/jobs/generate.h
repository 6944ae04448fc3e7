// hone generate: answers of a language model to prompts, token by token.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generate/text_generator.h"
#include "jobs/load_model.h"
#include "jobs/run_options.h"
#include "jobs/task.h"

namespace hone {

struct GenerateOptions : RunFlags {
  int64_t max_tokens = 256, top_k = 0, context = 0, sequences = 1;
  double temperature = 0, top_p = 1, min_p = 0, repeat_penalty = 1;
  uint64_t seed = 1;
  std::vector<std::string> stop;
  bool truncate = false, chat = false;
  std::string system, kv_cache = "f32";
  static std::span<const OptionField<GenerateOptions>> fields();
};

struct GenerateResult {
  std::string model, compute, kv_cache;  // types that products read and the cache holds: "f32", "bf16", "int8.g64"
  bool chat = false;
  std::vector<GeneratedText> answers;  // one a prompt
};

// A model made ready once, for any number of prompts.
class Answers {
 public:
  // Throws Error for a model that is no decoder, has no tokenizer, or with --chat no template.
  Answers(const Model& model, const GenerateOptions& options);
  ~Answers();
  Answers(Answers&&) noexcept;

  // Of prompts that have nothing to do with each other. Where work is to end, answers have what there is until then.
  GenerateResult answer(std::span<const std::string> prompts, const OnToken& on_token = {},
                        const TaskContext& context = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

GenerateResult generate(const Model& model, std::span<const std::string> prompts, const GenerateOptions& options,
                        const OnToken& on_token = {}, const TaskContext& context = {});

}  // namespace hone
