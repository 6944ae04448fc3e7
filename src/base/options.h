// One table of fields per struct of options: command-line flags, TOML keys and their documentation are read off it.
//
//   struct QuantizeOptions { std::string to; std::vector<std::string> rule; };
//   constexpr OptionField<QuantizeOptions> kFields[] = {{"to", "the default format", &QuantizeOptions::to}, ...};
//
// `--to mxint8` and `to = "mxint8"` are then both set_option(kFields, options, "to", {"mxint8"}). Values arrive as
// texts.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hone {

enum class OptionKind : uint8_t { text, flag, integer, number, list };
inline const char* to_string(OptionKind kind) {
  return std::array{"text", "flag", "integer", "number", "list"}[static_cast<size_t>(kind)];
}

// Whether a text is the path of a file or folder, and what is done with that.
enum class OptionFile : uint8_t { none, reads, reads_pairs, writes };  // pairs: NAME=PATH

// What a field takes beyond what its type says, and how people are shown it.
struct OptionTraits {
  const char* group = "";                           // heading under which help has it
  const char* value = "";                           // stands for its value in help: "FORMAT"; empty: by the type
  std::vector<std::string> (*choices)() = nullptr;  // the only texts that it takes
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  OptionFile file = OptionFile::none;
  char letter = 0;                      // -o
  bool is_positional = false;           // of a command line: given without its name
  bool is_flag_only = false;            // no key of a TOML file
  bool has_commas = false;              // of a list: they part its elements
  bool takes_several = false;           // of a list: all words of a command line up to the next flag
  bool last_counts = false;             // where it is given several times
  const char* only_with = "";           // the option without which it says nothing
  const char* not_with = "";            // one that excludes it
  std::string (*more_doc)() = nullptr;  // behind the doc: what is known only when the program runs
};

template <class T>
struct OptionField {
  const char* name;  // as a flag without the dashes, and as a TOML key
  const char* doc;
  std::variant<std::string T::*, bool T::*, int64_t T::*, double T::*, std::vector<std::string> T::*,
               std::optional<int64_t> T::*, uint64_t T::*, std::optional<double> T::*, std::optional<std::string> T::*>
      member;
  void (*check)(const std::string&) = nullptr;  // each text; throws Error
  bool required = false;                        // what T{} has is no value
  OptionTraits traits = {};

  OptionKind kind() const {
    using enum OptionKind;
    constexpr std::array kKinds{text, flag, integer, number, list, integer, integer, number, text};
    static_assert(kKinds.size() == std::variant_size_v<decltype(member)>);
    return kKinds[member.index()];
  }
};

// Of a field, without the struct's type.
struct OptionInfo {
  const char* name;
  std::string doc;
  OptionKind kind;
  std::string default_text;  // as it would be given; empty: none
  bool required;
  OptionTraits traits;
};

template <class T>
std::vector<std::string> option_names(std::span<const OptionField<T>> fields) {
  std::vector<std::string> names;
  for (const OptionField<T>& field : fields) names.emplace_back(field.name);
  return names;
}

namespace detail {

[[noreturn]] inline void refuse_option(const char* name, std::string_view found, const char* accepted) {
  fail("option {}: expected {}, found \"{}\"", name, accepted, found);
}

// Throws Error unless the text is one of the choices.
inline void check_choice(const char* name, const OptionTraits& traits, const std::string& text) {
  if (!traits.choices) return;
  const std::vector<std::string> choices = traits.choices();
  if (std::ranges::find(choices, text) == choices.end())
    fail("option {}: expected {}, found \"{}\"{}", name, one_of(choices), text, did_you_mean(text, choices));
}

inline void assign(const char* name, const OptionTraits& traits, const std::string& text, std::string& value) {
  if (text.empty()) refuse_option(name, text, "a text");
  check_choice(name, traits, text);
  value = text;
}

inline void assign(const char* name, const OptionTraits&, const std::string& text, bool& value) {
  if (text != "true" && text != "false" && !text.empty()) refuse_option(name, text, "true or false");
  value = text != "false";  // a flag that is given without a value is true
}

template <class Number>
void assign(const char* name, const OptionTraits& traits, const std::string& text, Number& value) {
  constexpr bool kWhole = std::is_integral_v<Number>;
  const char* const accepted = kWhole ? "an integer" : "a number";
  Number given{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
  if (error != std::errc() || end != text.data() + text.size())
    refuse_option(name, text, std::is_unsigned_v<Number> ? "an integer from 0 to 18446744073709551615" : accepted);
  const auto real = static_cast<double>(given);
  if (real >= traits.least && real <= traits.most) {
    value = given;
    return;
  }
  const bool from = traits.least > -std::numeric_limits<double>::infinity();
  const bool to = traits.most < std::numeric_limits<double>::infinity();
  fail("option {}: expected {}{}{}, found {}", name, accepted, from ? fmt::format(" from {:.15g}", traits.least) : "",
       to ? fmt::format("{} {:.15g}", from ? " to" : " up to", traits.most) : "", text);
}

template <class Value>
void assign(const char* name, const OptionTraits& traits, const std::string& text, std::optional<Value>& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    check_choice(name, traits, text);
    value = text;  // an empty one is one, too
    return;
  }
  Value given{};
  assign(name, traits, text, given);
  value = given;
}

}  // namespace detail

// Sets the field `name`. A list gets all values appended, any other kind takes exactly one (a flag may have none).
// Throws Error: unknown name with the nearest ones, wrong number of values, or a value that the field does not accept.
template <class T>
void set_option(std::span<const OptionField<T>> fields, T& options, std::string_view name,
                const std::vector<std::string>& values) {
  for (const OptionField<T>& field : fields) {
    if (name != field.name) continue;
    if (field.check)
      for (const std::string& value : values) field.check(value);
    if (const auto* list = std::get_if<std::vector<std::string> T::*>(&field.member)) {
      for (const std::string& value : values) detail::check_choice(field.name, field.traits, value);
      std::vector<std::string>& all = options.**list;
      all.insert(all.end(), values.begin(), values.end());
      return;
    }
    const bool bare_flag = field.kind() == OptionKind::flag && values.empty();
    if (values.size() != 1 && !bare_flag) fail("option {} takes one value, found {}", name, values.size());
    std::visit(
        [&](auto member) {
          if constexpr (!std::is_same_v<decltype(member), std::vector<std::string> T::*>)
            detail::assign(field.name, field.traits, bare_flag ? "" : values[0], options.*member);
        },
        field.member);
    return;
  }
  const std::vector<std::string> names = option_names(fields);
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  fail("unknown option {}; known: {}{}", name, known, did_you_mean(name, names));
}

namespace detail {

inline std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\u{:04x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

inline std::string toml_value(const std::string& text) { return toml_string(text); }
inline std::string toml_value(bool flag) { return flag ? "true" : "false"; }
inline std::string toml_value(const std::vector<std::string>& list) {
  std::string lines = "[\n";
  for (const std::string& text : list) lines += "  " + toml_string(text) + ",\n";
  return lines + "]";
}
template <class Number>
std::string toml_value(Number number) {
  return fmt::format("{}", number);
}
template <class Value>
std::string toml_value(const std::optional<Value>& value) {
  return toml_value(*value);
}

}  // namespace detail

namespace detail {

template <class Value>
std::string default_text(const Value& value) {
  return fmt::format("{}", value);
}
inline std::string default_text(const std::vector<std::string>&) { return ""; }
template <class Value>
std::string default_text(const std::optional<Value>& value) {
  return value ? default_text(*value) : "";
}

}  // namespace detail

template <class T>
OptionInfo describe_option(const OptionField<T>& field) {
  static const T unset{};
  OptionInfo info{field.name, field.doc, field.kind(), "", field.required, field.traits};
  if (field.traits.more_doc) info.doc += field.traits.more_doc();
  if (!field.required)
    std::visit([&](auto member) { info.default_text = detail::default_text(unset.*member); }, field.member);
  return info;
}

template <class T>
std::vector<OptionInfo> describe_options(std::span<const OptionField<T>> fields) {
  std::vector<OptionInfo> infos;
  for (const OptionField<T>& field : fields) infos.push_back(describe_option(field));
  return infos;
}

template <class T>
std::vector<std::string> missing_options(std::span<const OptionField<T>> fields, const T& options) {
  static const T unset{};
  std::vector<std::string> names;
  for (const OptionField<T>& field : fields)
    std::visit(
        [&](auto member) {
          if (field.required && options.*member == unset.*member) names.emplace_back(field.name);
        },
        field.member);
  return names;
}

// The fields as those of a struct that derives from theirs: what a verb takes is a struct whose bases are what it
// shares with others.
template <class Derived, class T>
void append_fields(std::vector<OptionField<Derived>>& all, std::span<const OptionField<T>> fields) {
  static_assert(std::is_base_of_v<T, Derived>);
  for (const OptionField<T>& field : fields)
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype(std::declval<T&>().*member)>;
          Value Derived::*const inherited = member;
          all.push_back({field.name, field.doc, inherited, field.check, field.required, field.traits});
        },
        field.member);
}

// The fields that are not as T{} has them, as the TOML file that sets them.
template <class T>
std::string options_toml(std::span<const OptionField<T>> fields, const T& options) {
  const T unset{};
  std::string text;
  for (const OptionField<T>& field : fields)
    std::visit(
        [&](auto member) {
          if (options.*member != unset.*member)
            text += fmt::format("{} = {}\n", field.name, detail::toml_value(options.*member));
        },
        field.member);
  return text;
}

}  // namespace hone
