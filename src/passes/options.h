// One table of fields per struct of options: command-line flags, TOML keys and their documentation are read off it.
//
//   struct QuantizeOptions { std::string to; std::vector<std::string> rule; };
//   constexpr OptionField<QuantizeOptions> kFields[] = {{"to", "the default format", &QuantizeOptions::to}, ...};
//
// `--to mxint8` and `to = "mxint8"` are then both set_option(kFields, options, "to", {"mxint8"}). Values arrive as
// texts.
#pragma once

#include <array>
#include <charconv>
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

enum class OptionKind { text, flag, integer, number, list };  // in the order of OptionField::member
inline const char* to_string(OptionKind kind) {
  return std::array{"text", "flag", "integer", "number", "list"}[static_cast<size_t>(kind)];
}

template <class T>
struct OptionField {
  const char* name;  // as a flag without the dashes, and as a TOML key
  const char* doc;
  std::variant<std::string T::*, bool T::*, int64_t T::*, double T::*, std::vector<std::string> T::*> member;
  void (*check)(const std::string&) = nullptr;  // each text; throws Error
  bool required = false;                        // what T{} has is no value

  OptionKind kind() const { return static_cast<OptionKind>(member.index()); }
};

// Of a field, without the struct's type.
struct OptionInfo {
  const char *name, *doc;
  OptionKind kind;
  std::string default_text;  // as it would be given; of a list, and of what is required, empty
  bool required;
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

inline void assign(const char* name, const std::string& text, std::string& value) {
  if (text.empty()) refuse_option(name, text, "a text");
  value = text;
}

inline void assign(const char* name, const std::string& text, bool& value) {
  if (text != "true" && text != "false" && !text.empty()) refuse_option(name, text, "true or false");
  value = text != "false";  // a flag that is given without a value is true
}

template <class Number>
void assign(const char* name, const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    refuse_option(name, text, std::is_integral_v<Number> ? "an integer" : "a number");
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
      std::vector<std::string>& all = options.**list;
      all.insert(all.end(), values.begin(), values.end());
      return;
    }
    const bool bare_flag = field.kind() == OptionKind::flag && values.empty();
    if (values.size() != 1 && !bare_flag) fail("option {} takes one value, found {}", name, values.size());
    std::visit(
        [&](auto member) {
          if constexpr (!std::is_same_v<decltype(member), std::vector<std::string> T::*>)
            detail::assign(field.name, bare_flag ? "" : values[0], options.*member);
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

}  // namespace detail

template <class T>
std::vector<OptionInfo> describe_options(std::span<const OptionField<T>> fields) {
  const T unset{};
  std::vector<OptionInfo> infos;
  for (const OptionField<T>& field : fields) {
    OptionInfo info{field.name, field.doc, field.kind(), "", field.required};
    std::visit(
        [&](auto member) {
          if constexpr (!std::is_same_v<decltype(member), std::vector<std::string> T::*>)
            if (!field.required) info.default_text = fmt::format("{}", unset.*member);
        },
        field.member);
    infos.push_back(std::move(info));
  }
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

// The fields as those of a struct that derives from theirs.
template <class Derived, class T>
void append_fields(std::vector<OptionField<Derived>>& all, std::span<const OptionField<T>> fields) {
  static_assert(std::is_base_of_v<T, Derived>);
  for (const OptionField<T>& field : fields)
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype(std::declval<T&>().*member)>;
          Value Derived::*const inherited = member;
          all.push_back({field.name, field.doc, inherited, field.check, field.required});
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
