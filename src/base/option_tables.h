// Tables of options (options.h) put together from others, and fields that are no keys of files.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"

namespace hone {

// A field that is no key of a file: flag("threads", "Threads to use", &RunFlags::threads, {.least = 1, .most = 1024}).
template <class T, class Member>
constexpr OptionField<T> flag(const char* name, const char* doc, Member T::*member, OptionTraits traits = {}) {
  traits.is_flag_only = true;
  return {.name = name, .doc = doc, .member = member, .traits = traits};
}
template <class T, class Member>
constexpr OptionField<T> required_flag(const char* name, const char* doc, Member T::*member, OptionTraits traits = {}) {
  OptionField<T> field = flag(name, doc, member, traits);
  field.required = true;
  return field;
}

// The tables of bases of Options, and its own, as one: all that a verb takes, in the order of its help.
template <class Options, class... Tables>
std::vector<OptionField<Options>> joined_fields(const Tables&... tables) {
  std::vector<OptionField<Options>> all;
  (append_fields(all, std::span(std::data(tables), std::size(tables))), ...);
  return all;
}

const char* kept_name(const std::string& name);  // for as long as the program runs

// The fields under other names, where the verb has others of the same ones: "data-" makes data-label of label.
template <class T>
std::vector<OptionField<T>> prefixed(const char* prefix, std::span<const OptionField<T>> fields) {
  std::vector<OptionField<T>> all(fields.begin(), fields.end());
  for (OptionField<T>& field : all) field.name = kept_name(prefix + std::string(field.name));
  return all;
}

}  // namespace hone
