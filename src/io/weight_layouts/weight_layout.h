// Quantized weights as other tools store them: some plain tensors, and words about them in config.json or in the file's
// metadata, that together mean one weight. A layout reads them as a packed tensor and writes one as them, bit for bit:
// the same codes, scales and zero points. To add one is to add a file here with a WeightLayoutDef.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ir/named_tensor.h"

namespace hone {

// What files hold, as layouts look at it.
struct StoredWeights {
  std::function<std::optional<Tensor>(const std::string& name)> find;           // none when absent
  std::function<std::optional<std::string>(const std::string& name)> metadata;  // of the files
  const Json& scheme;  // quantization_config of config.json; null without one

  Tensor get(const std::string& name, const std::string& why) const;  // Error naming the tensor when absent
};

// What a model's weights become.
struct WrittenWeights {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  Json scheme;                     // quantization_config; null when nothing is to be said
  std::vector<std::string> notes;  // what does not come back to the last bit, a sentence each
};

using HasTensor = std::function<bool(const std::string& name)>;

struct WeightLayoutDef {
  const char* name;
  const char* doc;

  // quant_method of the quantization_config of such models; several layouts may have one.
  const char* method;
  // Throws Error, which begins with `where`, for keys of that quantization_config that change what weights mean and
  // are not followed. Called where the method is this one.
  void (*check)(const Json& scheme, const std::string& where);

  // By the tensors that are there. At most one layout may say that `weight` is stored in it.
  bool (*recognises)(const std::string& weight, const HasTensor& has);
  // Throws Error that names the tensor at fault and what would be accepted.
  Tensor (*read)(const StoredWeights& stored, const std::string& weight, const std::vector<int64_t>& shape);
  // Packed and plain weights by name. Throws Error naming the weights whose formats it has no room for. nullptr: it is
  // only read.
  WrittenWeights (*write)(const std::map<std::string, Tensor>& weights) = nullptr;
};

// The layout that `weight` is stored in; nullptr: in none.
const WeightLayoutDef* weight_layout_of(const std::string& weight, const HasTensor& has);

const WeightLayoutDef& writable_layout(std::string_view name);  // Error with the known ones

// Throws Error for a quantization_config (of the file `source`) that no layout knows.
void check_scheme(const Json& scheme, const std::string& source);

}  // namespace hone
