#include "io/artefact.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file_name.h"
#include "base/json.h"
#include "base/memory_limit.h"
#include "base/registry.h"
#include "base/small_float.h"
#include "io/artefact_size.h"
#include "io/safetensors.h"
#include "io/safetensors_header.h"
#include "io/safetensors_size.h"
#include "io/sparse_storage.h"
#include "ir/bodies.h"
#include "ir/row_keys.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

constexpr int kVersion = 2, kWholeVersion = 1;  // what this reads; what files without sparse tensors are
constexpr const char* kVersionKey = "hone.version";
constexpr const char* kGraphKey = "hone.graph";
constexpr std::string_view kTensorKey = "hone.tensor.";
constexpr std::string_view kFilePrefix = "hone.file.";
constexpr std::string_view kAnonymous = "hone.constant.";  // labels that exist in the file only
constexpr int64_t kMaxInline = 16;                         // larger anonymous constants become tensors of the file

// Text shows decimal digits, in which the payload of a NaN is lost.
bool survives_as_text(const Tensor& tensor) {
  if (tensor.is_packed() || tensor.elements() > kMaxInline) return false;
  if (tensor.dtype() == DType::string || !is_float(tensor.dtype())) return true;
  for (double x : tensor.to_doubles())
    if (std::isnan(x)) return false;
  return true;
}

// A constant either has a label, under which its bytes are stored, or is small.
void label_constants(Graph& graph, const std::string& path) {
  for (ValueId id : graph.constants()) {
    // Names of tensors that mean something else here are not taken from a source.
    if (const std::string& label = graph.value(id).label;
        label.starts_with(kFilePrefix) || label.starts_with(kAnonymous))
      graph.set_label(id, "");
    const Value& value = graph.value(id);
    if (value.constant->dtype() == DType::string && !value.label.empty())
      fail("{}: constant \"{}\" holds strings, which an artefact can't store", path, value.label);
    if (value.label.empty() && !survives_as_text(*value.constant))
      graph.set_label(id, std::string(kAnonymous) + value.name);
  }
  edit_bodies(graph, [&](Graph body) {
    label_constants(body, path);
    return body;
  });
}

void forget_anonymous_labels(Graph& graph) {
  for (ValueId id : graph.constants())
    if (graph.value(id).label.starts_with(kAnonymous)) graph.set_label(id, "");
  edit_bodies(graph, [](Graph body) {
    forget_anonymous_labels(body);
    return body;
  });
}

struct PlaneName {
  const char* suffix;
  const Buffer& (Tensor::*buffer)() const;
  int64_t PlaneBytes::*bytes;
};
constexpr std::array<PlaneName, 4> kPlanes{{{".codes", &Tensor::data, &PlaneBytes::codes},
                                            {".scales", &Tensor::scales, &PlaneBytes::scales},
                                            {".zero_points", &Tensor::zero_points, &PlaneBytes::zero_points},
                                            {".global", &Tensor::global, &PlaneBytes::global}}};

Tensor raw_bytes(Buffer buffer) {
  const int64_t size = static_cast<int64_t>(buffer.size());
  return Tensor(DType::u8, {size}, std::move(buffer));
}

// Element types that safetensors has no name for, all of a byte, lie in the file as U8; the graph's text knows better.
Tensor as_named_type(const Tensor& tensor) {
  return safetensors_name(tensor.dtype()) ? tensor : Tensor(DType::u8, tensor.shape(), tensor.data());
}

struct Contents {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

constexpr const char *kBitmap = ".bitmap", *kValues = ".values";

void add_packed(const std::string& name, const Tensor& tensor, const std::optional<SparseTensor>& sparse,
                Contents& contents) {
  for (const PlaneName& plane : kPlanes) {
    const Buffer& buffer = (tensor.*plane.buffer)();
    if (buffer.size() > 0 && !(sparse && &plane == &kPlanes[0]))
      contents.tensors.push_back({name + plane.suffix, raw_bytes(buffer)});
  }
  if (sparse) contents.tensors.push_back({name + kValues, raw_bytes(sparse->values)});
}

void add_tensor(const std::string& name, const Tensor& tensor, bool store_sparse, Contents& contents) {
  const std::optional<SparseTensor> sparse = store_sparse ? sparse_form(tensor) : std::nullopt;
  Json facts = Json::object();
  if (tensor.is_packed()) {
    add_packed(name, tensor, sparse, contents);
    facts["format"] = to_string(*tensor.format());
  } else if (sparse) {
    const Tensor values(tensor.dtype(), {static_cast<int64_t>(sparse->values.size()) / size_bytes(tensor.dtype())},
                        sparse->values);
    contents.tensors.push_back({name + kValues, as_named_type(values)});
  } else {
    contents.tensors.push_back({name, as_named_type(tensor)});
    return;
  }
  facts["shape"] = tensor.shape();
  if (sparse) {
    contents.tensors.push_back({name + kBitmap, raw_bytes(sparse->bitmap)});
    facts["fill"] = sparse->fill;
    contents.metadata[kVersionKey] = std::to_string(kVersion);
  }
  contents.metadata[std::string(kTensorKey) + name] = facts.dump();
}

// Whether each byte is an element of the type: those of fewer bits leave values over.
bool are_elements(std::span<const std::byte> bytes, DType dtype) {
  const SmallFloat* type = small_float(dtype);
  const int bits = type ? 1 + type->exponent_bits + type->mantissa_bits : integer_bits(dtype);
  if (type && type->specials == SmallFloat::Specials::powers) return true;
  const bool is_signed = dtype == DType::i2 || dtype == DType::i4;
  const int least = is_signed ? -(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
  return std::ranges::all_of(bytes, [&](std::byte b) {
    const int value = is_signed ? static_cast<int8_t>(b) : static_cast<uint8_t>(b);
    return least <= value && value <= most;
  });
}

// fn(); its errors say where.
template <class F>
auto located(const std::string& where, F&& fn) {
  try {
    return fn();
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
}

// Rebuilds constants from the tensors of one file.
class Reader {
 public:
  explicit Reader(const SafetensorsFile& file) : file_(file) {}

  std::optional<Tensor> find(const std::string& name, const TensorType& type) const {
    Tensor tensor = type.is_packed() ? packed(name) : plain(name, type.dtype);
    if (tensor.type() != type)
      fail("{}: constant \"{}\" is {} in the file, but {} in the graph", file_.path(), name, to_string(tensor.type()),
           to_string(type));
    return tensor;
  }

 private:
  // What the metadata say of the tensor; none: it is there under its name.
  std::optional<Json> facts_of(const std::string& name) const {
    const auto found = file_.metadata().find(std::string(kTensorKey) + name);
    return found == file_.metadata().end() ? std::nullopt : std::optional(parse_json(found->second, where(name)));
  }
  std::string where(const std::string& name) const {
    return file_.path() + ": metadata \"" + std::string(kTensorKey) + name + "\"";
  }

  std::vector<int64_t> shape_in(const Json& facts, const std::string& where) const {
    auto shape = json_get<std::vector<int64_t>>(facts, "shape", where);
    for (int64_t n : shape)
      if (n < 0) fail("{}: the shape has the negative dimension {}", where, n);
    located(where, [&] { return element_count(shape); });  // refuses shapes that overflow
    return shape;
  }

  SparseTensor sparse_parts(const std::string& name, const Json& facts) const {
    const Tensor bitmap = file_.tensor(name + kBitmap);
    if (bitmap.dtype() != DType::u8)
      fail("{}: \"{}{}\" is {}; a bitmap is u8", file_.path(), name, kBitmap, to_string(bitmap.type()));
    const auto fill = json_get<int64_t>(facts, "fill", where(name));
    if (fill < 0 || fill > UINT32_MAX) fail("{}: the fill {} is no code", where(name), fill);
    return {
        .bitmap = bitmap.data(), .values = file_.tensor(name + kValues).data(), .fill = static_cast<uint32_t>(fill)};
  }

  Tensor sparse_plain(const std::string& name, DType dtype, const Json& facts) const {
    const SparseTensor sparse = sparse_parts(name, facts);
    const Tensor values = file_.tensor(name + kValues);
    if (values.dtype() != dtype && !(is_small(dtype) && values.dtype() == DType::u8))
      fail("{}: \"{}{}\" is {}; the graph has {}", file_.path(), name, kValues, to_string(values.type()),
           to_string(dtype));
    if (sparse.fill != 0) fail("{}: the fill of {} is {}; accepted: 0", where(name), to_string(dtype), sparse.fill);
    std::vector<int64_t> shape = shape_in(facts, where(name));
    Buffer whole =
        located(where(name), [&] { return whole_elements(sparse, element_count(shape), size_bytes(dtype)); });
    return Tensor(dtype, std::move(shape), std::move(whole));
  }

  Tensor plain(const std::string& name, DType dtype) const {
    if (const std::optional<Json> facts = facts_of(name); facts && !file_.find(name) && dtype != DType::string) {
      const Tensor tensor = sparse_plain(name, dtype, *facts);
      if (is_small(dtype) && !safetensors_name(dtype) && !are_elements(tensor.data().bytes(), dtype))
        fail("{}: constant \"{}\" has bytes that are no {}", file_.path(), name, to_string(dtype));
      return tensor;
    }
    Tensor tensor = file_.tensor(name);
    if (!is_small(dtype) || safetensors_name(dtype) || tensor.dtype() != DType::u8) return tensor;
    if (!are_elements(tensor.data().bytes(), dtype))
      fail("{}: constant \"{}\" has bytes that are no {}", file_.path(), name, to_string(dtype));
    return Tensor(dtype, tensor.shape(), tensor.data());
  }

  Tensor packed(const std::string& name) const {
    const std::string where = this->where(name);
    const std::optional<Json> facts = facts_of(name);
    if (!facts) fail("{}: packed constant \"{}\" has no metadata \"{}{}\"", file_.path(), name, kTensorKey, name);
    const auto text = json_get<std::string>(*facts, "format", where);
    const Format format = located(where, [&] { return parse_format(text); });
    std::vector<int64_t> shape = shape_in(*facts, where);
    const PlaneBytes expected = located(where, [&] { return plane_bytes(format, shape); });
    std::array<Buffer, kPlanes.size()> planes;
    const bool is_sparse = file_.find(name + kBitmap) && !file_.find(name + kPlanes[0].suffix);
    if (is_sparse) planes[0] = located(where, [&] { return whole_codes(sparse_parts(name, *facts), format, shape); });
    for (size_t i = is_sparse; i < kPlanes.size(); ++i)
      planes[i] = plane(name + kPlanes[i].suffix, expected.*kPlanes[i].bytes, format, shape);
    const Tensor tensor = Tensor::packed(format, std::move(shape), planes[0], planes[1], planes[2], planes[3]);
    located(where, [&] { check_codes(format, tensor.shape(), tensor.planes()); });
    return tensor;
  }

  Buffer plane(const std::string& name, int64_t bytes, const Format& format, const std::vector<int64_t>& shape) const {
    if (bytes == 0 && !file_.find(name)) return {};
    const Tensor tensor = file_.tensor(name);
    if (tensor.dtype() != DType::u8 || tensor.bytes() != bytes)
      fail("{}: plane \"{}\" is {}; {}[{}] needs u8[{}]", file_.path(), name, to_string(tensor.type()),
           to_string(format), fmt::join(shape, ","), bytes);
    return tensor.data();
  }

  const SafetensorsFile& file_;
};

const std::string& metadata_of(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail(
        "{}: no metadata \"{}\": a safetensors file, but not one that hone wrote. For a Hugging Face model give its "
        "folder",
        file.path(), key);
  return found->second;
}

void check_version(const SafetensorsFile& file) {
  const std::string& text = metadata_of(file, kVersionKey);
  const bool digits = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  const int version = digits ? std::stoi(text) : 0;
  if (version < 1)
    fail("{}: metadata \"{}\" is \"{}\"; expected a number from 1 to {}", file.path(), kVersionKey, text, kVersion);
  if (version > kVersion)
    fail(
        "{}: written by a newer hone (file version {}; this one reads up to {}). Use that hone, or write the file "
        "again with this one",
        file.path(), version, kVersion);
}

// Of a file that came from anywhere: its name will be given to a file, its text to a tokenizer.
std::pair<std::string, std::string> carried_file(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const std::string name = entry.name.substr(kFilePrefix.size());
  if (!is_plain_file_name(name))
    fail(
        "{}: carries a file \"{}\"; accepted: a plain name of at most 255 bytes, without / and control characters, not "
        "hidden",
        file.path(), name);
  if (entry.dtype != DType::u8 || entry.shape.size() != 1)
    fail("{}: tensor \"{}\" is {}[{}]; a file that is carried is u8[bytes]", file.path(), entry.name,
         to_string(entry.dtype), fmt::join(entry.shape, ","));
  const Tensor content = file.tensor(entry.name);
  const auto bytes = content.data().bytes();
  require_memory(static_cast<int64_t>(bytes.size()), fmt::format("{}: {}", file.path(), name));
  return {name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

// What the graph's metadata hold as text and others take as numbers and names.
void check_metadata(const Graph& graph, const std::string& path) {
  located(path, [&] { return stored_compute(graph); });
  constexpr int64_t kMost = INT32_MAX;
  for (const char* key : {"tokenizer.max_length", kPositions, kTextLength}) {
    const auto found = graph.metadata.find(key);
    if (found == graph.metadata.end()) continue;
    const std::string& text = found->second;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > kMost)
      fail("{}: metadata \"{}\" is \"{}\"; accepted: 1 to {}", path, key, text, kMost);
  }
}

// The parser refuses what it sees at once; what remains is a fault of the file's, not of ours.
void check_graph(const Graph& graph, const std::string& path) {
  try {
    verify(graph);
  } catch (const Bug& bug) {
    fail("{}: {}", path, bug.what());
  }
  check_metadata(graph, path);
}

}  // namespace

Graph as_stored(Graph graph, const std::string& path) {
  label_constants(graph, path);
  return with_unique_labels(std::move(graph));
}

namespace {

const std::string& stored_label(const Value& held, const std::string& path) {
  if (held.label.empty() || held.label.starts_with(kFilePrefix) || held.label.starts_with(kAnonymous))
    fail("{}: {} \"{}\" has a name that an artefact can't store", path, to_string(held.role), held.label);
  return held.label;
}

Contents contents_of(const std::string& path, const Graph& graph, const std::map<std::string, std::string>& files) {
  const Graph labelled = as_stored(graph, path);
  Contents contents{.metadata = {{kVersionKey, std::to_string(kWholeVersion)},
                                 {kGraphKey, print(labelled, {.max_inline_elements = 0})}}};
  const auto store = labelled.metadata.find(kStoreKey);
  const bool sparse = store != labelled.metadata.end() && store->second == kSparse;
  for_each_graph(labelled, [&](const Graph& each) {
    const auto add = [&](const std::string& label, const Tensor& tensor) {
      if (!label.empty()) add_tensor(label, tensor, sparse, contents);
    };
    for (ValueId id : each.constants()) add(each.value(id).label, *each.constant(id));
    for (ValueId id : each.inputs())
      if (const Value& input = each.value(id); input.initial) add(stored_label(input, path), *input.initial);
  });
  for (const auto& [name, content] : files) {
    if (!is_plain_file_name(name)) fail("{}: \"{}\" is no plain name of a file that a model carries", path, name);
    contents.tensors.push_back(
        {std::string(kFilePrefix) + name, raw_bytes(Buffer::copy_of(std::as_bytes(std::span(content))))});
  }
  return contents;
}

}  // namespace

void save_artefact(const std::string& path, const Graph& graph, const std::map<std::string, std::string>& files) {
  const Contents contents = contents_of(path, graph, files);
  write_safetensors(path, contents.tensors, contents.metadata);
}

int64_t artefact_bytes(const Graph& graph, const std::map<std::string, std::string>& files) {
  const Contents contents = contents_of("artefact", graph, files);
  return safetensors_bytes(contents.tensors, contents.metadata);
}

Artefact load_artefact(const std::string& path) {
  const SafetensorsFile file(path);
  check_version(file);
  const Reader reader(file);
  const ParseContext context{
      .find_op = [](std::string_view name) { return ops::find(name); },
      .op_names = [] { return names_of(ops::all()); },
      .find_constant = [&](const std::string& name, const TensorType& type) { return reader.find(name, type); }};
  Artefact artefact{parse_graph(metadata_of(file, kGraphKey), context, path + ": graph"), {}};
  check_graph(artefact.graph, path);
  forget_anonymous_labels(artefact.graph);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(kFilePrefix)) continue;
    artefact.files.insert(carried_file(file, entry));
  }
  return artefact;
}

bool is_artefact(const std::string& path) {
  if (std::filesystem::is_directory(path)) return false;
  if (!path.ends_with(".safetensors")) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    uint64_t length = 0;
    if (bytes.size() >= 9) std::memcpy(&length, bytes.data(), 8);
    if (length == 0 || length > bytes.size() - 8 || bytes[8] != std::byte{'{'}) return false;
  }
  return SafetensorsFile(path).metadata().contains(kVersionKey);
}

}  // namespace hone
