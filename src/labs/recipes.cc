#include "labs/recipes.h"

#include "labs/caption.h"

namespace hone {

std::vector<std::string> fewer_rows(const LabPlaces& places, const std::string& steps) {
  if (!places.quick) return {};
  return {"--steps", steps, "--batch", "16", "--max-length", "32"};
}

std::string training_caption_of(const LabPlaces& places, const std::string& config) {
  if (!places.quick) return training_caption(config);
  const std::vector<std::string> words = fewer_rows(places);
  Json keys = Json::object();
  for (size_t i = 0; i + 1 < words.size(); i += 2) keys[words[i].substr(2)] = parse_json(words[i + 1], words[i]);
  return training_caption(keys);
}

LabStep train_step(const std::string& name, const std::string& what, const std::string& model, const std::string& data,
                   const std::string& config, const std::string& output, const std::vector<std::string>& more) {
  const std::string folder = output.substr(0, output.rfind('.')) + ".run";
  LabStep step{.name = name,
               .what = what,
               .words = {"train", model, "--data", data, "--config", config, "--threads", "2", "--folder", folder,
                         "--resume", "-o", output, "--json"},
               .makes = {output, folder}};
  step.words.insert(step.words.end(), more.begin(), more.end());
  return step;
}

std::string teacher_model(const LabPlaces& places) { return places.shared("teacher") + ".safetensors"; }

LabStep teacher_step(const LabPlaces& places) {
  LabStep step = train_step("teacher", "the encoder learns the reviews", places.encoder(), places.reviews(),
                            places.recipe("teacher.toml"), teacher_model(places), fewer_rows(places));
  step.is_shared = true;
  return step;
}

std::string bert_tiny_model(const LabPlaces& places) { return places.shared("bert-tiny") + ".safetensors"; }

LabStep bert_tiny_untrained(const LabPlaces& places) {
  const std::string model = places.shared("untrained") + ".safetensors";
  return {.name = "untrained",
          .what = "bert-tiny with random weights",
          .words = {"build", places.recipe("config.json"), "--tokenizer", places.encoder(), "-o", model, "--json"},
          .makes = {model},
          .is_shared = true};
}

std::vector<LabStep> bert_tiny_steps(const LabPlaces& places) {
  const LabStep untrained = bert_tiny_untrained(places);
  const auto learn = [&](const std::string& what, const std::string& config, const std::vector<std::string>& more) {
    LabStep step = train_step("bert-tiny", what, untrained.makes[0], places.reviews(), places.recipe(config),
                              bert_tiny_model(places), more);
    step.is_shared = true;
    return step;
  };
  if (places.quick) return {untrained, learn("bert-tiny learns from labels", "quick.toml", {})};
  return {teacher_step(places), untrained,
          learn("bert-tiny learns from it", "student.toml", {"--teacher", teacher_model(places)})};
}

}  // namespace hone
