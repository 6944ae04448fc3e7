#include "io/gguf/gguf_file.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "io/gguf/gguf_blocks.h"

namespace hone {
namespace {

constexpr const char *kNumber = "split.no", *kCount = "split.count", *kTensors = "split.tensors.count";
constexpr int64_t kMostShards = 99999;  // the name has five digits

std::string shard_ending(int64_t number, int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// What shards are called before their numbers.
std::string shard_stem(const std::string& path, int64_t number, int64_t count) {
  const std::string ending = shard_ending(number, count);
  if (!path.ends_with(ending))
    fail("{}: is shard {} of {}, which is called NAME{}; give it that name again", path, number + 1, count, ending);
  return path.substr(0, path.size() - ending.size());
}

// A negative size or one that no shard has is an error of its own.
int64_t shard_count(const GgufMetadata& metadata) {
  const int64_t count = metadata.integer_or(kCount, 1);
  if (count >= 0 && count <= kMostShards) return std::max<int64_t>(count, 1);
  fail("{}: {} is {}; accepted: 0 to {}", metadata.source(), kCount, count, kMostShards);
}

bool is_aligned(std::span<const std::byte> bytes, DType dtype) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size_bytes(dtype)) == 0;
}

// Rows are whole blocks, so that they are runs of bytes.
std::vector<std::byte> rows_of(std::span<const std::byte> bytes, std::span<const int64_t> order) {
  CHECK(bytes.size() % order.size() == 0, "{} bytes in {} rows", bytes.size(), order.size());
  const size_t row = bytes.size() / order.size();
  std::vector<std::byte> moved(bytes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<size_t>(order[i]);
    CHECK(from < order.size(), "row {} of {}", from, order.size());
    std::memcpy(moved.data() + i * row, bytes.data() + from * row, row);
  }
  return moved;
}

}  // namespace

std::string global_scale_name(std::string_view name) {
  constexpr std::string_view kEnding = ".weight";
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return std::string(name) + ".scale";
}

bool is_gguf_path(std::string_view path) { return path.ends_with(".gguf"); }

GgufFile::GgufFile(const std::string& path) : path_(path) {
  open(path);
  open_shards();
  index_tensors();
}

void GgufFile::open(const std::string& path) {
  files_.push_back(std::make_shared<MappedFile>(path));
  headers_.push_back(parse_gguf_header(files_.back()->bytes(), path));
}

void GgufFile::open_shards() {
  const int64_t count = shard_count(metadata());
  if (count == 1) return;
  const int64_t number = metadata().integer(kNumber);
  if (number < 0 || number >= count) fail("{}: {} is {}; accepted: 0 to {}", path_, kNumber, number, count - 1);
  const std::string stem = shard_stem(path_, number, count);
  std::vector<std::string> missing;
  for (int64_t i = 0; i < count; ++i)
    if (std::string shard = stem + shard_ending(i, count); !std::filesystem::exists(shard)) missing.push_back(shard);
  if (!missing.empty()) {
    const size_t shown = std::min<size_t>(missing.size(), 5);
    fail("{}: {} of its {} shards are missing: {}{}; put them into its folder", path_, missing.size(), count,
         fmt::join(std::span(missing).first(shown), ", "), missing.size() > shown ? ", ..." : "");
  }
  files_.clear(), headers_.clear();
  for (int64_t i = 0; i < count; ++i) {
    open(stem + shard_ending(i, count));
    const GgufMetadata& said = headers_.back().metadata;
    if (said.integer(kNumber) != i || shard_count(said) != count)
      fail("{}: says that it is shard {} of {}; its name says {} of {}. Are files of two models mixed?", said.source(),
           said.integer(kNumber) + 1, shard_count(said), i + 1, count);
  }
}

void GgufFile::index_tensors() {
  for (size_t file = 0; file < headers_.size(); ++file)
    for (const GgufEntry& entry : headers_[file].tensors)
      if (const auto [at, is_new] = places_.emplace(entry.name, Place{file, &entry}); !is_new)
        fail("{}: tensor \"{}\" is in {}, too", files_[file]->path(), entry.name, files_[at->second.file]->path());
  const int64_t said = metadata().integer_or(kTensors, std::ssize(places_));
  if (headers_.size() > 1 && said != std::ssize(places_))
    fail("{}: {} is {}, but the shards have {} tensors", path_, kTensors, said, places_.size());
}

std::vector<std::string> GgufFile::paths() const {
  std::vector<std::string> paths;
  for (const auto& file : files_) paths.push_back(file->path());
  return paths;
}

std::vector<const GgufEntry*> GgufFile::entries() const {
  std::vector<const GgufEntry*> all;
  for (const GgufHeader& header : headers_)
    for (const GgufEntry& entry : header.tensors) all.push_back(&entry);
  return all;
}

const GgufEntry* GgufFile::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : found->second.entry;
}

// What NVFP4's products are multiplied by: an F32 tensor beside the weight's.
float GgufFile::global_scale(std::string_view name) const {
  const std::string scale = global_scale_name(name);
  if (!find(scale)) return 1;
  const Tensor tensor = this->tensor(scale);
  if (tensor.is_packed() || tensor.dtype() != DType::f32 || tensor.elements() != 1)
    fail("{}: tensor \"{}\" is {}; accepted: one F32, by which the products of \"{}\" are multiplied", path_, scale,
         to_string(tensor.type()), name);
  return tensor.as<float>()[0];
}

Tensor GgufFile::tensor(std::string_view name) const { return tensor(name, {}); }

Tensor GgufFile::tensor(std::string_view name, std::span<const int64_t> order) const {
  const auto found = places_.find(name);
  if (found == places_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, place] : places_) names.emplace_back(known);
    fail("{}: there is no tensor \"{}\"{}", path_, name, did_you_mean(name, names));
  }
  const auto [file, entry] = found->second;
  const GgufType& type = *entry->type;
  const std::string where = fmt::format("{}: tensor \"{}\"", files_[file]->path(), name);
  if (type.refused) fail("{} is of type {}: {}", where, type.name, type.refused);
  const auto stored = files_[file]->bytes().subspan(entry->begin, entry->bytes);
  if (order.empty() && !type.is_packed() && is_aligned(stored, *type.dtype))
    return Tensor(*type.dtype, entry->shape, Buffer(files_[file], stored, true));
  const std::vector<std::byte> moved = order.empty() ? std::vector<std::byte>() : rows_of(stored, order);
  const std::span<const std::byte> bytes = order.empty() ? stored : moved;
  Tensor tensor = type.is_packed() ? tensor_of_blocks(type, entry->shape, bytes, where,
                                                      type.id == kNvfp4Type ? global_scale(name) : 1)
                                   : Tensor(*type.dtype, entry->shape, Buffer::copy_of(bytes));
  drop_pages(stored);
  return tensor;
}

}  // namespace hone
