// The layout of the Large Movie Review Dataset (aclImdb): train/pos/*.txt, train/neg/*.txt, test/pos, test/neg, a text
// a file. Files are read in the order of their names. <br />, which those texts have in place of line ends, becomes
// one.
#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/stop.h"
#include "data/folder_files.h"
#include "data/reader.h"
#include "data/text_lines.h"

namespace hone {
namespace {

constexpr const char* kSplits[] = {"train", "test"};
constexpr const char* kClasses[] = {"neg", "pos"};

bool recognises(const std::string& path) {
  return std::ranges::all_of(kClasses, [&](const char* name) {
    return std::filesystem::is_directory(std::filesystem::path(path) / kSplits[0] / name);
  });
}

std::string without_breaks(std::string text) {
  constexpr std::string_view kBreak = "<br />";
  for (size_t at = 0; (at = text.find(kBreak, at)) != std::string::npos; ++at) text.replace(at, kBreak.size(), 1, '\n');
  return text;
}

void add_folder(Dataset& data, ClassLabels& labels, Split& split, const std::string& folder, int64_t label) {
  const std::vector<std::string> files =
      files_of(folder, [](const std::string& name) { return name.ends_with(".txt"); });
  if (files.empty()) fail("{}: has no .txt files", folder);
  for (const std::string& file : files) {
    check_stop();
    data.texts.push_back(without_breaks(std::string(checked_text(read_file(file, kMostLineBytes), file))));
    labels.ids.push_back(label);
    split.rows.push_back(data.rows++);
    data.origins.push_back({static_cast<int32_t>(data.files.size()), 0});
    data.files.push_back(file);
  }
}

Dataset read(const std::string& path, const DataOptions&) {
  Dataset data{.path = path, .label_column = "folder"};
  ClassLabels labels{.names = {std::begin(kClasses), std::end(kClasses)}};
  for (const char* name : kSplits) {
    const std::string folder = path + "/" + name;
    if (!std::filesystem::is_directory(folder)) continue;  // a part of the data may be all there is
    Split split{name, {}};
    for (size_t label = 0; label < std::size(kClasses); ++label)
      add_folder(data, labels, split, folder + "/" + kClasses[label], static_cast<int64_t>(label));
    data.splits.push_back(std::move(split));
  }
  data.labels = std::move(labels);
  return data;
}

}  // namespace

extern constinit const ReaderDef aclimdb_def{
    .name = "aclimdb",
    .doc = "a folder with train/ and test/, in each of them pos/ and neg/ with a text a file",
    .example = "aclImdb/",
    .options = {},
    .recognises = recognises,
    .read = read};

}  // namespace hone
