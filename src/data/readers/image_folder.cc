// Images in a folder of each class, as torchvision's ImageFolder has them: <root>/<class>/*.png or .jpg; or with splits
// above the classes: <root>/train/<class>/…, <root>/test/<class>/…. A file is decoded when its row is asked for.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/error.h"
#include "data/class_table.h"
#include "data/folder_files.h"
#include "data/reader.h"
#include "io/image.h"

namespace hone {
namespace {

bool is_split(const std::string& folder) {
  const std::string name = split_name(name_of(folder));
  return name == "train" || name == "validation" || name == "test";
}

// Folders of splits, or the folder itself.
std::vector<std::string> roots_of(const std::string& path) {
  const std::vector<std::string> folders = folders_of(path);
  return !folders.empty() && std::ranges::all_of(folders, is_split) ? folders : std::vector{path};
}

bool recognises(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return false;
  for (const std::string& root : roots_of(path))
    for (const std::string& folder : folders_of(root))
      if (!files_of(folder, has_image_ending).empty()) return true;
  return false;
}

Dataset read(const std::string& path, const DataOptions& options) {
  Dataset data;
  ClassLabels labels;
  ClassTable classes(options.classes);
  for (const std::string& root : roots_of(path)) {
    Split split{split_name(name_of(root)), {}};
    for (const std::string& folder : folders_of(root)) {
      const int64_t label = classes.id(name_of(folder));
      for (std::string& file : files_of(folder, has_image_ending)) {
        if (label == kIgnoredLabel) labels.unknown.emplace_back(data.rows, name_of(folder));
        labels.ids.push_back(label);
        split.rows.push_back(data.rows);
        data.origins.push_back({static_cast<int32_t>(data.rows++), 0});
        data.files.push_back(std::move(file));
      }
    }
    if (root != path) data.splits.push_back(std::move(split));
  }
  if (data.rows == 0)
    fail("{}: has no folders with .png, .jpg or .jpeg files; a folder for each class is expected", path);
  const std::vector<int64_t> place = classes.renumber();
  for (int64_t& id : labels.ids)
    if (id != kIgnoredLabel) id = place[static_cast<size_t>(id)];
  labels.names = classes.names();
  data.path = path;
  data.label_column = "folder";
  data.labels = std::move(labels);
  data.images = {options.channels,
                 [files = std::make_shared<const std::vector<std::string>>(data.files), channels = options.channels](
                     int64_t row) { return read_image((*files)[static_cast<size_t>(row)], channels); }};
  return data;
}

constexpr const char* kOptions[] = {"classes", "channels"};

}  // namespace

extern constinit const ReaderDef images_def{
    .name = "images",
    .doc = "a folder of .png and .jpg files for each class, or such folders in train/, validation/ and test/",
    .example = "flowers/",
    .options = kOptions,
    .recognises = recognises,
    .read = read};

}  // namespace hone
