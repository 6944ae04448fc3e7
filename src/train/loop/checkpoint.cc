#include "train/loop/checkpoint.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/hash_stream.h"
#include "base/inputs.h"
#include "base/text.h"
#include "io/pieces.h"
#include "io/safetensors.h"
#include "runtime/check_finite.h"

namespace hone {
namespace {

constexpr const char *kVersion = "1", *kVersionKey = "hone.checkpoint", *kChecksumKey = "hone.checksum";

uint64_t hash_tensor(const std::string& name, const Tensor& tensor, uint64_t seed) {
  const std::vector<int64_t>& shape = tensor.shape();
  seed = hash_text(fmt::format("{} {}", name, to_string(tensor.dtype())), seed);
  seed = hash_bytes(std::as_bytes(std::span(shape)), seed);
  HashStream hash(seed);
  for_each_piece(tensor, [&](std::span<const std::byte> piece) { hash.update(piece); });
  return hash.value();
}

std::string checksum(const std::map<std::string, std::string>& metadata, const std::map<std::string, Tensor>& tensors) {
  uint64_t hash = 0;
  for (const auto& [key, text] : metadata)
    if (key != kChecksumKey) hash = hash_text(text, hash_text(key, hash));
  for (const auto& [name, tensor] : tensors) hash = hash_tensor(name, tensor, hash);
  return fmt::format("{:016x}", hash);
}

}  // namespace

Tensor own_copy(const Tensor& tensor) {
  Buffer copy(tensor.data().size());  // of the system where it is large, so that it goes back at once
  std::byte* out = copy.mutable_bytes().data();
  for_each_piece(tensor, [&](std::span<const std::byte> piece) { out = std::ranges::copy(piece, out).out; });
  return Tensor(tensor.dtype(), tensor.shape(), std::move(copy));
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (const std::string fault = first_not_finite(tensor); !fault.empty())
      fail(
          "{}: is not written, since {} of what was trained has {}. Try a smaller rate, a longer warm-up or clip-norm; "
          "a checkpoint that is there already is whole",
          path, name, fault);
  std::map<std::string, std::string> metadata{{kVersionKey, kVersion},
                                              {"hone.model", checkpoint.model},
                                              {"hone.options", checkpoint.options},
                                              {"hone.progress", checkpoint.progress.dump()}};
  metadata[kChecksumKey] = checksum(metadata, checkpoint.tensors);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : checkpoint.tensors) tensors.push_back({name, tensor});
  write_safetensors(path, tensors, metadata);
}

Checkpoint load_checkpoint(const std::string& path) {
  const SafetensorsFile file(path);
  const std::map<std::string, std::string>& metadata = file.metadata();
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) fail("{}: is no checkpoint of hone train: it has no \"{}\"", path, key);
    return found->second;
  };
  if (text(kVersionKey) != kVersion)
    fail("{}: is a checkpoint of version {}; this hone reads version {}", path, text(kVersionKey), kVersion);
  Checkpoint checkpoint{.model = text("hone.model"), .options = text("hone.options"), .progress = {}, .tensors = {}};
  for (const SafetensorsEntry& entry : file.entries()) checkpoint.tensors[entry.name] = file.tensor(entry.name);
  if (text(kChecksumKey) != checksum(metadata, checkpoint.tensors))
    fail("{}: its contents do not fit its checksum: it was changed or damaged after it was written", path);
  checkpoint.progress = parse_json(text("hone.progress"), path);
  may_replace(path);  // by what goes on from it
  return checkpoint;
}

void check_resumable(const std::string& path, const Checkpoint& checkpoint, const std::string& model,
                     const std::string& options) {
  if (checkpoint.model != model)
    fail("{}: is of another model (SHA-256 {:.12}…; this one has {:.12}…)", path, checkpoint.model, model);
  const std::vector<std::string> was = split(checkpoint.options, '\n'), is = split(options, '\n');
  for (size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    const std::string before = i < was.size() ? was[i] : "", now = i < is.size() ? is[i] : "";
    if (before != now)
      fail("{}: was written with other options: it has \"{}\", this run \"{}\". Resume with the same, or train anew",
           path, before, now);
  }
}

}  // namespace hone
