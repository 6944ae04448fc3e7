// An importer makes a Model of files of one kind. To add one is to add a file to importers/ with an ImporterDef.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "importers/model.h"

namespace hone {

// How sure an importer is that files are of its kind.
enum class Certainty : uint8_t {
  none,
  possible,  // nothing speaks against it: a folder, for a kind that is one
  likely,    // the name says so, or the first bytes fit
  certain    // the content says so: a magic number, a file that only this kind has
};

// What importers look at before anything is read.
struct ImportCandidate {
  std::string path;
  bool is_folder = false;
  std::string first_bytes;  // of a file: at most kFirstBytes

  static constexpr size_t kFirstBytes = 4096;
  bool has(const char* name) const;  // whether a folder has such a file
};

struct ImportOptions {
  std::vector<std::string> inputs = {};  // what the graph takes; empty: what the files say, or the family's default
  std::string format = {};               // name of an importer; empty: the one that is surest
};

struct ImporterDef {
  const char* name;
  const char* doc;
  const char* needs;         // completes "give …" in messages; empty: nothing that one could give
  const char* endings = "";  // of such files' names, with a space between: ".onnx"

  Certainty (*recognises)(const ImportCandidate& candidate);

  // Sets the graph, files, objects, weight_files, stored_names and unused; the caller sets the rest. Bytes are foreign:
  // each size is checked before it is multiplied, allocated or indexed. Throws Error that names file and place, what
  // was found and what would be accepted; also for options.inputs where the files fix them.
  Model (*read)(const std::string& path, const ImportOptions& options);
};

// The importer that `format` names, else the surest. Throws Error: nothing there; no importer of that name; none that
// recognises the path, with what was found and what would be accepted; two that are equally sure, which `format`
// decides.
const ImporterDef& importer_of(const std::string& path, const std::string& format = {});

Model import_model(const std::string& path, const ImportOptions& options = {});

// Whether a text ends as the name of a model's file does.
bool has_model_ending(std::string_view path);

}  // namespace hone
