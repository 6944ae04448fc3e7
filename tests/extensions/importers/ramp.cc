// ramp: a text whose line "hone-ramp" is followed by numbers, one a line, the slopes w of y = x * w. Lines before it
// say what the file is for.
#include <charconv>
#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "importers/importer.h"
#include "ops/registry.h"

namespace hone {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr std::string_view kMagic = "hone-ramp\n";

std::vector<float> slopes_of(const std::string& text, const std::string& path) {
  const size_t begin = text.find(kMagic);
  if (begin == std::string::npos) fail("{}: has no line hone-ramp; expected one, and numbers after it", path);
  std::vector<float> slopes;
  for (const std::string& line : split(std::string_view(text).substr(begin + kMagic.size()), '\n')) {
    if (line.empty()) continue;
    float slope = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), slope);
    if (error != std::errc() || end != line.data() + line.size() || !std::isfinite(slope))
      fail("{}: number {} is \"{}\"; expected a finite number", path, slopes.size() + 1, line);
    slopes.push_back(slope);
  }
  if (slopes.empty()) fail("{}: has no numbers after hone-ramp; expected at least one", path);
  return slopes;
}

Model read(const std::string& path, const ImportOptions& options) {
  if (!options.inputs.empty()) fail("{}: a ramp takes x; --inputs chooses those of a folder", path);
  const std::vector<float> slopes = slopes_of(read_file(path, kMostBytes), path);
  const auto n = static_cast<int64_t>(slopes.size());
  Tensor w(DType::f32, {n});
  std::copy(slopes.begin(), slopes.end(), w.mutable_as<float>().begin());
  Model model;
  const ValueId x = model.graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), n}});
  model.graph.add_output(model.graph.emit(ops::get("mul"), {x, model.graph.add_constant("w", w)}), "y");
  model.weight_files = {path};
  return model;
}

Certainty recognises(const ImportCandidate& candidate) {
  if (candidate.first_bytes.find(kMagic) != std::string::npos) return Certainty::certain;
  return candidate.path.ends_with(".ramp") ? Certainty::likely : Certainty::none;
}

}  // namespace

extern constinit const ImporterDef ramp_importer_def{.name = "ramp",
                                                     .doc = "slopes, one a line",
                                                     .needs = "a .ramp file",
                                                     .endings = ".ramp",
                                                     .recognises = recognises,
                                                     .read = read};

}  // namespace hone
