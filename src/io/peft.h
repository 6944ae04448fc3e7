// Adapters as Hugging Face's PEFT keeps them: a folder with adapter_config.json, which has rank, alpha and what is
// adapted, and adapter_model.safetensors, whose tensors are called base_model.model.<module>.lora_A.weight and so on.
// https://huggingface.co/docs/peft, checkpoint format.
#pragma once

#include <string>
#include <vector>

#include "io/safetensors.h"
#include "passes/compress/lora.h"

namespace hone {

constexpr const char* kAdapterConfig = "adapter_config.json";

struct PeftAdapters {
  std::vector<AdapterTensors> adapters;  // layers are called as modules
  std::vector<NamedTensor> saved;        // tensors of modules that were trained whole beside them (modules_to_save)
  std::vector<NamedTensor> biases;       // of other layers, trained with the adapters (bias: all, lora_only)
  double dropout = 0;
  bool rslora = false;
};

// Throws Error that names the file and what is missing, of the wrong type or of no use here; a pickle is refused.
PeftAdapters read_peft(const std::string& folder);

// Makes the folder, which must not be there. Throws Error where a module has an adapter and is trained whole.
void write_peft(const std::string& folder, const PeftAdapters& adapters);

}  // namespace hone
