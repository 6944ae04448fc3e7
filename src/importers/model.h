// A model as tasks have it: its graph, what rides along with it, and where it came from. Importers make it
// (importer.h), exporters write it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "ir/graph.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {

inline constexpr const char* kConfigFile = "config.json";  // of a Hugging Face model: its family and sizes

// The files that ride along with a model, by name: its tokenizer, its configuration, and others.
struct ModelFiles : NamedFiles {
  using NamedFiles::NamedFiles;
  ModelFiles(NamedFiles files) : NamedFiles(std::move(files)) {}

  NamedFiles tokenizer() const;  // vocabulary and settings; empty where no vocabulary is there
  NamedFiles others() const;     // neither of the tokenizer nor the configuration
  // Of kConfigFile; null where there is none. `source` begins errors.
  Json config(const std::string& source) const;
};

// Where a model came from.
struct Provenance {
  std::string path, name;                           // name: last part of the path, for tables
  std::string importer;                             // what read it (importer.h); empty: it was made in memory
  std::vector<std::string> weight_files;            // that hold its weights
  int64_t file_bytes = 0;                           // of these
  std::map<std::string, std::string> stored_names;  // what they call a constant, where that is another name
  std::vector<std::string> unused;                  // their tensors that no part of the graph reads

  std::string sha256() const;  // of the weight files
  // Whether what rides along lies beside the weights, in files of its own.
  bool is_folder() const;
};

// What its classes are called, and how its images and sounds become inputs, is in class_names.h, image_metadata.h and
// sound_metadata.h.
struct Model : Provenance {
  Graph graph;
  ModelFiles files;
  NamedFiles objects;      // machine code that rides along (hone compile), by its file's name
  int64_t max_length = 0;  // tokens that texts are cut to, whatever its metadata say; 0: unset
};

constexpr std::string_view kObjectFiles = "objects.";  // begins the names of such files; the level follows

}  // namespace hone
