// Filters and tests that templates call: those of jinja2 that public templates use; and what a template may take.
#pragma once

#include <span>
#include <string>
#include <string_view>

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
  Builtin function;
  const char* takes = "";  // names of its arguments, with a blank between; null: it looks at them itself
};
// Error for arguments that it does not take.
Value call(const BuiltinDef& def, const Value& value, const Arguments& arguments, Budget& budget);

// What {{ }} shows, which counts as made where that is another text than the value itself.
std::string shown_within(const Value& value, Budget& budget);

// Throw Error with the names that there are.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);

// Of that name; null: there is none.
const BuiltinDef* find(std::span<const BuiltinDef> all, std::string_view name);

}  // namespace hone::jinja
