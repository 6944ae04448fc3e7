// Options of tasks as structs of include/hone, read off the tables of the tasks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace hone::generate {

struct OptionMember {
  std::string option, name, type, initial, doc;  // initial: " = 1", or empty
};

struct OptionStruct {
  std::string name, doc, header;  // "QuantizeOptions", "quantize.h"
  std::vector<OptionMember> members;
};

OptionMember member_of(const OptionInfo& info, const char* type);

// `left_out`: fields that make no sense in a library, such as those that name files of a program's.
template <class Flags>
OptionStruct option_struct(std::string name, std::string doc, std::string header,
                           const std::vector<std::string_view>& left_out = {}) {
  constexpr std::array kTypes{"std::string",
                              "bool",
                              "int64_t",
                              "double",
                              "std::vector<std::string>",
                              "std::optional<int64_t>",
                              "uint64_t",
                              "std::optional<double>",
                              "std::optional<std::string>"};
  OptionStruct made{std::move(name), std::move(doc), std::move(header), {}};
  for (const OptionField<Flags>& field : Flags::fields())
    if (std::ranges::find(left_out, std::string_view(field.name)) == left_out.end())
      made.members.push_back(member_of(describe_option(field), kTypes[field.member.index()]));
  return made;
}

std::vector<OptionStruct> option_structs();  // all that include/hone has

// The header's text with its blocks written anew, and the bodies of given() (api/given_options.h).
std::string with_options(const std::string& header, const std::vector<OptionStruct>& structs);
std::string given_options(const std::vector<OptionStruct>& structs);

}  // namespace hone::generate
