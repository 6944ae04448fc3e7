#include "jobs/load_model.h"

#include <filesystem>

#include "io/peft.h"
#include "jobs/lora.h"

namespace hone {

Model load_model(const std::string& path, const std::vector<std::string>& inputs, const std::string& format) {
  Model model = import_model(path, {.inputs = inputs, .format = format});
  if (model.is_folder() && std::filesystem::exists(std::filesystem::path(path) / kAdapterConfig))
    model.graph = with_adapters(model, read_peft(path));
  return model;
}

}  // namespace hone
