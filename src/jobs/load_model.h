// Opens whatever a user calls a model: a Hugging Face folder, an ONNX file, or a file that hone wrote.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct LoadedModel {
  std::string path, name;  // name: last part of the path, for tables
  Graph graph;
  std::map<std::string, std::string> files;         // what rides along: tokenizer.json or vocab.txt, config.json
  std::map<std::string, std::string> objects;       // machine code that rides along (hone compile), by its file's name
  std::map<std::string, std::string> stored_names;  // what its files call a constant, where that is another name
  std::vector<std::string> unused;                  // tensors of the source that no part of the graph reads
  int64_t file_bytes = 0;                           // of the weights' files
  int64_t max_length = 0;                           // tokens that texts are cut to, whatever its metadata say; 0: unset
  std::string sha256() const;                       // of the weights' files
  std::vector<std::string> weight_files;
};

constexpr std::string_view kObjectFiles = "objects.";  // begins the names of such files; the level follows

// `inputs` chooses what the graph takes (--inputs); empty: the architecture's default. An artefact takes what it was
// written with. Throws Error that says what was found and what would be accepted.
LoadedModel load_model(const std::string& path, const std::vector<std::string>& inputs = {});

}  // namespace hone
