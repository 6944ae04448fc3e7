// Files that ride along with a model, in the metadata of its graph: where a file of another kind has room for texts.
#pragma once

#include <string>

#include "ir/graph.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {

// Whether such a file is written into metadata: all but the configuration, which is of a family of models.
bool rides_in_metadata(const std::string& file);

// With these files as metadata, as ONNX has them.
Graph with_tokenizer(Graph graph, const NamedFiles& files);

}  // namespace hone
