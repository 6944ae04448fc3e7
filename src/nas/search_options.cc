#include "nas/search_options.h"

#include "base/registry.h"
#include "importers/registry.h"
#include "io/toml.h"
#include "nas/search_config.h"

namespace hone {
namespace {

std::vector<std::string> importer_names() { return names_of(importers::all()); }

constexpr OptionField<SearchFlags> kOwn[] = {
    flag("model", "A folder, .onnx file or file of hone, or a name or configuration of hone build", &SearchFlags::model,
         {.is_positional = true}),
    flag("config", "TOML file with all that is asked for; flags win (docs/search.md)", &SearchFlags::config,
         {.file = OptionFile::reads}),
    flag("space", "TOML file with [parameters]: what is tried, and constraints", &SearchFlags::space,
         {.file = OptionFile::reads}),
    flag("data", "What candidates are trained on and judged by", &SearchFlags::data, {.file = OptionFile::reads}),
    flag("objective",
         "accuracy, loss, bits, bytes, latency, memory, flops or another metric; several for a front; or a weighted "
         "sum: accuracy - 0.05*bits",
         &SearchFlags::objectives, {.has_commas = true, .takes_several = true}),
    flag("budget", "What candidates must keep: bits<=4.5, bytes<=1MB, accuracy>=0.9", &SearchFlags::budgets,
         {.has_commas = true, .takes_several = true}),
    flag("trials", "Candidates in all, those of earlier runs included (30)", &SearchFlags::trials),
    flag("sampler", "random, grid, qmc, tpe, nsga2, cmaes, evolution, ilp or ilp-tpe (tpe; docs/search.md)",
         &SearchFlags::sampler),
    flag("sampler-option", "One of the sampler's own, e.g. startup=5", &SearchFlags::sampler_options,
         {.takes_several = true}),
    flag("pruner", "median, percentile, successive-halving, hyperband, patience or threshold", &SearchFlags::pruner),
    flag("pruner-option", "One of the pruner's own", &SearchFlags::pruner_options, {.takes_several = true}),
    flag("seed", "Random seed of the sampler (1)", &SearchFlags::seed, {.least = 0}),
    flag("workers", "Candidates at once", &SearchFlags::workers),
    flag("storage", "Where studies are kept: study.db, study.log, or memory", &SearchFlags::storage),
    flag("study", "Name of the study; or which one of those in --config", &SearchFlags::study, {.last_counts = true}),
    flag("resume", "Go on with a study that is there", &SearchFlags::resume),
    flag("output", "The chosen model, .safetensors; of several objectives or studies a folder for them",
         &SearchFlags::output, {.letter = 'o', .last_counts = true}),
    flag("rebuild", "Search nothing: make the candidate of this trial again, as --output", &SearchFlags::rebuild,
         {.last_counts = true}),
    flag("inputs", "Inputs of a folder's model, e.g. input_ids,attention_mask", &SearchFlags::inputs,
         {.has_commas = true, .takes_several = true}),
    flag("model-format", "Kind of the model's files, where they do not tell", &SearchFlags::model_format,
         {.choices = importer_names})};

constexpr std::string_view kOfData = "data-";

Json given_flags(const SearchFlags& flags) {
  Json all = Json::object();
  const auto set = [&](const char* key, const auto& value) {
    if (!value.empty()) all[key] = value;
  };
  set("model", flags.model);
  set("data", flags.data);
  set("inputs", flags.inputs);
  set("model-format", flags.model_format);
  set("objective", flags.objectives);
  set("budget", flags.budgets);
  set("sampler", flags.sampler);
  set("sampler-option", flags.sampler_options);
  set("pruner", flags.pruner);
  set("pruner-option", flags.pruner_options);
  for (const OptionField<DataOptions>& field : DataOptions::fields())
    if (const auto found = flags.given.find(std::string(kOfData) + field.name); found != flags.given.end())
      if (!found->second.empty()) all["reading"][field.name] = found->second;
  if (flags.trials) all["trials"] = *flags.trials;
  if (flags.seed) all["seed"] = *flags.seed;
  if (flags.space.empty()) return all;
  const Json space = read_toml_file(flags.space);
  for (const auto& [key, value] : space.items()) {
    if (key != "parameters" && key != "constraints")
      fail("{}: unknown key {}; a space has parameters and constraints, --config takes the rest", flags.space, key);
    all[key] = value;
  }
  return all;
}

}  // namespace

std::span<const OptionField<SearchFlags>> SearchFlags::fields() {
  static const auto all =
      joined_fields<SearchFlags>(kOwn, prefixed(kOfData.data(), DataOptions::fields()), RunFlags::fields());
  return all;
}

SearchModelOptions SearchFlags::typed() const {
  return {.tree = config.empty() ? Json::object() : read_search_config(config),
          .flags = given_flags(*this),
          .source = !space.empty()    ? space
                    : !config.empty() ? config
                                      : "hone search",
          .storage = storage,
          .study = study,
          .output = output,
          .workers = workers,
          .resume = resume,
          .session = session_options()};
}

}  // namespace hone
