// A table of options (base/options.h) as flags of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"

namespace hone {

// What was given, by the field's name.
using GivenOptions = std::map<std::string, std::vector<std::string>>;

// `prefix` stands before the names where the verb has flags of the same ones: "data-" gives --data-label.
template <class T>
void add_fields(CLI::App& app, std::span<const OptionField<T>> fields, GivenOptions& given,
                const std::string& prefix = "") {
  for (const OptionField<T>& field : fields) {
    const std::string name = field.name, flag_name = prefix + name;
    if (const auto* flag = std::get_if<bool T::*>(&field.member)) {
      if (T{}.**flag)
        app.add_flag_callback(
            "--no-" + flag_name, [&given, name] { given[name] = {"false"}; },
            "turn off that " + std::string(field.doc));
      else
        app.add_flag_callback(
            "--" + flag_name, [&given, name] { given[name] = {"true"}; }, field.doc);
      continue;
    }
    CLI::Option* option = app.add_option("--" + flag_name, given[name], field.doc);
    if (field.kind() == OptionKind::list) option->allow_extra_args(false);
    else option->expected(1);
  }
}

template <class T>
void set_fields(std::span<const OptionField<T>> fields, T& options, const GivenOptions& given) {
  for (const OptionField<T>& field : fields)
    if (const auto found = given.find(field.name); found != given.end() && !found->second.empty())
      set_option(fields, options, field.name, found->second);
}

}  // namespace hone
