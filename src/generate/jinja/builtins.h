// Filters, tests, functions and methods that templates call: those of jinja2 and of Python's strings and dicts that
// public templates use.
#pragma once

#include <string>
#include <vector>

#include "generate/jinja/value.h"

namespace hone::jinja {

// What a template may take; each step and each byte of text that it makes counts.
struct Budget {
  int64_t steps = 2'000'000;
  int64_t bytes = int64_t{64} << 20;
  void step(int64_t n = 1);                                       // Error when it is spent
  void text(int64_t bytes);                                       // likewise; before the text is made
  void search(const std::string& text, const std::string& part);  // steps of looking for it, at worst
};

using Builtin = Value (*)(const Value& value, const Arguments& arguments, Budget& budget);
struct BuiltinDef {
  const char* name;
  Builtin call;
};

// Throw Error with the names that there are.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);

// Values that names have before anything is set: range, namespace, dict, raise_exception, strftime_now. `now`: seconds
// since 1970, which strftime_now shows in UTC.
Members globals(int64_t now, Budget& budget);

// value.name: a method, else the member of an object, else undefined.
Value member_of(const Value& value, const std::string& name, Budget& budget);
// value[key]; undefined where there is none.
Value item_of(const Value& value, const Value& key, Budget& budget);
Value slice_of(const Value& value, const Value* begin, const Value* end, const Value* step, Budget& budget);
// What a loop goes through: items of a list, characters of a string, names of an object, nothing of what is undefined.
std::vector<Value> iterated(const Value& value, Budget& budget);

bool contains(const Value& all, const Value& part, Budget& budget);

}  // namespace hone::jinja
