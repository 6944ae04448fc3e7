#include "nas/search_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "importers/importer.h"
#include "io/toml.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKeys{"model",           "inputs",     "data",          "tokenizer",     "vocabulary",
                                     "inherit",         "objective",  "budget",        "trials",        "sampler",
                                     "sampler-option",  "pruner",     "pruner-option", "seed",          "seeds",
                                     "latency-seconds", "parameters", "constraints",   "reading",       "evaluate",
                                     "studies",         "first",      "supernet",      "latency-table", "model-format"};

std::vector<std::string> texts(const Json& tree, const std::string& key, const std::string& source) {
  const Json value = json_get<Json>(tree, key, source);
  std::vector<std::string> all;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (!one.is_string()) fail("{}: {} is {}; expected a text, or a list of texts", source, key, json_excerpt(one));
    all.push_back(one.get<std::string>());
  }
  return all;
}

std::string text(const Json& tree, const std::string& key, const std::string& source, const std::string& unset = "") {
  return tree.contains(key) ? json_get<std::string>(tree, key, source) : unset;
}

OptionPairs pairs(const Json& tree, const std::string& key, const std::string& source) {
  OptionPairs all;
  if (!tree.contains(key)) return all;
  for (const std::string& one : texts(tree, key, source)) {
    const size_t at = one.find('=');
    if (at == one.npos || at == 0) fail("{}: {} \"{}\": expected NAME=VALUE", source, key, one);
    all.emplace_back(one.substr(0, at), one.substr(at + 1));
  }
  return all;
}

void read_options(const Json& table, const std::string& source, DataOptions& reading) {
  for (const auto& [key, value] : table.items()) {
    try {
      set_option(DataOptions::fields(), reading, key, option_texts(value));
    } catch (const Error& e) {
      fail("{}: [reading]: {}", source, e.what());
    }
  }
}

void read_evaluation(const Json& tree, const std::string& source, EvaluationOptions& judged) {
  const std::vector<std::string> known{"split", "limit", "batch", "output"};
  for (const auto& [key, value] : tree.items()) {
    if (key == "split") judged.data.split = json_get<std::string>(tree, key, source);
    else if (key == "limit") judged.data.limit = json_get<int64_t>(tree, key, source);
    else if (key == "batch") judged.data.batch = json_get<int64_t>(tree, key, source);
    else if (key == "output") judged.output = json_get<std::string>(tree, key, source);
    else
      fail("{}: [evaluate] has no key {}; it has {}{}", source, key, fmt::join(known, ", "), did_you_mean(key, known));
  }
}

void read_first(const Json& tree, const std::string& source, FirstPoints& first) {
  const std::string where = source + ": [first]";
  if (!tree.is_object()) fail("{} is no table", where);
  const std::vector<std::string> known{"by", "of", "take"};
  for (const auto& [key, unused] : tree.items())
    if (!std::ranges::count(known, key))
      fail("{} has no key {}; it has {}{}", where, key, fmt::join(known, ", "), did_you_mean(key, known));
  first.by = json_get<std::string>(tree, "by", where);
  if (tree.contains("of")) first.of = json_get<int64_t>(tree, "of", where);
  if (tree.contains("take")) first.take = json_get<int64_t>(tree, "take", where);
  constexpr int64_t kMost = 100000;
  if (first.take < 1 || first.of < first.take || first.of > kMost)
    fail("{}: take {} of {}; expected 1 <= take <= of <= {}", where, first.take, first.of, kMost);
  const FigureSource known_from = figure_kind(first.by).source;
  if (known_from != FigureSource::start && known_from != FigureSource::file)
    fail("{}: {} is known of trained candidates only; take e.g. snip, synflow or parameters", where, first.by);
}

// Tables of knobs that are no parameters: all candidates share them.
void read_fixed(const Json& tree, SearchStudy& study) {
  for (const Knob& knob : knobs()) {
    if (!tree.contains(knob.table)) continue;
    const Json& table = tree.at(knob.table);
    if (!table.is_object()) fail("{}: {} is no table of keys", study.source, knob.table);
    for (const auto& [key, value] : table.items()) {
      try {
        const std::string name = fmt::format("{}.{}", knob.table, key);
        set_knob(study.fixed, name, value);
        study.shared[name] = value;
      } catch (const Error& e) {
        fail("{}: {}", study.source, e.what());
      }
    }
  }
}

// What is a file's name and no name of hone build.
bool is_path(const std::string& model) {
  return model.find('/') != model.npos || model.ends_with(".json") || has_model_ending(model);
}

// `source` is a configuration, which may say of itself what makes the file, a study of one, or the command line.
[[noreturn]] void refuse_missing(const char* key, const std::string& path, const std::string& source) {
  const std::string file = source.substr(0, source.find(": study "));
  fail("{}: {} {}: there is no such file or folder{}", source, key, path,
       file.ends_with(".toml") ? fmt::format("; the first lines of {} may say what makes it", file) : "");
}

void check_keys(const Json& tree, const std::string& source) {
  std::vector<std::string> known = kKeys;
  for (const Knob& knob : knobs()) known.emplace_back(knob.table);
  for (const auto& [key, unused] : tree.items())
    if (std::ranges::find(known, key) == known.end())
      fail("{}: unknown key {}; known: {}{}", source, key, fmt::join(known, ", "), did_you_mean(key, known));
}

SearchStudy study_of(const Json& tree, const std::string& source, const SessionOptions& session) {
  check_keys(tree, source);
  SearchStudy study{.source = source};
  study.fixed.model = text(tree, "model", source);
  if (study.fixed.model.empty()) fail("{}: no model; give MODEL, a file or a name of hone build", source);
  if (is_path(study.fixed.model) && !fs::exists(study.fixed.model)) refuse_missing("model", study.fixed.model, source);
  if (tree.contains("inputs")) study.fixed.inputs = texts(tree, "inputs", source);
  study.fixed.model_format = text(tree, "model-format", source);
  if (!study.fixed.inputs.empty() && study.fixed.is_built())
    fail("{}: inputs are of folders; what hone build builds takes what its family takes", source);
  if (!study.fixed.model_format.empty() && study.fixed.is_built())
    fail("{}: model-format is of files; {} is built", source, study.fixed.model);
  study.life.session = session;
  study.life.data = text(tree, "data", source);
  if (!study.life.data.empty() && !fs::exists(study.life.data)) refuse_missing("data", study.life.data, source);
  study.life.tokenizer = text(tree, "tokenizer", source);
  study.life.inherit = text(tree, "inherit", source);
  if (tree.contains("vocabulary")) study.life.vocabulary = json_get<int64_t>(tree, "vocabulary", source);
  if (study.life.vocabulary > 0 && !study.life.tokenizer.empty())
    fail("{}: tokenizer and vocabulary are given; leave one out", source);
  if (tree.contains("latency-seconds")) study.life.latency_seconds = json_get<double>(tree, "latency-seconds", source);
  study.life.latency_table = text(tree, "latency-table", source);
  if (study.life.latency_table.empty() && session.cache_folder)
    study.life.latency_table = *session.cache_folder + "/latencies.json";
  if (tree.contains("reading")) read_options(tree.at("reading"), source, study.life.judged.data.reading);
  study.life.judged.data.batch = 64;
  if (tree.contains("evaluate")) read_evaluation(tree.at("evaluate"), source, study.life.judged);
  if (tree.contains("trials")) study.trials = json_get<int64_t>(tree, "trials", source);
  if (study.trials < 1) fail("{}: trials are {}; at least 1", source, study.trials);
  if (tree.contains("seed")) study.seed = json_get<uint64_t>(tree, "seed", source);
  study.sampler = text(tree, "sampler", source, study.sampler);
  study.pruner = text(tree, "pruner", source, study.pruner);
  study.sampler_options = pairs(tree, "sampler-option", source);
  study.pruner_options = pairs(tree, "pruner-option", source);
  if (!tree.contains("objective")) fail("{}: no objective; give --objective, e.g. accuracy or bits", source);
  for (const std::string& one : texts(tree, "objective", source)) study.objectives.push_back(parse_objective(one));
  if (tree.contains("budget"))
    for (const std::string& one : texts(tree, "budget", source)) study.limits.push_back(parse_limit(one));
  for (const Objective& o : study.objectives)
    for (const Objective::Term& term : o.terms) study.life.figures.insert(term.figure);
  for (const FigureLimit& limit : study.limits) study.life.figures.insert(limit.figure);
  if (tree.contains("first")) {
    read_first(tree.at("first"), source, study.first);
    study.life.figures.insert(study.first.by);
  }
  if (tree.contains("supernet")) study.supernet = read_supernet(tree.at("supernet"), source);
  if (tree.contains("parameters")) study.parameters = tree.at("parameters");
  if (tree.contains("constraints")) study.constraints = tree.at("constraints");
  read_fixed(tree, study);
  return study;
}

// Tables are merged key by key; what a study gives as [parameters] is the whole space.
Json merged(const Json& base, const Json& over) {
  Json all = base;
  for (const auto& [key, value] : over.items()) {
    const bool tables = all.contains(key) && all[key].is_object() && value.is_object() && key != "parameters";
    all[key] = tables ? merged(all[key], value) : value;
  }
  return all;
}

}  // namespace

Json read_search_config(const std::string& path) {
  Json tree = read_toml_file(path);
  const fs::path folder = fs::path(path).parent_path();
  const auto see = [&](Json& table, const char* key) {
    if (!table.is_object() || !table.contains(key) || !table[key].is_string()) return;
    const fs::path seen = (folder / table[key].get<std::string>()).lexically_normal();
    if (std::string_view(key) != "model" || fs::exists(seen) || is_path(table[key].get<std::string>()))
      table[key] = seen.string();
  };
  const auto see_all = [&](Json& table) {
    for (const char* key : {"model", "data", "tokenizer", "inherit", "latency-table"}) see(table, key);
    if (table.contains("quantize")) see(table["quantize"], "calib");
    if (table.contains("supernet")) see(table["supernet"], "file");
  };
  see_all(tree);
  if (tree.contains("studies") && tree["studies"].is_object())
    for (auto& [name, study] : tree["studies"].items())
      if (study.is_object()) see_all(study);
  return tree;
}

std::vector<SearchStudy> studies_of(const Json& tree, const Json& flags, const std::string& source,
                                    const std::string& name, const SessionOptions& session) {
  std::vector<SearchStudy> studies;
  const auto add = [&](const Json& given, const std::string& from, const std::string& called) {
    Json one = merged(given, flags);
    if (flags.contains("seed")) one.erase("seeds");
    SearchStudy study = study_of(one, from, session);
    study.name = study.group = called;
    if (!one.contains("seeds")) {
      studies.push_back(std::move(study));
      return;
    }
    if (one.contains("seed")) fail("{}: seed and seeds are given; leave one out", from);
    for (const int64_t seed : json_get<std::vector<int64_t>>(one, "seeds", from)) {
      study.seed = static_cast<uint64_t>(seed);
      study.name = fmt::format("{}-{}", called, seed);
      studies.push_back(study);
    }
  };
  if (!tree.contains("studies")) {
    add(tree, source, name.empty() ? "study" : name);
    return studies;
  }
  Json base = tree;
  base.erase("studies");
  const Json& several = tree.at("studies");
  if (!several.is_object() || several.empty()) fail("{}: [studies] has no entries", source);
  for (const auto& [called, over] : several.items()) {
    const std::string from = fmt::format("{}: study {}", source, called);
    if (!over.is_object() || over.contains("studies")) fail("{}: expected a table of keys", from);
    add(merged(base, over), from, called);
  }
  if (name.empty()) return studies;
  std::vector<std::string> names;
  for (const SearchStudy& study : studies) names.push_back(study.name);
  std::erase_if(studies, [&](const SearchStudy& s) { return s.name != name && s.group != name; });
  if (studies.empty())
    fail("{}: has no study {}; it has {}{}", source, name, fmt::join(names, ", "), did_you_mean(name, names));
  return studies;
}

}  // namespace hone
