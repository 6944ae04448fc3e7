// A plan names each of its fields once. From that follow its text, which is the key of its machine code, and with the
// text equality. A plan that forgets a member does not compile (kernel_def()):
//
//   struct GatherPlan {
//     int64_t columns = 0;
//     DType ids = DType::i64;
//     static constexpr auto fields() {
//       return std::tuple(field("columns", &GatherPlan::columns), field("ids", &GatherPlan::ids));
//     }
//   };
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "expr/program.h"
#include "ir/type.h"

namespace hone {

template <class Owner, class Member>
struct Field {
  using OwnerType = Owner;
  using MemberType = Member;
  std::string_view name;
  Member Owner::*member;
};
template <class Owner, class Member>
constexpr Field<Owner, Member> field(std::string_view name, Member Owner::*member) {
  return {name, member};
}

template <class T>
concept HasFields = requires {
  T::fields();
};

// visit(name, member) for each field in order.
template <class T, class Visit>
void for_each_field(T& object, Visit&& visit) {
  std::apply([&](const auto&... f) { (visit(f.name, object.*f.member), ...); }, std::remove_const_t<T>::fields());
}

// How many members an aggregate has, a base counted as one: with how many values it can be initialised.
struct AnyValue {
  template <class T>
  operator T() const;
};
template <class T, class... Values>
consteval size_t member_count() {
  if constexpr (requires { T{Values{}..., AnyValue{}}; }) return member_count<T, Values..., AnyValue>();
  else return sizeof...(Values);
}

template <class A, class B>
constexpr bool clash(const A& a, const B& b) {
  if constexpr (std::is_same_v<A, B>) return a.member == b.member || a.name == b.name;
  else return a.name == b.name;
}

// Whether the fields of T are its members, each once, with names of their own; and so for what members hold. A plan may
// have one base, whose fields it takes over.
template <class T>
consteval bool names_every_member() {
  if constexpr (requires { typename T::value_type; }) return names_every_member<typename T::value_type>();
  else if constexpr (!HasFields<T>) return true;
  else
    return std::apply(
        [](const auto&... f) {
          const size_t own =
              (size_t{std::is_same_v<typename std::remove_cvref_t<decltype(f)>::OwnerType, T>} + ... + 0);
          const auto times = [&](const auto& one) { return (size_t{clash(one, f)} + ... + 0); };
          return own + (own < sizeof...(f)) == member_count<T>() && ((times(f) == 1) && ...) &&
                 (names_every_member<typename std::remove_cvref_t<decltype(f)>::MemberType>() && ...);
        },
        T::fields());
}

// Different values of one type have different texts.
inline void write_field(std::string& text, const std::string& value) { text += fmt::format("\"{}\"", value); }
inline void write_field(std::string& text, DType value) { text += to_string(value); }
inline void write_field(std::string& text, const Program& value) { text += "{\n" + value.to_text() + "}"; }
template <class T>
requires std::is_arithmetic_v<T>
void write_field(std::string& text, T value) { text += fmt::format("{}", value); }
template <class T>
requires std::is_enum_v<T>
void write_field(std::string& text, T value) { text += fmt::format("{}", static_cast<int64_t>(value)); }
template <class T>
void write_field(std::string& text, const std::vector<T>& values);
template <HasFields T>
void write_field(std::string& text, const T& value) {
  text += '(';
  for_each_field(value, [&](std::string_view name, const auto& member) {
    if (text.back() != '(') text += ' ';
    text += name;
    text += '=';
    write_field(text, member);
  });
  text += ')';
}
template <class T>
void write_field(std::string& text, const std::vector<T>& values) {
  text += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) text += ' ';
    write_field(text, static_cast<const T&>(values[i]));
  }
  text += ']';
}

}  // namespace hone
