// What expressions of a template are worth: Python's values, as far as templates see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace hone::jinja {

struct Value;
struct Items;
struct Object;
using Members = std::vector<std::pair<std::string, Value>>;  // in the order in which they were set
// Of those with one name the value of the last, where the first stands: as Python's dict has it.
Members last_of_each(Members members);

// A name that was not set; `name` is for errors.
struct Undefined {
  std::string name;
};
// Python's None.
struct None {};
struct Arguments;
// What can be called: a function, a method of a value, or a macro.
struct Function {
  std::string name;
  std::function<Value(const Arguments& arguments)> call;
  int depth = 0;  // of the value whose method it is, and one: it holds that
};

// Lists and objects are shared, as Python's are; templates can't change them but for namespaces.
struct Value {
  std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<const Items>,
               std::shared_ptr<Object>, std::shared_ptr<const Function>>
      is = None{};

  Value() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) Value(T&& value) : is(std::forward<T>(value)) {}
  Value(const char* text) : is(std::string(text)) {}
  // Throw Error for more than kMaxWeight in all, kMaxNesting in each other, and namespaces in them: whoever walks
  // through a value may then do so to its end, and no value holds itself.
  static Value list(std::vector<Value> values);
  static Value object(Members members);
  static Value from_json(const Json& json);

  template <class T>
  const T* get() const {
    return std::get_if<T>(&is);
  }
  const std::string* text() const { return get<std::string>(); }
  const Items* items() const;    // of a list
  const Object* object() const;  // or a namespace
  bool undefined() const { return std::holds_alternative<Undefined>(is); }
  bool none() const { return std::holds_alternative<None>(is); }
  bool is_integer() const { return get<int64_t>() || get<bool>(); }  // in Python a bool is one
  bool is_number() const { return is_integer() || get<double>(); }
  int64_t integer() const;  // of is_integer()
  double number() const;    // of is_number()
};

// What a value takes to be walked through.
struct Extent {
  int64_t weight = 1;  // values in it, and 16 bytes of text each
  int depth = 0;       // of lists and objects in each other
};
constexpr int64_t kMaxWeight = int64_t{1} << 20;
constexpr int kMaxNesting = 100;
Extent extent_of(const Value& value);

struct Items : std::vector<Value> {
  explicit Items(std::vector<Value> values) : std::vector<Value>(std::move(values)) {}
  Extent extent;
};

struct Object {
  Members members;
  Extent extent = {};
  bool is_namespace = false;  // set by {% set ns.member = … %}
  const Value* find(std::string_view name) const;
  void set(const std::string& name, Value value);
};

struct Arguments {
  std::vector<Value> values;
  Members named;
  // The argument at a place or of a name; null where it was not given.
  const Value* find(size_t place, std::string_view name) const;
};

const char* kind_of(const Value& value);  // "string", "list", …, for errors
bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
// Less, as Python orders numbers, strings and lists; Error for others.
bool less(const Value& a, const Value& b);
// What {{ }} shows: str() of Python.
std::string shown(const Value& value);
std::string repr(const Value& value);
// json.dumps(value, ensure_ascii=False), with an indent of so many blanks where that is not negative.
struct JsonStyle {
  int64_t indent = -1;
  std::string between = ", ", behind_key = ": ";
  bool sort_keys = false;
};
std::string to_json(const Value& value, const JsonStyle& style);

// Code points, as Python counts them.
int64_t length_of(const std::string& text);

}  // namespace hone::jinja
