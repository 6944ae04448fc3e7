// hone export --layout: a model as a Hugging Face folder whose packed weights lie as another tool stores them
// (io/weight_layouts/).
#pragma once

#include <string>

#include "jobs/load_model.h"
#include "report/record.h"

namespace hone {

struct FolderExport {
  std::string path;    // of the folder, which must not exist
  std::string layout;  // compressed-tensors, mxfp4 or torchao
  std::string packed;  // a file of hone's whose packed weights take the place of the model's; "": those of the model
  std::string command;
};

// Writes the folder and reads it back: every weight must come out as it went in. Throws Error, and leaves no folder,
// when a format has no room in the layout, when there is no configuration, or when weights lack that it asks for.
Record export_folder(const LoadedModel& model, const FolderExport& options);

}  // namespace hone
