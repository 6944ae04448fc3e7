#include "exporters/carried_files.h"

#include <algorithm>

#include "importers/model.h"
#include "io/tokenizer_files.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

// Its vocab.txt is not read as those of other classes are.
bool is_mpnet(const NamedFiles& files, const std::string& source) {
  return read_tokenizer_settings(files, source).tokenizer_class == "MPNetTokenizer";
}

bool is_vocabulary(const std::string& name) {
  return std::ranges::any_of(kTokenizerSets,
                             [&](const auto& set) { return name == set[0] || (set[1] && name == set[1]); });
}

}  // namespace

bool rides_in_metadata(const std::string& file) { return file != kConfigFile; }

// Metadata of ONNX is text, and config.json stays behind, which may name the class of older files of a tokenizer: those
// go as the tokenizer.json that they stand for.
Graph with_tokenizer(Graph graph, const NamedFiles& files) {
  const bool is_older = has_tokenizer(files) && !files.contains(kTokenizerJson) &&
                        (!files.contains(kVocabTxt) || is_mpnet(files, graph.name));
  for (const auto& [name, content] : files)
    if (rides_in_metadata(name) && !(is_older && is_vocabulary(name))) graph.metadata[kCarriedFile + name] = content;
  if (is_older) graph.metadata[std::string(kCarriedFile) + kTokenizerJson] = tokenizer_json_of(files, graph.name);
  return graph;
}

}  // namespace hone
