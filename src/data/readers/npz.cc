// NumPy archives: arrays whose first axis counts rows. One holds what is to be predicted; one of bytes called "images",
// [rows, height, width], [rows, channels, height, width] or [rows, height, width, channels], holds images; all others
// are inputs by their names.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "data/numbered_labels.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "io/numpy.h"

namespace hone {
namespace {

constexpr std::string_view kLabel[] = {"label", "labels", "y"};
constexpr std::string_view kTarget[] = {"target", "targets"};
constexpr std::string_view kGroup[] = {"group", "groups"};

class Arrays {
 public:
  Arrays(std::vector<NamedTensor> arrays, const std::string& source) : all_(std::move(arrays)), source_(source) {
    if (all_.empty()) fail("{}: holds no arrays", source);
    for (const NamedTensor& each : all_) {
      if (each.tensor.shape().empty())
        fail("{}: array \"{}\" is a single number; its first axis must count rows", source, each.name);
      if (&each == all_.data()) rows_ = each.tensor.dim(0);
      if (each.tensor.dim(0) != rows_)
        fail("{}: array \"{}\" has {} rows, but \"{}\" has {}", source, each.name, each.tensor.dim(0), all_[0].name,
             rows_);
    }
  }

  int64_t rows() const { return rows_; }

  // Takes the array out. None when `name` is empty and no usual one is there.
  std::optional<NamedTensor> take(const std::string& name, const char* option,
                                  std::span<const std::string_view> usual) {
    auto found = all_.end();
    if (!name.empty()) {
      found = std::ranges::find(all_, name, &NamedTensor::name);
      if (found == all_.end())
        fail("{}: has no array \"{}\" (--{}); its arrays are {}{}", source_, name, option, list(),
             did_you_mean(name, names()));
    }
    for (size_t i = 0; i < usual.size() && found == all_.end(); ++i)
      found = std::ranges::find(all_, usual[i], &NamedTensor::name);
    if (found == all_.end()) return std::nullopt;
    NamedTensor taken = std::move(*found);
    all_.erase(found);
    return taken;
  }
  // Of bytes alone: numbers of that name are an input.
  std::optional<NamedTensor> take_images() {
    const auto found = std::ranges::find_if(
        all_, [](const NamedTensor& a) { return a.name == "images" && a.tensor.dtype() == DType::u8; });
    if (found == all_.end()) return std::nullopt;
    NamedTensor taken = std::move(*found);
    all_.erase(found);
    return taken;
  }
  std::vector<NamedTensor> rest() { return std::move(all_); }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const NamedTensor& each : all_) names.push_back(each.name);
    return names;
  }
  std::string list() const { return fmt::format("{}", fmt::join(names(), ", ")); }

  std::vector<NamedTensor> all_;
  const std::string& source_;
  int64_t rows_ = 0;
};

std::vector<int64_t> integers_of(const NamedTensor& array, const std::string& source, const char* what) {
  if (!is_integer(array.tensor.dtype()) || array.tensor.shape().size() != 1)
    fail("{}: array \"{}\" is {}; {} are integers [rows]{}", source, array.name, to_string(array.tensor.type()), what,
         is_float(array.tensor.dtype()) ? " (numbers to predict are a target: --target)" : "");
  return array.tensor.to_integers();
}

// What the options leave out, an array says by its shape.
Labels numbered(const NamedTensor& array, const DataOptions& options, const std::string& source) {
  const Tensor& t = array.tensor;
  if (t.shape().size() != 2 || !is_integer(t.dtype()))
    return numbered_labels(integers_of(array, source, "classes"), options.classes, source);
  if (t.dim(1) == 0) fail("{}: array \"{}\" is {}; it holds no classes", source, array.name, to_string(t.type()));
  if (options.label.empty() && array.name == "labels")
    fail(
        "{}: array \"{}\" is {}: --labels {} says that its zeros and ones are classes that a row has, --label {} that "
        "each place has a class of its own",
        source, array.name, to_string(t.type()), array.name, array.name);
  ClassLabels places = numbered_labels(t.to_integers(), options.classes, source);
  TokenLabels labels{.ids = {}, .names = std::move(places.names), .unknown = {}};
  const int64_t width = t.dim(1);
  for (auto row = places.ids.begin(); row != places.ids.end(); row += width) labels.ids.emplace_back(row, row + width);
  for (auto& [place, text] : places.unknown)
    if (text != std::to_string(kIgnoredLabel)) labels.unknown.emplace_back(place / width, std::move(text));
  return labels;
}

MultiLabels multi_labels(const NamedTensor& array, const DataOptions& options, const std::string& source) {
  const Tensor& t = array.tensor;
  if (t.shape().size() != 2 || t.is_packed() || t.dtype() == DType::string)
    fail("{}: array \"{}\" is {}; several classes are zeros and ones [rows, classes]", source, array.name,
         to_string(t.type()));
  const auto classes = static_cast<size_t>(t.dim(1));
  MultiLabels labels{.ids = std::vector<std::vector<int64_t>>(static_cast<size_t>(t.dim(0))), .names = options.classes};
  if (labels.names.empty())
    for (size_t c = 0; c < classes; ++c) labels.names.push_back(std::to_string(c));
  if (labels.names.size() != classes)
    fail("{}: array \"{}\" has {} classes, but {} names are given", source, array.name, classes, labels.names.size());
  const std::vector<double> values = (t.dtype() == DType::boolean ? t.converted(DType::u8) : t).to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t row = i / classes;
    const auto id = static_cast<int64_t>(i % classes);
    if (values[i] == kIgnoredLabel) {
      labels.ignored.resize(labels.ids.size());
      labels.ignored[row].push_back(id);
    } else if (values[i] == 1) {
      labels.ids[row].push_back(id);
    } else if (values[i] != 0) {
      fail("{}: array \"{}\" holds {} in row {}; several classes are zeros and ones, and {} where nothing is known",
           source, array.name, values[i], row + 1, kIgnoredLabel);
    }
  }
  return labels;
}

Targets targets(const NamedTensor& array, const std::string& source) {
  const Tensor& t = array.tensor;
  if (t.shape().size() > 2 || t.dtype() == DType::boolean)
    fail("{}: array \"{}\" is {}; numbers to predict are [rows] or [rows, numbers]", source, array.name,
         to_string(t.type()));
  return {t.to_floats(), t.shape().size() == 2 ? t.dim(1) : 1};
}

void take_answers(Dataset& data, Arrays& arrays, const DataOptions& options) {
  const int named = int(!options.label.empty()) + int(!options.labels.empty()) + int(!options.target.empty());
  if (named > 1) fail("{}: more than one of --label, --labels and --target is given; a row has one answer", data.path);
  const auto usual = [&](std::span<const std::string_view> names) {
    return named == 0 ? names : std::span<const std::string_view>();
  };
  if (const auto several = arrays.take(options.labels, "labels", {})) {
    data.labels = multi_labels(*several, options, data.path);
    data.label_column = several->name;
  } else if (const auto label = arrays.take(options.label, "label", usual(kLabel))) {
    data.labels = numbered(*label, options, data.path);
    data.label_column = label->name;
  } else if (const auto target = arrays.take(options.target, "target", usual(kTarget))) {
    data.labels = targets(*target, data.path);
    data.label_column = target->name;
  }
}

void take_groups(Dataset& data, Arrays& arrays, const DataOptions& options) {
  const auto group = arrays.take(options.group, "group-column", kGroup);
  if (!group) return;
  std::vector<int64_t> numbers = integers_of(*group, data.path, "groups"), sorted = numbers;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (int64_t number : sorted) data.group_names.push_back(std::to_string(number));
  for (int64_t number : numbers) data.groups.push_back(std::ranges::lower_bound(sorted, number) - sorted.begin());
}

// [height, width, channels] of one image as [channels, height, width].
Tensor channels_first(std::span<const uint8_t> pixels, int64_t height, int64_t width, int64_t channels) {
  Tensor image(DType::u8, {channels, height, width});
  const auto out = image.mutable_as<uint8_t>();
  const size_t area = static_cast<size_t>(height * width), step = static_cast<size_t>(channels);
  for (size_t i = 0; i < area; ++i)
    for (size_t c = 0; c < step; ++c) out[c * area + i] = pixels[i * step + c];
  return image;
}

bool is_channels(int64_t n) { return n == 1 || n == 3; }

void take_images(Dataset& data, Arrays& arrays) {
  const auto found = arrays.take_images();
  if (!found) return;
  const Tensor& t = found->tensor;
  const std::vector<int64_t>& shape = t.shape();
  const bool is_grey = shape.size() == 3, is_first = shape.size() == 4 && is_channels(shape[1]);
  if (!is_grey && !is_first && !(shape.size() == 4 && is_channels(shape[3])))
    fail(
        "{}: array \"images\" is {}; bytes [rows, height, width], [rows, channels, height, width] or [rows, height, "
        "width, channels] with 1 or 3 channels are expected",
        data.path, to_string(t.type()));
  const int64_t channels = is_grey ? 1 : is_first ? shape[1] : shape[3];
  const int64_t height = is_first ? shape[2] : shape[1], width = is_first ? shape[3] : shape[2];
  if (height * width == 0) fail("{}: array \"images\" is {}; its images are empty", data.path, to_string(t.type()));
  data.images = {channels, [t, channels, height, width, is_last = !is_grey && !is_first](int64_t row) {
                   const auto bytes = static_cast<size_t>(channels * height * width);
                   const auto pixels = t.as<uint8_t>().subspan(static_cast<size_t>(row) * bytes, bytes);
                   if (is_last) return channels_first(pixels, height, width, channels);
                   return Tensor(DType::u8, {channels, height, width}, Buffer::copy_of(std::as_bytes(pixels)));
                 }};
}

bool recognises(const std::string& path) { return path.ends_with(".npz"); }

Dataset read(const std::string& path, const DataOptions& options) {
  return dataset_of_arrays(read_npz(path), path, options);
}

constexpr const char* kOptions[] = {"label", "labels", "target", "group-column", "classes"};

}  // namespace

Dataset dataset_of_arrays(std::vector<NamedTensor> all, const std::string& source, const DataOptions& options) {
  Arrays arrays(std::move(all), source);
  Dataset data;
  data.path = source;
  data.rows = arrays.rows();
  take_answers(data, arrays, options);
  take_groups(data, arrays, options);
  take_images(data, arrays);
  data.arrays = arrays.rest();
  data.files = {source};
  for (int64_t row = 0; row < data.rows; ++row) data.origins.push_back({0, row + 1});
  return data;
}

extern constinit const ReaderDef npz_def{.name = "npz",
                                         .doc = "arrays of NumPy whose first axis counts rows",
                                         .example = "digits.npz",
                                         .options = kOptions,
                                         .recognises = recognises,
                                         .read = read};

}  // namespace hone
