// A training run between two steps, as one safetensors file written whole: tensors by their names, and in its metadata
//   hone.checkpoint   version of this layout, "1"
//   hone.model        SHA-256 of the model that training began with
//   hone.options      what was asked for, as text: what decides the bits of later steps
//   hone.progress     JSON: how far it is
//   hone.checksum     XXH3 of all tensors with their names, and of the texts above
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "ir/tensor.h"

namespace hone {

struct Checkpoint {
  std::string model, options;
  Json progress;
  std::map<std::string, Tensor> tensors;
};

// Throws Error when it can't be written, or a tensor holds what is no number: what was there before stays then.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Its bytes in memory of its own; pages of a mapped file that they come from go back to the system on the way.
Tensor own_copy(const Tensor& tensor);

// Tensors are in the file, mapped. Throws Error for a file that is none, is truncated or changed, or was written by a
// newer hone.
Checkpoint load_checkpoint(const std::string& path);

// Throws Error unless it is of this model and these options: names the first line of the options that differs.
void check_resumable(const std::string& path, const Checkpoint& checkpoint, const std::string& model,
                     const std::string& options);

}  // namespace hone
