// A table of options (base/options.h) as flags of the command line.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"

namespace CLI {
class App;
}

namespace hone {

// What was given, by the field's name.
using GivenOptions = std::map<std::string, std::vector<std::string>>;

// Why a text is no value of the field; empty: it is one.
using ValueFault = std::function<std::string(const std::string& text)>;

// What stands for its value in help: "INT in [1 - 1024]", "{f32,bf16}", "FILE"; of a flag nothing.
std::string value_text(const OptionInfo& field);
std::string option_text(const OptionInfo& field);  // "--to FORMAT", "-o,--output FILE", "MODEL", "--no-verify"

void add_field(CLI::App& app, const OptionInfo& field, const ValueFault& fault, GivenOptions& given);

// Whether an empty text is the same as none: --device "".
template <class T>
bool is_no_text(const OptionField<T>& field) {
  return field.traits.is_flag_only && std::holds_alternative<std::string T::*>(field.member) &&
         describe_option(field).default_text.empty();
}

// Values of flags that are keys of files, too, are looked at when they are set (Error); of others the parser says that
// they are wrong usage.
template <class T>
void add_fields(CLI::App& app, std::span<const OptionField<T>> fields, GivenOptions& given) {
  for (const OptionField<T>& field : fields) {
    ValueFault fault;
    if (field.traits.is_flag_only || std::string_view(field.name) == "seed")
      fault = [&field](const std::string& text) -> std::string {
        if (text.empty() && is_no_text(field)) return "";
        try {
          T scratch{};
          set_option(std::span(&field, 1), scratch, field.name, {text});
        } catch (const Error& error) {
          return error.what();
        }
        return "";
      };
    add_field(app, describe_option(field), fault, given);
  }
}

[[noreturn]] void refuse_usage(const std::string& what);  // the program exits as for a flag that is unknown

template <class T>
void set_fields(std::span<const OptionField<T>> fields, T& options, const GivenOptions& given) {
  for (const OptionField<T>& field : fields)
    if (const auto found = given.find(field.name); found != given.end() && !found->second.empty()) {
      if (!is_no_text(field) || !found->second.front().empty()) set_option(fields, options, field.name, found->second);
    }
}

}  // namespace hone
