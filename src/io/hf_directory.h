// A model folder as Hugging Face libraries write it: config.json, weights in safetensors (one file or shards),
// tokenizer files, and for sentence encoders modules.json with the pooling. Pickled weights are refused: reading a
// pickle runs its code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/hf_weights.h"
#include "io/tokenizer_files.h"

namespace hone {

class HfDirectory {
 public:
  // Reads the small files and opens the weights. Throws Error naming what is missing or malformed.
  explicit HfDirectory(const std::string& path);

  const std::string& path() const { return path_; }
  const Json& config() const { return config_; }
  std::string config_path() const;  // for errors about the configuration
  bool is_sentence_encoder() const { return !pooling_.is_null(); }
  const Json& pooling() const { return pooling_; }  // the Pooling module's config.json; null without one
  bool normalise() const { return normalise_; }     // modules.json has a Normalize module
  // Of config_sentence_transformers.json: an object of texts by name; and the one that stands before every text, "" for
  // none.
  const Json& prompts() const { return prompts_; }
  const std::string& default_prompt() const { return default_prompt_; }
  const TokenizerFiles& tokenizer() const { return tokenizer_; }
  // Of decoders: generation_config.json, an object; and the text of the template that makes conversations one text, ""
  // for none.
  const Json& generation() const { return generation_; }
  std::string generation_path() const;
  const std::string& chat_template() const { return chat_template_; }

  HfWeights& weights() { return weights_; }
  // What a model builder takes (WeightSource of models/registry.h): weights().tensor. Refers to this object. Call
  // weights().check_complete() when the builder is done.
  std::function<Tensor(const std::string&, const std::vector<int64_t>&)> weight_source();

 private:
  std::string path_;
  Json config_, pooling_, prompts_ = Json::object(), generation_ = Json::object();
  std::string default_prompt_, chat_template_;
  bool normalise_ = false;
  TokenizerFiles tokenizer_;
  HfWeights weights_;
};

}  // namespace hone
