// hone's own model file: one safetensors file that any safetensors reader opens and that runs alone.
//   metadata  "hone.version"        version of this layout, "1", or "2" where a tensor is stored as a bitmap and values
//             "hone.graph"          the graph as text (ir/text.h)
//             "hone.tensor.<name>"  {"format", "shape"} of each packed tensor, and {"shape", "fill"} of one that is
//                                   stored as a bitmap and values (sparse_storage.h)
//   tensors   <name>                plain constants of the graph and of the bodies in it, in their own dtype
//             <name>.codes .scales .zero_points .global   planes of a packed one, U8, those that its format has
//             <name>.bitmap .values   the elements of a plain one, or in place of .codes
//             hone.file.<name>      files that ride along (tokenizer.json, config.json, labels), U8
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace hone {

struct Artefact {
  Graph graph;                               // its constants share the file's mapping
  std::map<std::string, std::string> files;  // by name, e.g. "tokenizer.json"
};

// The graph as save_artefact writes it: each constant, those of bodies among them, has a label of its own in the file
// or is small enough for the text. `path` begins errors.
Graph as_stored(Graph graph, const std::string& path);

// Of the graph's metadata: "sparse" where constants are stored as a bitmap and values where that is smaller, now and
// whenever the model is written again.
constexpr const char* kStoreKey = "store";
constexpr const char* kSparse = "sparse";

// Writes atomically. Loading gives the same graph text and the same bits in every constant.
void save_artefact(const std::string& path, const Graph& graph, const std::map<std::string, std::string>& files = {});

// Throws Error for a file that is not an artefact, is damaged, or was written by a newer hone.
Artefact load_artefact(const std::string& path);

// Whether the path is a safetensors file that hone wrote. False for a folder and for files of another kind; throws
// Error when the file can't be read or is a damaged safetensors file.
bool is_artefact(const std::string& path);

}  // namespace hone
