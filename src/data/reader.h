// A reader turns files of one format into a Dataset. To add one is to add a file to readers/ with a ReaderDef.
#pragma once

#include <span>
#include <string>

#include "data/data_options.h"
#include "data/dataset.h"

namespace hone {

struct ReaderDef {
  const char* name;
  const char* doc;                       // what the files hold, and how they are laid out
  const char* example;                   // of a path
  std::span<const char* const> options;  // of DataOptions, those that it takes; others are errors

  // By the path, what the folder holds or how the file begins. At most one reader may say yes to what is there.
  bool (*recognises)(const std::string& path);

  // All of the data, with the splits that it states, or only images that are read later. Throws Error that names file
  // and line, or byte, and what was found.
  Dataset (*read)(const std::string& path, const DataOptions& options);
};

// Reads by the reader that `options` names or that recognises the path, adds the rows of further files, and splits.
// Throws Error: nothing there, no reader for it (lists them), options that the reader does not take, no rows.
Dataset read_dataset(const std::string& path, const DataOptions& options = {});

}  // namespace hone
