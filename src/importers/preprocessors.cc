#include "importers/preprocessors.h"

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "data/image_processor.h"
#include "importers/image_metadata.h"
#include "importers/sound_metadata.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct Found {
  Json config;
  std::string source;
};

std::optional<Found> find_config(const std::string& folder, const char* part) {
  const std::string own = (fs::path(folder) / kPreprocessorConfig).string();
  if (fs::exists(own)) return Found{read_json_file(own), own};
  const std::string whole = (fs::path(folder) / kProcessorConfig).string();
  if (!fs::exists(whole)) return std::nullopt;
  const Json config = read_json_file(whole);
  if (!config.is_object() || !config.contains(part)) return std::nullopt;
  return Found{config.at(part), whole + ": " + part};
}

}  // namespace

void read_preprocessors(Model& model, const std::string& folder) {
  if (image_input_of(model.graph) != kNone) {
    if (const auto found = find_config(folder, "image_processor"))
      describe_images(model, read_image_processor(found->config, found->source));
  } else if (sound_input_of(model.graph) != kNone) {
    if (const auto found = find_config(folder, "feature_extractor"))
      describe_sounds(model, read_sound_processor(found->config, found->source));
  }
}

std::string preprocessor_config_of(const Model& model) {
  if (image_input_of(model.graph) != kNone) {
    const ImageTransform images = image_transform_of(model);
    return images == ImageTransform() ? "" : image_processor_of(images).dump(2);
  }
  if (sound_input_of(model.graph) == kNone) return "";
  const SoundTransform sounds = sound_transform_of(model);
  return sounds.rate == 0 ? "" : sound_processor_of(sounds).dump(2);
}

}  // namespace hone
