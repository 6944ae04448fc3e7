// The IDX files of MNIST and of what follows its layout (Debian's dataset-fashion-mnist): a file of images,
// <name>-images-idx3-ubyte, and one of labels, <name>-labels-idx1-ubyte; either may be gzip. A folder has several such
// pairs: "t10k" and "test" are the test, "train" is what is trained on. A header is 0, 0, the type, the number of axes,
// and then their sizes, 32 bits with the highest first (http://yann.lecun.com/exdb/mnist).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "base/checked.h"
#include "data/append_rows.h"
#include "data/file_pieces.h"
#include "data/folder_files.h"
#include "data/numbered_labels.h"
#include "data/reader.h"
#include "data/readers/parse.h"

namespace hone {
namespace {

constexpr std::string_view kImages = "images", kImageAxes = "idx3", kLabels = "labels", kLabelAxes = "idx1";

struct Header {
  std::vector<int64_t> sizes;
  size_t bytes = 0;
};

// Of a file of bytes that has exactly as many as its sizes say.
Header read_header(std::span<const std::byte> bytes, size_t axes, const std::string& source) {
  const auto at = [&](size_t i) { return std::to_integer<int64_t>(bytes[i]); };
  constexpr int64_t kUnsignedBytes = 8;
  if (bytes.size() < 4 || at(0) != 0 || at(1) != 0)
    fail("{}: not an IDX file, which begins with two zero bytes, a type and a number of axes", source);
  if (at(2) != kUnsignedBytes) fail("{}: elements of type 0x{:02x}; unsigned bytes (0x08) are read", source, at(2));
  if (at(3) != static_cast<int64_t>(axes)) fail("{}: has {} axes; {} are expected", source, at(3), axes);
  Header header{.sizes = {}, .bytes = 4 + 4 * axes};
  if (bytes.size() < header.bytes) fail("{}: its header is cut short at byte {}", source, bytes.size());
  for (size_t i = 4; i < header.bytes; i += 4)
    header.sizes.push_back(at(i) << 24 | at(i + 1) << 16 | at(i + 2) << 8 | at(i + 3));
  const int64_t stated = checked_product(header.sizes);
  const auto held = static_cast<int64_t>(bytes.size() - header.bytes);
  if (held != stated)
    fail("{}: {} values are stated ({}), but {} bytes follow the header; it may be cut short", source, stated,
         fmt::join(header.sizes, " x "), held);
  return header;
}

std::string labels_beside(const std::string& images) {
  std::string name = name_of(images);
  for (const auto& [from, to] : {std::pair{kImages, kLabels}, std::pair{kImageAxes, kLabelAxes}})
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  return (std::filesystem::path(images).parent_path() / name).string();
}

// The file, or the same with the ending .gz or without it.
std::string find_labels(const std::string& images) {
  const std::string wanted = labels_beside(images);
  if (wanted == images)
    fail("{}: its name has no \"{}\", so that of its labels is not known; expected e.g. train-images-idx3-ubyte",
         images, kImages);
  const std::string other = wanted.ends_with(".gz") ? wanted.substr(0, wanted.size() - 3) : wanted + ".gz";
  for (const std::string& each : {wanted, other})
    if (std::filesystem::exists(each)) return each;
  fail("{}: there is no file of its labels, {}", images, wanted);
}

Dataset read_pair(const std::string& images, const DataOptions& options) {
  const std::string labels = find_labels(images);
  return parse_idx(file_bytes(images), file_bytes(labels), images, labels, options);
}

bool is_images_file(const std::string& name) {
  return name.find(kImages) != std::string::npos && name.find(kImageAxes) != std::string::npos;
}

bool recognises(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return is_images_file(name_of(path));
  return !files_of(path, is_images_file).empty();
}

std::string split_of(const std::string& file) {
  const std::string stem = name_of(file).substr(0, name_of(file).find('-'));
  return stem == "t10k" ? "test" : split_name(stem);
}

Dataset read(const std::string& path, const DataOptions& options) {
  if (!std::filesystem::is_directory(path)) return read_pair(path, options);
  const std::vector<std::string> files = files_of(path, is_images_file);
  if (files.empty()) fail("{}: has no file like train-images-idx3-ubyte", path);
  Dataset all;
  for (const std::string& file : files) {
    Dataset part = read_pair(file, options);
    part.splits = {{split_of(file), std::vector<int64_t>(static_cast<size_t>(part.rows))}};
    std::iota(part.splits[0].rows.begin(), part.splits[0].rows.end(), 0);
    if (&file == files.data()) all = std::move(part);
    else append_rows(all, std::move(part));
  }
  all.path = path;
  return all;
}

constexpr const char* kOptions[] = {"classes"};

}  // namespace

Dataset parse_idx(const FileBytes& images, const FileBytes& labels, const std::string& images_source,
                  const std::string& labels_source, const DataOptions& options) {
  const Header header = read_header(images.bytes, 3, images_source);
  const Header of_labels = read_header(labels.bytes, 1, labels_source);
  const int64_t rows = header.sizes[0], height = header.sizes[1], width = header.sizes[2];
  if (of_labels.sizes[0] != rows)
    fail("{}: has {} labels, but {} has {} images", labels_source, of_labels.sizes[0], images_source, rows);
  if (rows > 0 && height * width == 0) fail("{}: images of {} x {} pixels", images_source, height, width);
  std::vector<int64_t> numbers;
  for (std::byte label : labels.bytes.subspan(of_labels.bytes)) numbers.push_back(std::to_integer<int64_t>(label));
  Dataset data;
  data.path = images_source;
  data.rows = rows;
  data.labels = numbered_labels(numbers, options.classes, labels_source);
  data.label_column = name_of(labels_source);
  data.files = {images_source};
  for (int64_t row = 0; row < rows; ++row) data.origins.push_back({0, row + 1});
  data.images = {
      1, [pieces = FilePieces(images), begin = header.bytes, height, width](int64_t row) {
        const auto area = static_cast<size_t>(height * width);
        return Tensor(DType::u8, {1, height, width}, pieces.piece(begin + static_cast<size_t>(row) * area, area));
      }};
  return data;
}

extern constinit const ReaderDef idx_def{.name = "idx",
                                         .doc = "MNIST's pairs of files, or a folder of them; gzip or not",
                                         .example = "/usr/share/datasets/fashion-mnist/",
                                         .options = kOptions,
                                         .recognises = recognises,
                                         .read = read};

}  // namespace hone
