// The binary versions of CIFAR-10 and CIFAR-100: records of one label (CIFAR-100: the coarse one and the fine one) and
// 32 x 32 pixels of red, of green and of blue, without headers (https://www.cs.toronto.edu/~kriz/cifar.html). Names of
// classes are in text files beside them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "data/append_rows.h"
#include "data/file_pieces.h"
#include "data/folder_files.h"
#include "data/numbered_labels.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "data/text_lines.h"

namespace hone {
namespace {

constexpr int64_t kSide = 32, kChannels = 3;
constexpr size_t kPixels = kChannels * kSide * kSide;

struct Layout {
  const char* train;  // one of the files
  size_t labels;      // bytes before the pixels
};
constexpr Layout kTen{"data_batch_1.bin", 1}, kHundred{"train.bin", 2};

const Layout* layout_of(const std::string& path) {
  for (const Layout* layout : {&kTen, &kHundred})
    if (std::filesystem::is_regular_file(std::filesystem::path(path) / layout->train)) return layout;
  return nullptr;
}

bool recognises(const std::string& path) { return layout_of(path) != nullptr; }

// Those of the file, where there is one.
std::vector<std::string> names_in(const std::string& file) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(file)) return names;
  const std::string content = read_file(file, kMostLineBytes);
  TextLines lines(checked_text(content, file), file);
  while (const auto line = lines.next())
    if (!trim(*line).empty()) names.emplace_back(trim(*line));
  return names;
}

Dataset read(const std::string& path, const DataOptions& options) {
  const Layout* layout = layout_of(path);
  if (!layout) fail("{}: has neither {} (CIFAR-10) nor {} (CIFAR-100)", path, kTen.train, kHundred.train);
  const std::string kind = options.label.empty() ? "fine" : options.label;
  if (layout == &kTen && !options.label.empty()) fail("{}: CIFAR-10 has one kind of labels; leave --label out", path);
  if (kind != "fine" && kind != "coarse") fail("{}: the labels \"{}\"; CIFAR-100 has fine and coarse", path, kind);
  std::vector<std::string> classes = options.classes;
  if (classes.empty())
    classes = names_in(path + (layout == &kTen ? "/batches.meta.txt" : "/" + kind + "_label_names.txt"));
  const std::vector<std::string> files = files_of(path, [&](const std::string& name) {
    return layout == &kTen ? (name.starts_with("data_batch_") || name == "test_batch.bin") && name.ends_with(".bin")
                           : name == "train.bin" || name == "test.bin";
  });
  Dataset all;
  for (const std::string& file : files) {
    Dataset part =
        parse_cifar(file_bytes(file), layout->labels, kind == "fine" ? layout->labels - 1 : 0, classes, file);
    part.splits = {{name_of(file).starts_with("test") ? "test" : "train", {}}};
    part.splits[0].rows.resize(static_cast<size_t>(part.rows));
    std::iota(part.splits[0].rows.begin(), part.splits[0].rows.end(), 0);
    part.label_column = layout == &kTen ? "label" : kind;
    if (&file == files.data()) all = std::move(part);
    else append_rows(all, std::move(part));
  }
  all.path = path;
  return all;
}

constexpr const char* kOptions[] = {"label", "classes"};

}  // namespace

Dataset parse_cifar(const FileBytes& file, size_t labels, size_t label, std::span<const std::string> classes,
                    const std::string& source) {
  const size_t record = labels + kPixels, count = file.bytes.size() / record;
  if (file.bytes.size() % record != 0)
    fail("{}: {} bytes are no whole number of records of {}; it may be cut short in record {}", source,
         file.bytes.size(), record, count + 1);
  const FilePieces pieces(file);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(std::to_integer<int64_t>(pieces.at(i * record + label)));
  Dataset data;
  data.path = source;
  data.rows = static_cast<int64_t>(count);
  data.labels = numbered_labels(numbers, classes, source);
  data.files = {source};
  for (int64_t row = 0; row < data.rows; ++row) data.origins.push_back({0, row + 1});
  data.images = {kChannels, [pieces, record, labels](int64_t row) {
                   Buffer pixels = pieces.piece(static_cast<size_t>(row) * record + labels, kPixels);
                   return Tensor(DType::u8, {kChannels, kSide, kSide}, std::move(pixels));
                 }};
  return data;
}

extern constinit const ReaderDef cifar_def{.name = "cifar",
                                           .doc = "a folder with the binary version of CIFAR-10 or CIFAR-100",
                                           .example = "cifar-10-batches-bin/",
                                           .options = kOptions,
                                           .recognises = recognises,
                                           .read = read};

}  // namespace hone
