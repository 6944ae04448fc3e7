// hone export --layout: a model as a Hugging Face folder whose packed weights lie as another tool stores them
// (io/weight_layouts/).
#pragma once

#include <string>
#include <vector>

#include "jobs/file_facts.h"
#include "jobs/load_model.h"
#include "measure/environment.h"

namespace hone {

struct FolderExport {
  std::string path;    // of the folder, which must not exist
  std::string layout;  // compressed-tensors, mxfp4 or torchao
  std::string packed;  // a file of hone's whose packed weights take the place of the model's; "": those of the model
};

struct FormatWeights {
  std::string format;
  int64_t weights = 0, bytes = 0;
};

struct FolderResult {
  std::string name, path, layout;
  std::vector<FormatWeights> weights;  // by format
  std::vector<std::string> notes;      // what one should know of the folder
  FileFacts source, written;           // written: the file of the weights
  Environment environment;
};

// Writes the folder and reads it back: every weight must come out as it went in. Throws Error, and leaves no folder,
// when a format has no room in the layout, when there is no configuration, or when weights lack that it asks for.
FolderResult export_folder(const Model& model, const FolderExport& options);

}  // namespace hone
