// A verb as its file states it: a struct of options, whose table says all its flags, and what is done with them.
//
//   struct InfoVerb : ModelOptions, ShapeFlags, OutputFlags {
//     static std::span<const OptionField<InfoVerb>> fields();
//   };
//   constexpr Verb<InfoVerb> verb{.name = "info", .task = VerbTask::look, .summary = …, .examples = …, .run = run};
//   extern constinit const VerbDef info_verb_def = verb_def<verb>();
//
// A member `given` gets the words that were given, by the names of their options.
#pragma once

#include <string>
#include <type_traits>

#include "cli/code_cache.h"
#include "cli/option_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"

namespace hone {

template <class Options>
struct Verb {
  const char* name;
  VerbTask task = VerbTask::other;
  const char *summary, *examples = "";
  int (*run)(Options& options);                     // the exit code
  void (*read_config)(Options& options) = nullptr;  // of the file that --config names: what flags leave as it is
  std::string (*notes)() = nullptr;                 // between the options and the examples of its help
  bool inspects = false;                            // VerbDef::inspects
  using OptionsType = Options;
};

namespace detail {

// Of the one run of a program.
template <const auto& kVerb>
struct VerbState {
  typename std::remove_cvref_t<decltype(kVerb)>::OptionsType options;
  GivenOptions given;
};
template <const auto& kVerb>
VerbState<kVerb>& verb_state() {
  static VerbState<kVerb> state;
  return state;
}

}  // namespace detail

template <const auto& kVerb>
constexpr VerbDef verb_def() {
  using Options = typename std::remove_cvref_t<decltype(kVerb)>::OptionsType;
  return {.name = kVerb.name,
          .task = kVerb.task,
          .summary = kVerb.summary,
          .examples = kVerb.examples,
          .notes = kVerb.notes,
          .options = [] { return describe_options(Options::fields()); },
          .setup = [](CLI::App& app) { add_fields(app, Options::fields(), detail::verb_state<kVerb>().given); },
          .run =
              [] {
                auto& [options, given] = detail::verb_state<kVerb>();
                if constexpr (requires { options.config; })
                  if (kVerb.read_config != nullptr && !given["config"].empty()) {
                    options.config = given["config"].back();
                    kVerb.read_config(options);
                  }
                set_fields(Options::fields(), options, given);
                if constexpr (requires { options.given = given; }) options.given = given;
                if constexpr (requires { choose_code_cache(options.cache, options.no_cache); })
                  choose_code_cache(options.cache, options.no_cache);
                return kVerb.run(options);
              },
          .inspects = kVerb.inspects};
}

// The files that the table names, of what was given.
template <class Options>
RunFiles files_of(const Options& options) {
  RunFiles files;
  for (const OptionField<Options>& field : Options::fields()) {
    const OptionTraits& traits = field.traits;
    if (traits.file == OptionFile::none) continue;
    std::string flag = traits.is_positional ? "" : "--";
    for (const char* c = field.name; *c; ++c)
      flag += traits.is_positional ? static_cast<char>(std::toupper(static_cast<unsigned char>(*c))) : *c;
    const auto add = [&](const std::vector<std::string>& paths) {
      if (traits.file == OptionFile::reads_pairs) files.reads_pairs(flag, paths);
      else
        for (const std::string& path : paths)
          traits.file == OptionFile::reads ? files.reads(flag, path) : files.writes(flag, path);
    };
    if (const auto* path = std::get_if<std::string Options::*>(&field.member)) add({options.**path});
    if (const auto* list = std::get_if<std::vector<std::string> Options::*>(&field.member)) add(options.**list);
  }
  return files;
}

}  // namespace hone
