#include "generate/jinja/builtins.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "generate/jinja/access.h"
#include "generate/jinja/arguments.h"
#include "generate/jinja/text_methods.h"

namespace hone::jinja {
namespace {

using Args = const Arguments&;

Value join(const Value& value, Args arguments, Budget& budget) {
  const Value* sign = arguments.find(0, "d");
  return joined(value, sign ? shown_within(*sign, budget) : "", arguments, budget);
}

Value length(const Value& value, Args, Budget&) {
  if (const std::string* text = value.text()) return length_of(*text);
  if (const Items* items = value.items()) return std::ssize(*items);
  if (const Object* object = value.object()) return std::ssize(object->members);
  if (value.undefined()) return int64_t{0};
  fail("{} has no length", kind_of(value));
}

Value defaulted(const Value& value, Args arguments, Budget&) {
  const Value* otherwise = arguments.find(0, "default_value");
  const bool is_missing = value.undefined() || (flag_argument(arguments, 1, "boolean") && !truth(value));
  return !is_missing ? value : otherwise ? *otherwise : Value("");
}

Value json_text(const Value& value, Args arguments, Budget& budget) {
  if (flag_argument(arguments, 0, "ensure_ascii")) fail("tojson: ensure_ascii=true is not known");
  JsonStyle style{.indent = integer_argument(arguments, 1, "indent", -1),
                  .sort_keys = flag_argument(arguments, 3, "sort_keys")};
  if (style.indent > 64) fail("tojson: an indent of {} blanks is too large; up to 64 are accepted", style.indent);
  if (const Value* signs = arguments.find(2, "separators"); signs && !signs->none()) {
    if (!signs->items() || signs->items()->size() != 2)
      fail("tojson: expected two separators, found {}", kind_of(*signs));
    style.between = text_of((*signs->items())[0], "tojson"), style.behind_key = text_of((*signs->items())[1], "tojson");
    if (style.between.size() > 16 || style.behind_key.size() > 16) fail("tojson: a separator is longer than 16 bytes");
  }
  // A value takes at most its text, escaped, a line of blanks of all levels, and a separator.
  const Extent extent = extent_of(value);
  budget.text(extent.weight * (96 + 16 + std::max<int64_t>(style.indent, 0) * (extent.depth + 1)));
  return to_json(value, style);
}

Value to_list(const Value& value, Args, Budget& budget) { return Value::list(iterated(value, budget)); }

template <bool kLast>
Value end_item(const Value& value, Args, Budget& budget) {
  const std::vector<Value> all = iterated(value, budget);
  if (all.empty()) return Undefined{kLast ? "last" : "first"};
  return kLast ? all.back() : all.front();
}

Value reversed(const Value& value, Args, Budget& budget) {
  std::vector<Value> all = iterated(value, budget);
  std::ranges::reverse(all);
  if (!value.text()) return Value::list(std::move(all));
  std::string out;
  for (const Value& each : all) out += *each.text();
  return out;
}

// The member that a filter's argument "a.b" names.
Value deep_member(Value value, const std::string& path, Budget& budget) {
  for (const std::string& name : hone::split(path, '.')) value = item_of(value, Value(name), budget);
  return value;
}

Value sorted(const Value& value, Args arguments, Budget& budget) {
  std::vector<Value> all = iterated(value, budget);
  const Value* attribute = arguments.find(2, "attribute");
  const bool with_case = flag_argument(arguments, 1, "case_sensitive");
  const auto key = [&](const Value& each) {
    Value made = attribute && !attribute->none() ? deep_member(each, text_of(*attribute, "sort"), budget) : each;
    return made.text() && !with_case ? Value(lower(*made.text())) : made;
  };
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& each : all) {
    Value made = key(each);
    keyed.emplace_back(std::move(made), std::move(each));
  }
  const bool reverse = flag_argument(arguments, 0, "reverse");
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    budget.step();
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
  all.clear();
  for (auto& [made, each] : keyed) all.push_back(std::move(each));
  return Value::list(std::move(all));
}

// The first of those that are equal, whatever their letters' case.
Value unique(const Value& value, Args, Budget& budget) {
  std::vector<Value> all, keys;
  for (const Value& each : iterated(value, budget)) {
    budget.step(std::ssize(all));
    Value key = each.text() ? Value(lower(*each.text())) : each;
    if (std::ranges::any_of(keys, [&](const Value& other) { return equal(key, other); })) continue;
    all.push_back(each), keys.push_back(std::move(key));
  }
  return Value::list(std::move(all));
}

void refuse_named(Args arguments, const char* of) {
  if (!arguments.named.empty()) fail("{} has no argument \"{}\" by name", of, arguments.named[0].first);
}

Arguments behind(Args arguments, size_t first) {
  Arguments rest;
  for (size_t i = first; i < arguments.values.size(); ++i) rest.values.push_back(arguments.values[i]);
  return rest;
}

template <bool kKeeps, bool kAttribute>
Value selected(const Value& value, Args arguments, Budget& budget) {
  constexpr size_t kTest = kAttribute ? 1 : 0;
  const char* const of = kAttribute ? "selectattr" : "select";
  refuse_named(arguments, of);
  const std::string attribute = kAttribute ? text_argument(arguments, 0, "attribute", of) : "";
  const Value* test = arguments.find(kTest, "test");
  std::vector<Value> all;
  for (const Value& each : iterated(value, budget)) {
    const Value looked_at = kAttribute ? deep_member(each, attribute, budget) : each;
    const bool holds =
        test ? apply_test(text_of(*test, of), looked_at, behind(arguments, kTest + 1), budget) : truth(looked_at);
    if (holds == kKeeps) all.push_back(each);
  }
  return Value::list(std::move(all));
}

Value mapped_items(const Value& value, Args arguments, Budget& budget) {
  std::vector<Value> all;
  const Value* attribute = arguments.values.empty() ? arguments.find(0, "attribute") : nullptr;
  const Value* otherwise = arguments.find(SIZE_MAX, "default");
  if (attribute) expect_arguments(arguments, "attribute default", "map");
  else refuse_named(arguments, "map");
  for (const Value& each : iterated(value, budget)) {
    if (!attribute) {
      const std::string name = text_argument(arguments, 0, "filter", "map");
      all.push_back(apply_filter(name, each, behind(arguments, 1), budget));
      continue;
    }
    Value found = deep_member(each, text_of(*attribute, "map"), budget);
    all.push_back(found.undefined() && otherwise ? *otherwise : std::move(found));
  }
  return Value::list(std::move(all));
}

Value indented(const Value& value, Args arguments, Budget& budget) {
  const Value* width = arguments.find(0, "width");
  const int64_t blanks = width && width->text() ? 0 : integer_argument(arguments, 0, "width", 4);
  if (blanks < 0 || blanks > 1000) fail("indent: expected 0 to 1000 blanks, found {}", blanks);
  const std::string front = width && width->text() ? *width->text() : std::string(static_cast<size_t>(blanks), ' ');
  const bool first = flag_argument(arguments, 1, "first"), blank = flag_argument(arguments, 2, "blank");
  const std::string& text = text_of(value, "indent");
  std::string out;
  size_t at = 0;
  for (bool is_first = true;; is_first = false) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    budget.text(std::ssize(front) + std::ssize(line));
    if (is_first ? first : blank || !line.empty()) out += front;
    out += line;
    if (end == std::string::npos) return out;
    out += '\n';
    at = end + 1;
  }
}

Value to_integer(const Value& value, Args arguments, Budget&) {
  const int64_t otherwise = integer_argument(arguments, 0, "default", 0);
  if (value.is_integer()) return value.integer();
  double number = 0;
  if (const double* real = value.get<double>()) number = *real;
  else if (!value.text()) return otherwise;
  else {
    const std::string text = stripped(*value.text());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return otherwise;
  }
  return std::abs(number) < 0x1p63 ? Value(static_cast<int64_t>(number)) : Value(otherwise);
}

Value to_number(const Value& value, Args arguments, Budget&) {
  if (value.is_number()) return value.number();
  const Value* otherwise = arguments.find(0, "default");
  double number = otherwise && otherwise->is_number() ? otherwise->number() : 0;
  if (value.text()) {
    const std::string text = stripped(*value.text());
    double read = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (error == std::errc() && end == text.data() + text.size()) number = read;
  }
  return number;
}

Value magnitude(const Value& value, Args, Budget&) {
  if (const double* real = value.get<double>()) return std::abs(*real);
  const int64_t whole = integer_of(value, "abs");
  return whole < 0 && whole != INT64_MIN ? -whole : whole;
}

Value sum(const Value& value, Args arguments, Budget& budget) {
  const Value* attribute = arguments.find(0, "attribute");
  double real = 0;
  int64_t whole = 0;
  bool is_whole = true;
  for (const Value& each : iterated(value, budget)) {
    const Value part = attribute ? deep_member(each, text_of(*attribute, "sum"), budget) : each;
    if (!part.is_number()) fail("sum: {} is no number", kind_of(part));
    is_whole = is_whole && part.is_integer() && !__builtin_add_overflow(whole, part.integer(), &whole);
    real += part.number();
  }
  return is_whole ? Value(whole) : Value(real);
}

// Of the text that a value is shown as.
template <std::string (*kChange)(std::string_view)>
Value changed(const Value& value, Args, Budget& budget) {
  return kChange(shown_within(value, budget));
}
template <std::string (*kChange)(std::string_view)>
Value is_changed_already(const Value& value, Args, Budget& budget) {
  const std::string text = shown_within(value, budget);
  return kChange(text) == text;
}

constexpr BuiltinDef kFilters[] = {
    {"abs", magnitude},
    {"capitalize", changed<capitalised>},
    {"count", length},
    {"d", defaulted, "default_value boolean"},
    {"default", defaulted, "default_value boolean"},
    {"dictsort", [](const Value& v, Args a, Budget& budget) { return sorted(items_of(v, a, budget), {}, budget); }},
    {"e", [](const Value&, Args, Budget&) -> Value { fail("the filter \"e\" (HTML) is not known"); }},
    {"first", end_item<false>},
    {"float", to_number, "default"},
    {"indent", indented, "width first blank"},
    {"int", to_integer, "default"},
    {"items", items_of},
    {"join", join, "d attribute"},
    {"last", end_item<true>},
    {"length", length},
    {"list", to_list},
    {"lower", changed<lower>},
    {"map", mapped_items, nullptr},
    {"reject", selected<false, false>, nullptr},
    {"rejectattr", selected<false, true>, nullptr},
    {"replace", replace, "old new count"},
    {"reverse", reversed},
    {"safe", [](const Value& v, Args, Budget&) { return v; }},
    {"select", selected<true, false>, nullptr},
    {"selectattr", selected<true, true>, nullptr},
    {"sort", sorted, "reverse case_sensitive attribute"},
    {"string", [](const Value& v, Args, Budget& budget) -> Value { return shown_within(v, budget); }},
    {"sum", sum, "attribute"},
    {"title", changed<titled>},
    {"tojson", json_text, "ensure_ascii indent separators sort_keys"},
    {"trim", [](const Value& v, Args a, Budget& b) { return strip(Value(shown_within(v, b)), a, true, true); },
     "chars"},
    {"unique", unique},
    {"upper", changed<upper>},
};

const Value& other(Args arguments) {
  if (arguments.values.empty()) fail("a test lacks what it compares with");
  return arguments.values[0];
}
int64_t whole(const Value& value) { return integer_of(value, "odd, even and divisibleby"); }

constexpr BuiltinDef kTests[] = {
    {"!=", [](const Value& v, Args a, Budget&) -> Value { return !equal(v, other(a)); }, "other"},
    {"<", [](const Value& v, Args a, Budget&) -> Value { return less(v, other(a)); }, "other"},
    {"<=", [](const Value& v, Args a, Budget&) -> Value { return !less(other(a), v); }, "other"},
    {"==", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }, "other"},
    {">", [](const Value& v, Args a, Budget&) -> Value { return less(other(a), v); }, "other"},
    {">=", [](const Value& v, Args a, Budget&) -> Value { return !less(v, other(a)); }, "other"},
    {"boolean", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() != nullptr; }},
    {"callable",
     [](const Value& v, Args, Budget&) -> Value { return v.get<std::shared_ptr<const Function>>() != nullptr; }},
    {"defined", [](const Value& v, Args, Budget&) -> Value { return !v.undefined(); }},
    {"divisibleby",
     [](const Value& v, Args a, Budget&) -> Value {
       const int64_t by = whole(other(a));
       if (by == 0) fail("division by zero");
       return by == -1 || whole(v) % by == 0;
     },
     "num"},
    {"eq", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }, "other"},
    {"equalto", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }, "other"},
    {"even", [](const Value& v, Args, Budget&) -> Value { return whole(v) % 2 == 0; }},
    {"false", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() && !*v.get<bool>(); }},
    {"float", [](const Value& v, Args, Budget&) -> Value { return v.get<double>() != nullptr; }},
    {"ge", [](const Value& v, Args a, Budget&) -> Value { return !less(v, other(a)); }, "other"},
    {"gt", [](const Value& v, Args a, Budget&) -> Value { return less(other(a), v); }, "other"},
    {"in", [](const Value& v, Args a, Budget& b) -> Value { return contains(other(a), v, b); }, "seq"},
    {"integer", [](const Value& v, Args, Budget&) -> Value { return v.get<int64_t>() != nullptr; }},
    {"iterable",
     [](const Value& v, Args, Budget&) -> Value { return v.text() || v.items() || v.object() || v.undefined(); }},
    {"le", [](const Value& v, Args a, Budget&) -> Value { return !less(other(a), v); }, "other"},
    {"lower", is_changed_already<lower>},
    {"lt", [](const Value& v, Args a, Budget&) -> Value { return less(v, other(a)); }, "other"},
    {"mapping", [](const Value& v, Args, Budget&) -> Value { return v.object() && !v.object()->is_namespace; }},
    {"ne", [](const Value& v, Args a, Budget&) -> Value { return !equal(v, other(a)); }, "other"},
    {"none", [](const Value& v, Args, Budget&) -> Value { return v.none(); }},
    {"number", [](const Value& v, Args, Budget&) -> Value { return v.is_number(); }},
    {"odd", [](const Value& v, Args, Budget&) -> Value { return whole(v) % 2 != 0; }},
    {"sequence",
     [](const Value& v, Args, Budget&) -> Value { return v.text() || v.items() || v.object() || v.undefined(); }},
    {"string", [](const Value& v, Args, Budget&) -> Value { return v.text() != nullptr; }},
    {"true", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() && *v.get<bool>(); }},
    {"undefined", [](const Value& v, Args, Budget&) -> Value { return v.undefined(); }},
    {"upper", is_changed_already<upper>},
};

const BuiltinDef& require(std::span<const BuiltinDef> all, std::string_view name, const char* kind) {
  if (const BuiltinDef* found = find(all, name)) return *found;
  std::string known;
  for (const BuiltinDef& each : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  fail("the {} \"{}\" is not known; known: {}", kind, name, known);
}

}  // namespace

const BuiltinDef* find(std::span<const BuiltinDef> all, std::string_view name) {
  const auto found = std::ranges::find(all, name, [](const BuiltinDef& each) -> std::string_view { return each.name; });
  return found == all.end() ? nullptr : &*found;
}

Value call(const BuiltinDef& def, const Value& value, const Arguments& arguments, Budget& budget) {
  if (def.takes) expect_arguments(arguments, def.takes, def.name);
  return def.function(value, arguments, budget);
}

std::string shown_within(const Value& value, Budget& budget) {
  if (!value.text()) budget.text(extent_of(value).weight * 96);  // 16 bytes of a text are at most "\\x00" each, quoted
  return shown(value);
}

void Budget::step(int64_t n) {
  check_stop();
  if ((steps -= n) < 0) fail("the template takes too long: more than 2,000,000 steps");
}

void Budget::search(const std::string& text, const std::string& part) {
  constexpr double kCompared = 4096;  // bytes in a step
  step(1 + static_cast<int64_t>(static_cast<double>(text.size()) * static_cast<double>(part.size()) / kCompared));
}

void Budget::text(int64_t made) {
  if ((bytes -= made) < 0) fail("the template makes too much text: more than 64 MiB in all");
}

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
  return call(require(kFilters, name, "filter"), value, arguments, budget);
}

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
  return truth(call(require(kTests, name, "test"), value, arguments, budget));
}

}  // namespace hone::jinja
