#include "nas/trial_plan.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "models/find_model.h"

namespace hone {

std::vector<std::string> option_texts(const Json& value) {
  if (value.is_array()) {
    std::vector<std::string> all;
    for (const Json& element : value)
      for (std::string& text : option_texts(element)) all.push_back(std::move(text));
    return all;
  }
  return {value.is_string() ? value.get<std::string>() : value.dump()};
}

namespace {

std::string text_of(const Json& value) {
  const std::vector<std::string> texts = option_texts(value);
  if (texts.size() != 1) fail("takes one value, found {}", json_excerpt(value));
  return texts[0];
}

Json config_of(const TrialPlan& plan) {
  return plan.model.ends_with(".json") ? read_json_file(plan.model) : preset_config(plan.model);
}

// "hidden_size", or an element of a list: "widths.0".
void set_build(TrialPlan& plan, const std::string& key, const Json& value) {
  if (!plan.is_built())
    fail("{} is a file of weights, whose architecture is given; build.{} is for models that hone build knows",
         plan.model, key);
  const Json config = config_of(plan);
  const size_t dot = key.rfind('.');
  const std::string whole = key.substr(0, dot);
  if (!config.contains(whole)) {
    std::vector<std::string> keys;
    for (const auto& [name, unused] : config.items()) keys.push_back(name);
    fail("{} has no key {}; it has {}{}", plan.model, whole, fmt::join(keys, ", "), did_you_mean(whole, keys));
  }
  if (dot == key.npos) {
    plan.build[key] = value.is_string() ? value.get<std::string>() : value.dump();
    return;
  }
  const auto set = plan.build.find(whole);
  Json list = set == plan.build.end() ? config.at(whole) : parse_json(set->second, whole);
  const std::string place = key.substr(dot + 1);
  const bool digits = !place.empty() && place.size() < 4 && place.find_first_not_of("0123456789") == place.npos;
  if (!list.is_array() || !digits || static_cast<size_t>(std::stoi(place)) >= list.size())
    fail("{} of {} is {}, which has no element {}", whole, plan.model, json_excerpt(list), place);
  list[static_cast<size_t>(std::stoi(place))] = value;
  plan.build[whole] = list.dump();
}

// "linear" leaves a layer as it is; "identity" takes it out.
void set_layer(TrialPlan& plan, const std::string& key, const Json& value) {
  if (value == "identity") plan.identities.push_back(key);
  else if (value != "linear") fail("expected \"linear\" or \"identity\", found {}", json_excerpt(value));
}

// Steps stand instead of epochs; 0 of both: there is no training. Whether there is any.
bool set_training(TrainingOptions& options, const std::string& key, const Json& value) {
  set_option(training_fields(), options, key, option_texts(value));
  if (key == "steps") options.epochs = 0;
  if (key == "epochs") options.steps = 0;
  return options.steps > 0 || options.epochs > 0;
}
void set_train(TrialPlan& plan, const std::string& key, const Json& value) {
  plan.trains = set_training(plan.train, key, value);
}
void set_retrain(TrialPlan& plan, const std::string& key, const Json& value) {
  plan.retrains = set_training(plan.retrain, key, value);
}

void set_prune(TrialPlan& plan, const std::string& key, const Json& value) {
  set_option(prune_fields(), plan.prune, key, option_texts(value));
  check_options(plan.prune);
  plan.prunes = plan.prune.sparsity != 0;
}

void set_quantize(TrialPlan& plan, const std::string& key, const Json& value) {
  if (key == "calib" || key == "calib-batch") {
    set_option(calibration_fields(), plan.calibration, key, option_texts(value));
  } else if (key == "to" || key == "activations") {
    std::string& format = key == "to" ? plan.quantize.to : plan.quantize.activations;
    format = text_of(value) == "keep" ? "" : text_of(value);
    if (!format.empty()) parse_format(format);
  } else {
    set_option(quantize_fields(), plan.quantize, key, option_texts(value));
  }
}

// What hone quantize --rule takes: the address of weights, inputs or biases, and a format.
void set_format(TrialPlan& plan, const std::string& key, const Json& value) {
  const std::string format = text_of(value);
  if (format != "keep") parse_format(format);
  plan.formats.emplace_back(key, format);
}

void set_compile(TrialPlan& plan, const std::string& key, const Json& value) {
  if (key != "compute") fail("unknown option {}; known: compute", key);
  plan.compute = parse_compute(text_of(value));
}

constexpr Knob kKnobs[] = {
    {"build", "keys of the configuration of a model that hone build knows; an element of a list is widths.0",
     set_build},
    {"layer", "a square linear layer by its name: \"linear\", or \"identity\" to leave it out", set_layer},
    {"train", "options of hone train: the training before compression; lora, lora-rank and rate among them", set_train},
    {"prune", "options of hone prune: sparsity, method, structure, scope", set_prune},
    {"format", "the format of weights or inputs, by an address of hone quantize --rule: op:linear, fc1.weight, fc1.in",
     set_format},
    {"quantize", "options of hone quantize: to, activations, method; \"keep\" rounds nothing", set_quantize},
    {"retrain", "options of hone train: the training after compression, on weights as they will be rounded",
     set_retrain},
    {"compile", "compute: f32 or bf16, what products read", set_compile},
};

}  // namespace

bool TrialPlan::is_built() const { return model.ends_with(".json") || !std::filesystem::exists(model); }

std::span<const Knob> knobs() { return kKnobs; }

std::string knobs_text() {
  std::string text;
  for (const Knob& knob : kKnobs) text += fmt::format("  {:9} {}\n", knob.table, knob.doc);
  return text;
}

void set_knob(TrialPlan& plan, const std::string& name, const Json& value) {
  const size_t dot = name.find('.');
  const std::string table = name.substr(0, dot);
  for (const Knob& knob : kKnobs) {
    if (table != knob.table) continue;
    if (dot == name.npos || dot + 1 == name.size()) fail("{}: expected {}.KEY: {}", name, table, knob.doc);
    try {
      knob.set(plan, name.substr(dot + 1), value);
    } catch (const Error& e) {
      fail("{}: {}", name, e.what());
    }
    return;
  }
  std::vector<std::string> tables;
  for (const Knob& knob : kKnobs) tables.emplace_back(knob.table);
  fail("{}: nothing of a model is called so; names begin with {}{}", name, fmt::join(tables, "., "),
       did_you_mean(table, tables));
}

}  // namespace hone
