#include "io/hf_directory.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/export_command.h"
#include "base/file_name.h"
#include "base/shell.h"
#include "io/peft.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxText = 256 << 20;  // configurations and vocabularies are far smaller

std::string inside(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

std::optional<Json> read_json_if_present(const std::string& path) {
  if (!fs::exists(path)) return std::nullopt;
  Json value = parse_json(read_file(path, kMaxText), path);
  return value;
}

std::optional<std::string> read_if_present(const std::string& path) {
  if (!fs::exists(path)) return std::nullopt;
  return read_file(path, kMaxText);
}

// auto_map is what transformers asks trust_remote_code for: classes in Python files of the folder, or of another one.
void refuse_own_code(const Json& config, const std::string& folder) {
  const Json map = config.value("auto_map", Json());
  if (!map.is_object() || map.empty()) return;
  const std::string path = inside(folder, "config.json");
  fail(
      "{}: the model is computed by code that comes with it (auto_map: {}: {}; trust_remote_code), which hone does not "
      "run: it could do anything, and config.json does not say what it computes. Where transformers' own class of that "
      "name computes the same, take auto_map out. Or, where you trust the code: {}",
      path, map.begin().key(), json_excerpt(map.begin().value()), onnx_export_command(folder) + " --trust-remote-code");
}

Json read_config(const std::string& folder) {
  const std::string path = inside(folder, "config.json");
  if (!fs::exists(folder)) fail("{}: no such file or folder", folder);
  if (!fs::is_directory(folder))
    fail("{}: not a folder; a Hugging Face model is a folder with config.json and model.safetensors", folder);
  if (const std::string adapter = inside(folder, kAdapterConfig); !fs::exists(path) && fs::exists(adapter)) {
    const Json found = read_json_file(adapter);
    const Json base = found.is_object() ? found.value("base_model_name_or_path", Json()) : Json();
    fail(
        "{}: holds adapters of PEFT, and not the model that they are for{}. Try: hone lora import MODEL --adapter {} "
        "-o "
        "adapted.safetensors",
        folder, base.is_string() ? fmt::format(" ({})", base.get<std::string>()) : "", shell_quoted(folder));
  }
  if (!fs::exists(path))
    fail("{}: the folder has no config.json; expected a Hugging Face model: config.json and model.safetensors", folder);
  Json config = parse_json(read_file(path, kMaxText), path);
  if (!config.is_object()) fail("{}: holds {}; expected an object", path, config.type_name());
  refuse_own_code(config, folder);
  return config;
}

int64_t positive_or_zero(const Json& value, const std::string& key, const std::string& source) {
  if (!value.is_object()) fail("{}: holds {}; expected an object", source, value.type_name());
  if (!value.contains(key) || value[key].is_null()) return 0;
  // Unlimited is written as 1e30, which is no integer.
  if (value[key].is_number_float() || value[key].is_number_unsigned()) {
    const double n = value[key].get<double>();
    return n >= 1 && n <= 1 << 30 ? static_cast<int64_t>(n) : 0;
  }
  fail("{}: key \"{}\" is {}; expected a length", source, key, json_excerpt(value[key]));
}

TokenizerFiles read_tokenizer(const std::string& folder) {
  TokenizerFiles files;
  for (const auto& [first, second] : kTokenizerSets) {
    if (!fs::exists(inside(folder, first)) || (second && !fs::exists(inside(folder, second)))) continue;
    for (const char* name : {first, second})
      if (name) files.vocabulary[name] = read_file(inside(folder, name), kMaxText);
    break;
  }
  for (const char* name : kTokenizerSettings)
    if (auto text = read_if_present(inside(folder, name))) files.settings[name] = *std::move(text);
  const std::string settings_path = inside(folder, kTokenizerConfig);
  if (const auto settings = read_json_if_present(settings_path)) {
    if (settings->contains("do_lower_case"))
      files.lowercase = json_get<bool>(*settings, "do_lower_case", settings_path);
    files.max_length = positive_or_zero(*settings, "model_max_length", settings_path);
  }
  const std::string sentence_path = inside(folder, "sentence_bert_config.json");
  if (const auto sentence = read_json_if_present(sentence_path))
    if (const int64_t length = positive_or_zero(*sentence, "max_seq_length", sentence_path)) files.max_length = length;
  return files;
}

// A path stated by a file of the folder must stay in the folder.
void check_contained(const std::string& name, const std::string& source) {
  for (const auto& part : fs::path(name))
    if (!part.empty() && !is_plain_file_name(part.string()))
      fail("{}: \"{}\" leads out of the model's folder", source, name);
}

struct Modules {
  Json pooling;
  bool normalise = false;
};

// modules.json of sentence-transformers: Transformer, Pooling and perhaps Normalize, in this order.
Modules read_modules(const std::string& folder) {
  Modules modules;
  const std::string path = inside(folder, "modules.json");
  const auto list = read_json_if_present(path);
  if (!list) return modules;
  if (!list->is_array()) fail("{}: holds {}; expected a list of modules", path, list->type_name());
  for (const Json& module : *list) {
    const auto type = json_get<std::string>(module, "type", path);
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Pooling") {
      const auto name = json_get<std::string>(module, "path", path);
      check_contained(name, path);
      modules.pooling = read_json_file(inside(inside(folder, name), "config.json"));
    } else if (kind == "Normalize") {
      modules.normalise = true;
    } else if (kind == "Transformer") {
      const auto name = json_get<std::string>(module, "path", path);
      if (!name.empty())
        fail("{}: the Transformer module is in \"{}\"; only a model at the top of the folder is read", path, name);
    } else {
      fail("{}: module \"{}\" is not supported; supported: Transformer, Pooling, Normalize", path, type);
    }
  }
  return modules;
}

Json read_prompts(const Json& settings, const std::string& path) {
  const Json prompts = settings.value("prompts", Json());
  if (prompts.is_null()) return Json::object();
  if (!prompts.is_object())
    fail("{}: prompts is {}; expected an object from name to text", path, json_excerpt(prompts));
  for (const auto& [name, text] : prompts.items())
    if (!text.is_string()) fail("{}: prompt \"{}\" is {}; expected a text", path, name, json_excerpt(text));
  return prompts;
}

std::string read_default_prompt(const Json& settings, const Json& prompts, const std::string& path) {
  const Json name = settings.value("default_prompt_name", Json());
  if (name.is_null()) return "";
  if (!name.is_string() || !prompts.contains(name.get<std::string>()))
    fail("{}: default_prompt_name is {}, which is none of the prompts", path, json_excerpt(name));
  return prompts.at(name.get<std::string>()).get<std::string>();
}

Json read_generation(const std::string& path) {
  const auto settings = read_json_if_present(path);
  if (!settings) return Json::object();
  if (!settings->is_object()) fail("{}: holds {}; expected an object", path, settings->type_name());
  return *settings;
}

// A text, or a list of named ones, of which "default" is taken.
std::string default_template(const Json& given, const std::string& path) {
  if (given.is_null()) return "";
  if (given.is_string()) return given.get<std::string>();
  if (!given.is_array()) fail("{}: chat_template is {}; expected a text or a list", path, given.type_name());
  for (const Json& each : given) {
    if (!each.is_object()) fail("{}: chat_template has {}; expected {{name, template}}", path, json_excerpt(each));
    if (json_get<std::string>(each, "name", path) == "default") return json_get<std::string>(each, "template", path);
  }
  return "";
}

// A file of its own comes before what the tokenizer's settings say.
std::string read_chat_template(const std::string& folder, const TokenizerFiles& tokenizer) {
  if (auto text = read_if_present(inside(folder, "chat_template.jinja"))) return *std::move(text);
  const auto settings = tokenizer.settings.find(kTokenizerConfig);
  if (settings == tokenizer.settings.end()) return "";
  const std::string path = inside(folder, kTokenizerConfig);
  return default_template(parse_json(settings->second, path).value("chat_template", Json()), path);
}

Json scheme_of(const Json& config, const std::string& source) {
  const Json scheme = config.value("quantization_config", Json());
  if (!scheme.is_null() && !scheme.is_object())
    fail("{}: quantization_config is {}; expected an object", source, scheme.type_name());
  check_scheme(scheme, source);
  return scheme;
}

}  // namespace

HfDirectory::HfDirectory(const std::string& path)
    : path_(path),
      config_(read_config(path)),
      tokenizer_(read_tokenizer(path)),
      weights_(path, weight_prefix(config_), scheme_of(config_, config_path())) {
  weights_.set_config(config_);
  generation_ = read_generation(generation_path());
  chat_template_ = read_chat_template(path, tokenizer_);
  Modules modules = read_modules(path);
  pooling_ = std::move(modules.pooling);
  normalise_ = modules.normalise;
  const std::string prompts_path = inside(path, "config_sentence_transformers.json");
  const auto settings = read_json_if_present(prompts_path);
  if (!settings) return;
  if (!settings->is_object()) fail("{}: holds {}; expected an object", prompts_path, settings->type_name());
  prompts_ = read_prompts(*settings, prompts_path);
  default_prompt_ = read_default_prompt(*settings, prompts_, prompts_path);
}

std::string HfDirectory::config_path() const { return inside(path_, "config.json"); }

std::string HfDirectory::generation_path() const { return inside(path_, "generation_config.json"); }

std::function<Tensor(const std::string&, const std::vector<int64_t>&)> HfDirectory::weight_source() {
  return [this](const std::string& name, const std::vector<int64_t>& shape) { return weights_.tensor(name, shape); };
}

}  // namespace hone
