#include "io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "io/pieces.h"
#include "io/safetensors_header.h"
#include "io/safetensors_size.h"

namespace hone {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian and mapped as they are");

namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // of the format's README, against absurd lengths

// Bytes of the JSON header, after checking that the file can hold them.
uint64_t header_length(std::span<const std::byte> file, const std::string& path) {
  if (file.size() < 8) fail("{}: {} bytes; a safetensors file has at least 8", path, file.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  if (length > kMaxHeader)
    fail("{}: says that its header has {} bytes; at most {} are accepted. Is this a safetensors file?", path, length,
         kMaxHeader);
  if (length > file.size() - 8)
    fail("{}: says that its header has {} bytes, but only {} follow; the file may be truncated", path, length,
         file.size() - 8);
  if (length < 2 || file[8] != std::byte{'{'})
    fail("{}: the header does not start with {{. Is this a safetensors file?", path);
  return length;
}

bool is_aligned(std::span<const std::byte> bytes, DType dtype) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size_bytes(dtype)) == 0;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(std::make_shared<MappedFile>(path)) {
  const auto bytes = file_->bytes();
  const uint64_t length = header_length(bytes, path);
  buffer_ = 8 + length;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  SafetensorsHeader header = parse_safetensors_header(text, bytes.size() - buffer_, path);
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
  index_.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (!entry) {
    std::vector<std::string> names;
    for (const SafetensorsEntry& e : entries_) names.push_back(e.name);
    fail("{}: there is no tensor \"{}\"{}", path(), name, did_you_mean(name, names));
  }
  const auto view = file_->bytes().subspan(buffer_ + entry->begin, entry->end - entry->begin);
  if (entry->dtype == DType::boolean &&
      !std::ranges::all_of(view, [](std::byte b) { return b == std::byte{0} || b == std::byte{1}; }))
    fail("{}: tensor \"{}\" holds a boolean that is neither 0 nor 1", path(), name);
  Buffer data = is_aligned(view, entry->dtype) ? Buffer(file_, view, true) : Buffer::copy_of(view);
  return Tensor(entry->dtype, entry->shape, std::move(data));
}

namespace {

std::string quoted(const std::string& text, const std::string& path) {
  try {
    return Json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail("{}: a name or text to be written is not valid UTF-8: {:?}", path, text);
  }
}

std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors, const std::string& path) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& t : tensors) {
    CHECK(!t.tensor.is_packed(), "{} is packed; an artefact stores its planes", t.name);
    if (t.tensor.dtype() == DType::string)
      fail("{}: tensor \"{}\" holds strings; safetensors stores numbers only", path, t.name);
    if (t.name == "__metadata__")
      fail("{}: a tensor can't be called \"__metadata__\"; the format reserves that name", path);
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int sa = size_bytes(a->tensor.dtype()), sb = size_bytes(b->tensor.dtype());
    return sa != sb ? sa > sb : a->name < b->name;
  });
  std::vector<std::string_view> names;
  for (const NamedTensor* t : order) names.push_back(t->name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail("{}: two tensors are called \"{}\"", path, *twice);
  return order;
}

std::string header_text(const std::vector<const NamedTensor*>& order,
                        const std::map<std::string, std::string>& metadata, const std::string& path) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) text += quoted(key, path) + ":" + quoted(value, path) + ",";
    text.back() = '}';
    text += ',';
  }
  size_t offset = 0;
  for (const NamedTensor* t : order) {
    const std::optional<std::string_view> dtype = safetensors_name(t->tensor.dtype());
    if (!dtype)
      fail("{}: tensor \"{}\" is {}, for which safetensors files have no name", path, t->name,
           to_string(t->tensor.dtype()));
    const size_t end = offset + t->tensor.data().size();
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)", quoted(t->name, path), *dtype,
                        fmt::join(t->tensor.shape(), ","), offset, end);
    offset = end;
  }
  if (text.back() == ',') text.pop_back();
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the buffer, and with it every tensor, is aligned
  return text;
}

}  // namespace

namespace {

std::string checked_header(const std::vector<const NamedTensor*>& order,
                           const std::map<std::string, std::string>& metadata, const std::string& path) {
  std::string header = header_text(order, metadata, path);
  if (header.size() > kMaxHeader)
    fail("{}: the header would have {} bytes; at most {} are allowed", path, header.size(), kMaxHeader);
  return header;
}

}  // namespace

int64_t safetensors_bytes(std::span<const NamedTensor> tensors, const std::map<std::string, std::string>& metadata) {
  const auto order = in_file_order(tensors, "safetensors");
  size_t bytes = sizeof(uint64_t) + checked_header(order, metadata, "safetensors").size();
  for (const NamedTensor* t : order) bytes += t->tensor.data().size();
  return static_cast<int64_t>(bytes);
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const auto order = in_file_order(tensors, path);
  const std::string header = checked_header(order, metadata, path);
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedTensor* t : order) for_each_piece(t->tensor, [&](auto piece) { file.write(piece); });
  file.commit();
}

}  // namespace hone
