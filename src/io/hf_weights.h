// The weights of a Hugging Face folder: one safetensors file or shards with an index, looked up by name as a model
// builder asks for them, with a record of what was used, missing or of another shape.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/safetensors.h"
#include "io/weight_layouts/weight_layout.h"

namespace hone {

class HfWeights {
 public:
  // Opens a file, or of a folder model.safetensors or the shards of model.safetensors.index.json. Throws Error when
  // there are none, with the one-line conversion when there is a pickle. prefix: what may stand before the
  // names ("bert"), "" for nothing.
  // scheme: quantization_config of config.json, null without one.
  HfWeights(const std::string& path, std::string prefix, Json scheme = {});

  std::vector<std::string> names() const;   // sorted
  bool has(const std::string& name) const;  // under any of the spellings that tensor() tries
  std::vector<std::string> paths() const;   // of the files

  // Keys that say the sizes of tensors, for messages: config.json.
  void set_config(const Json& config) { config_ = config; }

  // The tensor a builder asks for, in the dtype of the file, f64 as f32; marks it as used. Names are also tried with
  // and without the prefix in front ("bert."), and with gamma and beta for weight and bias, as older files have them. A
  // missing tensor or another shape is recorded and answered with zeros, so that one run of a builder finds all of
  // them; check_complete() tells. A weight in one of the weight layouts is a packed tensor.
  Tensor tensor(const std::string& name, const std::vector<int64_t>& shape);

  // What builders asked for, and under which name it was found where that is another.
  const std::map<std::string, std::string>& stored_names() const { return stored_names_; }

  void check_complete() const;              // throws one Error that lists every missing tensor and wrong shape
  std::vector<std::string> unused() const;  // tensors of the files that nobody asked for, sorted

 private:
  struct Place {
    size_t file;
    bool used = false;
  };
  void open_shards(const std::string& index_path);
  void add_file(const std::string& path);
  const WeightLayoutDef* layout_of(const std::string& name) const;  // nullptr: not stored in one
  std::optional<Tensor> find(const std::string& name);              // marks it as used
  Tensor quantized(const WeightLayoutDef& layout, const std::string& name, const std::vector<int64_t>& shape);
  std::string keys_of(const std::vector<int64_t>& found, const std::vector<int64_t>& asked) const;
  void wrong(std::string line);  // throws when there are many
  Tensor placeholder(const std::vector<int64_t>& shape);

  std::string path_, prefix_;
  Json scheme_, config_ = Json::object();
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place, std::less<>> places_;
  std::map<std::string, std::string> stored_names_;
  std::vector<std::string> wrong_;  // one line each
  int64_t placeholder_bytes_ = 0;
};

// What may stand before the names of an encoder's weights, its base_model_prefix in transformers: the configuration's
// model type without its version, "deberta" of deberta-v2, but for a few. "" where the configuration names no type.
std::string weight_prefix(const Json& config);

// Throws Error with the one-line conversion when the path names a pickle by its ending (.bin .pt .pth .pkl .ckpt).
void refuse_pickle(const std::string& path);

}  // namespace hone
