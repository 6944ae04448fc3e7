#include "cli/option_flags.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "-o,--output", "MODEL"; of a flag that is on "--no-verify".
std::string names_text(const OptionInfo& field) {
  const bool is_on = field.kind == OptionKind::flag && field.default_text == "true";
  const std::string name =
      field.traits.is_positional ? upper(field.name) : fmt::format("--{}{}", is_on ? "no-" : "", field.name);
  return field.traits.letter ? fmt::format("-{},{}", field.traits.letter, name) : name;
}

void add_flag(CLI::App& app, const OptionInfo& field, GivenOptions& given) {
  const bool is_on = field.default_text == "true";
  const auto note = [&given, key = std::string(field.name), value = std::string(is_on ? "false" : "true")] {
    given[key] = {value};
  };
  CLI::Option* flag = app.add_flag_callback(names_text(field), note, (is_on ? "turn off that " : "") + field.doc);
  if (*field.traits.group) flag->group(field.traits.group);
  if (*field.traits.only_with) flag->needs(app.get_option("--" + std::string(field.traits.only_with)));
}

}  // namespace

std::string value_text(const OptionInfo& field) {
  if (field.kind == OptionKind::flag) return "";
  const OptionTraits& traits = field.traits;
  if (*traits.value) return traits.value;
  if (traits.choices) {
    std::string all;
    for (const std::string& each : traits.choices()) all += (all.empty() ? "{" : ",") + each;
    return all + "}";
  }
  if (traits.file == OptionFile::reads_pairs) return "NAME=FILE";
  if (traits.file != OptionFile::none) return "FILE";
  if (field.kind != OptionKind::integer && field.kind != OptionKind::number) return "TEXT";
  const std::string type = field.kind == OptionKind::integer ? "INT" : "FLOAT";
  const bool from = std::isfinite(traits.least), to = std::isfinite(traits.most);
  if (from && to) return fmt::format("{} in [{:.15g} - {:.15g}]", type, traits.least, traits.most);
  if (from) return fmt::format("{} from {:.15g}", type, traits.least);
  return to ? fmt::format("{} up to {:.15g}", type, traits.most) : type;
}

std::string option_text(const OptionInfo& field) {
  const std::string value = value_text(field);
  return names_text(field) + (value.empty() || field.traits.is_positional ? "" : " " + value);
}

void refuse_usage(const std::string& what) { throw CLI::ValidationError(what); }

void add_field(CLI::App& app, const OptionInfo& field, const ValueFault& fault, GivenOptions& given) {
  const OptionTraits& traits = field.traits;
  if (field.kind == OptionKind::flag) return add_flag(app, field, given);
  CLI::Option* option = app.add_option(names_text(field), given[field.name], field.doc);
  if (field.kind != OptionKind::list) option->expected(1)->allow_extra_args(false);
  else if (traits.has_commas) option->delimiter(',');
  if (field.kind == OptionKind::list && !traits.takes_several && !traits.is_positional) option->allow_extra_args(false);
  if (traits.last_counts) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  option->type_name(value_text(field));
  if (!field.default_text.empty()) option->default_str(field.default_text);
  if (field.required && traits.is_flag_only) option->required();  // else a file may have it
  if (fault) option->check(CLI::Validator(fault, ""));
  if (*traits.group) option->group(traits.group);
  if (*traits.only_with) option->needs(app.get_option("--" + std::string(traits.only_with)));
  if (*traits.not_with) option->excludes(app.get_option("--" + std::string(traits.not_with)));
}

}  // namespace hone
