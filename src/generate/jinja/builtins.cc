#include "generate/jinja/builtins.h"

#include <utf8proc.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>

#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/utf8.h"

namespace hone::jinja {
namespace {

using Args = const Arguments&;

constexpr std::string_view kBlanks = " \t\n\r\v\f";

const std::string& text_of(const Value& value, const char* of) {
  if (const std::string* text = value.text()) return *text;
  fail("{} is of a string, found {}", of, kind_of(value));
}

int64_t integer_of(const Value& value, const char* of) {
  if (value.is_integer()) return value.integer();
  fail("{}: expected an integer, found {}", of, kind_of(value));
}

std::string text_argument(Args arguments, size_t place, const char* name, const char* of) {
  const Value* given = arguments.find(place, name);
  if (!given) fail("{} lacks its argument \"{}\"", of, name);
  return text_of(*given, of);
}

int64_t integer_argument(Args arguments, size_t place, const char* name, int64_t otherwise) {
  const Value* given = arguments.find(place, name);
  return given && !given->none() ? integer_of(*given, name) : otherwise;
}

bool flag_argument(Args arguments, size_t place, const char* name) {
  const Value* given = arguments.find(place, name);
  return given && truth(*given);
}

// By simple mappings of Unicode, a character at a time.
std::string mapped(std::string_view text, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
  std::string out;
  for (char32_t c : decode_utf8(text)) append_utf8(out, static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(c))));
  return out;
}
std::string lower(std::string_view text) { return mapped(text, utf8proc_tolower); }
std::string upper(std::string_view text) { return mapped(text, utf8proc_toupper); }

std::string capitalised(std::string_view text) {
  if (text.empty()) return "";
  const size_t first = std::min(utf8_length(text[0]), text.size());
  return mapped(text.substr(0, first), utf8proc_totitle) + lower(text.substr(first));
}

bool is_letter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

std::string titled(std::string_view text) {
  std::string out;
  bool inside = false;
  for (char32_t c : decode_utf8(text)) {
    const auto code = static_cast<utf8proc_int32_t>(c);
    append_utf8(out, static_cast<char32_t>(inside ? utf8proc_tolower(code) : utf8proc_totitle(code)));
    inside = is_letter(c);
  }
  return out;
}

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  const std::u32string all = decode_utf8(text), taken = decode_utf8(characters);
  size_t begin = 0, end = all.size();
  while (left && begin < end && taken.find(all[begin]) != std::u32string::npos) ++begin;
  while (right && end > begin && taken.find(all[end - 1]) != std::u32string::npos) --end;
  std::string out;
  for (char32_t c : all.substr(begin, end - begin)) append_utf8(out, c);
  return out;
}

Value strip(const Value& value, Args arguments, bool left, bool right) {
  const Value* given = arguments.find(0, "chars");
  const std::string& text = text_of(value, "strip");
  return stripped(text, given && !given->none() ? text_of(*given, "strip") : std::string(kBlanks), left, right);
}

Value replace(const Value& value, Args arguments, Budget& budget) {
  const std::string text = shown(value), from = text_argument(arguments, 0, "old", "replace"),
                    to = text_argument(arguments, 1, "new", "replace");
  int64_t most = integer_argument(arguments, 2, "count", -1);
  if (from.empty()) fail("replace: the text to replace is empty");
  budget.search(text, from);
  std::string out;
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(from, at)) != std::string::npos; --most) {
    budget.text(std::ssize(to));
    out += text.substr(at, next - at) + to;
    at = next + from.size();
  }
  return out + text.substr(at);
}

std::vector<Value> split_text(const std::string& text, const Value* by, int64_t most, bool from_right) {
  std::vector<Value> parts;
  if (!by || by->none()) {  // runs of blanks
    size_t at = text.find_first_not_of(kBlanks);
    while (at != std::string::npos) {
      size_t end = most == 0 ? std::string::npos : text.find_first_of(kBlanks, at);
      if (most == 0) end = text.find_last_not_of(kBlanks) + 1;
      parts.emplace_back(text.substr(at, end - at));
      --most;
      at = end == std::string::npos ? end : text.find_first_not_of(kBlanks, end);
    }
    return parts;
  }
  const std::string& sign = text_of(*by, "split");
  if (sign.empty()) fail("split: the text to split at is empty");
  if (from_right) {
    size_t end = text.size();
    for (size_t at; most != 0 && end >= sign.size() && (at = text.rfind(sign, end - sign.size())) != std::string::npos;
         --most) {
      parts.insert(parts.begin(), text.substr(at + sign.size(), end - at - sign.size()));
      end = at;
    }
    parts.insert(parts.begin(), text.substr(0, end));
    return parts;
  }
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(sign, at)) != std::string::npos; at = next + sign.size(), --most)
    parts.emplace_back(text.substr(at, next - at));
  parts.emplace_back(text.substr(at));
  return parts;
}

template <bool kFromRight>
Value split(const Value& value, Args arguments, Budget& budget) {
  const std::string& text = text_of(value, "split");
  budget.step(std::ssize(text));
  const Value* sign = arguments.find(0, "sep");
  if (sign && sign->text()) budget.search(text, *sign->text());
  return Value::list(split_text(text, sign, integer_argument(arguments, 1, "maxsplit", -1), kFromRight));
}

Value split_lines(const Value& value, Args, Budget& budget) {
  std::vector<Value> lines;
  const std::string& text = text_of(value, "splitlines");
  budget.step(std::ssize(text));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    lines.emplace_back(std::move(line));
    at = end + 1;
  }
  return Value::list(std::move(lines));
}

template <bool kAtEnd>
Value has_affix(const Value& value, Args arguments, Budget&) {
  const char* const of = kAtEnd ? "endswith" : "startswith";
  const std::string& text = text_of(value, of);
  const Value* given = arguments.find(0, "affix");
  if (!given) fail("{} lacks its argument", of);
  const auto has = [&](const Value& affix) {
    return kAtEnd ? text.ends_with(text_of(affix, of)) : text.starts_with(text_of(affix, of));
  };
  return given->items() ? std::ranges::any_of(*given->items(), has) : has(*given);
}

template <bool kAtEnd>
Value without_affix(const Value& value, Args arguments, Budget&) {
  const char* const of = kAtEnd ? "removesuffix" : "removeprefix";
  const std::string &text = text_of(value, of), affix = text_argument(arguments, 0, "affix", of);
  if (kAtEnd) return text.ends_with(affix) ? text.substr(0, text.size() - affix.size()) : text;
  return text.starts_with(affix) ? text.substr(affix.size()) : text;
}

Value find_text(const Value& value, Args arguments, Budget& budget) {
  const std::string &text = text_of(value, "find"), part = text_argument(arguments, 0, "sub", "find");
  budget.search(text, part);
  const size_t at = text.find(part);
  return at == std::string::npos ? int64_t{-1} : length_of(text.substr(0, at));
}

Value count_text(const Value& value, Args arguments, Budget& budget) {
  const std::string &text = text_of(value, "count"), part = text_argument(arguments, 0, "sub", "count");
  if (part.empty()) return length_of(text) + 1;
  budget.search(text, part);
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

Value joined(const Value& value, const std::string& sign, Args arguments, Budget& budget) {
  const Value* attribute = arguments.find(1, "attribute");
  std::string out;
  bool first = true;
  for (const Value& each : iterated(value, budget)) {
    const std::string part = shown(attribute ? member_of(each, text_of(*attribute, "join"), budget) : each);
    budget.text(std::ssize(sign) + std::ssize(part));
    out += (first ? "" : sign) + part;
    first = false;
  }
  return out;
}

Value join(const Value& value, Args arguments, Budget& budget) {
  const Value* sign = arguments.find(0, "d");
  return joined(value, sign ? shown(*sign) : "", arguments, budget);
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
  for (const auto& [name, each] : arguments.named)
    if (name != "indent" && name != "separators" && name != "sort_keys" && name != "ensure_ascii")
      fail("tojson: its argument \"{}\" is not known; known: indent, separators, sort_keys, ensure_ascii", name);
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

Value items_of(const Value& value, Args, Budget& budget) {
  if (value.undefined()) return Value::list({});
  const Object* object = value.object();
  if (!object) fail("items is of an object, found {}", kind_of(value));
  budget.step(extent_of(value).weight);
  std::vector<Value> pairs;
  for (const auto& [name, each] : object->members) pairs.push_back(Value::list({Value(name), each}));
  return Value::list(std::move(pairs));
}

Value keys_of(const Value& value, Args, Budget& budget) { return Value::list(iterated(value, budget)); }

Value values_of(const Value& value, Args, Budget& budget) {
  budget.step(extent_of(value).weight);
  std::vector<Value> all;
  for (const auto& [name, each] : value.object()->members) all.push_back(each);
  return Value::list(std::move(all));
}

Value get_member(const Value& value, Args arguments, Budget&) {
  const Value *name = arguments.find(0, "key"), *otherwise = arguments.find(1, "default");
  if (!name) fail("get lacks its argument \"key\"");
  const Value* found = name->text() ? value.object()->find(*name->text()) : nullptr;
  return found ? *found : otherwise ? *otherwise : Value(None{});
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

Value unique(const Value& value, Args, Budget& budget) {
  std::vector<Value> all;
  for (const Value& each : iterated(value, budget)) {
    budget.step(std::ssize(all));
    if (std::ranges::none_of(all, [&](const Value& other) { return equal(each, other); })) all.push_back(each);
  }
  return Value::list(std::move(all));
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
    const std::string text = stripped(*value.text(), kBlanks, true, true);
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
    const std::string text = stripped(*value.text(), kBlanks, true, true);
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

Value string_of(const Value& value, Args, Budget& budget) {
  budget.text(extent_of(value).weight * 96);
  return shown(value);
}

constexpr BuiltinDef kFilters[] = {
    {"abs", magnitude},
    {"capitalize", [](const Value& v, Args, Budget&) -> Value { return capitalised(shown(v)); }},
    {"count", length},
    {"d", defaulted},
    {"default", defaulted},
    {"dictsort", [](const Value& v, Args a, Budget& budget) { return sorted(items_of(v, a, budget), {}, budget); }},
    {"e", [](const Value&, Args, Budget&) -> Value { fail("the filter \"e\" (HTML) is not known"); }},
    {"first", end_item<false>},
    {"float", to_number},
    {"indent", indented},
    {"int", to_integer},
    {"items", items_of},
    {"join", join},
    {"last", end_item<true>},
    {"length", length},
    {"list", to_list},
    {"lower", [](const Value& v, Args, Budget&) -> Value { return lower(shown(v)); }},
    {"map", mapped_items},
    {"reject", selected<false, false>},
    {"rejectattr", selected<false, true>},
    {"replace", replace},
    {"reverse", reversed},
    {"safe", [](const Value& v, Args, Budget&) { return v; }},
    {"select", selected<true, false>},
    {"selectattr", selected<true, true>},
    {"sort", sorted},
    {"string", string_of},
    {"sum", sum},
    {"title", [](const Value& v, Args, Budget&) -> Value { return titled(shown(v)); }},
    {"tojson", json_text},
    {"trim", [](const Value& v, Args a, Budget&) { return strip(Value(shown(v)), a, true, true); }},
    {"unique", unique},
    {"upper", [](const Value& v, Args, Budget&) -> Value { return upper(shown(v)); }},
};

const Value& other(Args arguments) {
  if (arguments.values.empty()) fail("a test lacks what it compares with");
  return arguments.values[0];
}
int64_t whole(const Value& value) { return integer_of(value, "odd, even and divisibleby"); }

constexpr BuiltinDef kTests[] = {
    {"!=", [](const Value& v, Args a, Budget&) -> Value { return !equal(v, other(a)); }},
    {"<", [](const Value& v, Args a, Budget&) -> Value { return less(v, other(a)); }},
    {"<=", [](const Value& v, Args a, Budget&) -> Value { return !less(other(a), v); }},
    {"==", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }},
    {">", [](const Value& v, Args a, Budget&) -> Value { return less(other(a), v); }},
    {">=", [](const Value& v, Args a, Budget&) -> Value { return !less(v, other(a)); }},
    {"boolean", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() != nullptr; }},
    {"callable",
     [](const Value& v, Args, Budget&) -> Value { return v.get<std::shared_ptr<const Function>>() != nullptr; }},
    {"defined", [](const Value& v, Args, Budget&) -> Value { return !v.undefined(); }},
    {"divisibleby",
     [](const Value& v, Args a, Budget&) -> Value {
       const int64_t by = whole(other(a));
       if (by == 0) fail("division by zero");
       return by == -1 || whole(v) % by == 0;
     }},
    {"eq", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }},
    {"equalto", [](const Value& v, Args a, Budget&) -> Value { return equal(v, other(a)); }},
    {"even", [](const Value& v, Args, Budget&) -> Value { return whole(v) % 2 == 0; }},
    {"false", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() && !*v.get<bool>(); }},
    {"float", [](const Value& v, Args, Budget&) -> Value { return v.get<double>() != nullptr; }},
    {"ge", [](const Value& v, Args a, Budget&) -> Value { return !less(v, other(a)); }},
    {"gt", [](const Value& v, Args a, Budget&) -> Value { return less(other(a), v); }},
    {"in", [](const Value& v, Args a, Budget& b) -> Value { return contains(other(a), v, b); }},
    {"integer", [](const Value& v, Args, Budget&) -> Value { return v.get<int64_t>() != nullptr; }},
    {"iterable",
     [](const Value& v, Args, Budget&) -> Value { return v.text() || v.items() || v.object() || v.undefined(); }},
    {"le", [](const Value& v, Args a, Budget&) -> Value { return !less(other(a), v); }},
    {"lower", [](const Value& v, Args, Budget&) -> Value { return lower(shown(v)) == shown(v); }},
    {"lt", [](const Value& v, Args a, Budget&) -> Value { return less(v, other(a)); }},
    {"mapping", [](const Value& v, Args, Budget&) -> Value { return v.object() && !v.object()->is_namespace; }},
    {"ne", [](const Value& v, Args a, Budget&) -> Value { return !equal(v, other(a)); }},
    {"none", [](const Value& v, Args, Budget&) -> Value { return v.none(); }},
    {"number", [](const Value& v, Args, Budget&) -> Value { return v.is_number(); }},
    {"odd", [](const Value& v, Args, Budget&) -> Value { return whole(v) % 2 != 0; }},
    {"sequence",
     [](const Value& v, Args, Budget&) -> Value { return v.text() || v.items() || v.object() || v.undefined(); }},
    {"string", [](const Value& v, Args, Budget&) -> Value { return v.text() != nullptr; }},
    {"true", [](const Value& v, Args, Budget&) -> Value { return v.get<bool>() && *v.get<bool>(); }},
    {"undefined", [](const Value& v, Args, Budget&) -> Value { return v.undefined(); }},
    {"upper", [](const Value& v, Args, Budget&) -> Value { return upper(shown(v)) == shown(v); }},
};

constexpr BuiltinDef kTextMethods[] = {
    {"capitalize", [](const Value& v, Args, Budget&) -> Value { return capitalised(*v.text()); }},
    {"count", count_text},
    {"endswith", has_affix<true>},
    {"find", find_text},
    {"join",
     [](const Value& v, Args a, Budget& budget) {
       if (a.values.empty()) fail("join lacks the list that it joins");
       for (const Value& each : iterated(a.values[0], budget)) text_of(each, "join");
       return joined(a.values[0], *v.text(), {}, budget);
     }},
    {"lower", [](const Value& v, Args, Budget&) -> Value { return lower(*v.text()); }},
    {"lstrip", [](const Value& v, Args a, Budget&) { return strip(v, a, true, false); }},
    {"removeprefix", without_affix<false>},
    {"removesuffix", without_affix<true>},
    {"replace", replace},
    {"rsplit", split<true>},
    {"rstrip", [](const Value& v, Args a, Budget&) { return strip(v, a, false, true); }},
    {"split", split<false>},
    {"splitlines", split_lines},
    {"startswith", has_affix<false>},
    {"strip", [](const Value& v, Args a, Budget&) { return strip(v, a, true, true); }},
    {"title", [](const Value& v, Args, Budget&) -> Value { return titled(*v.text()); }},
    {"upper", [](const Value& v, Args, Budget&) -> Value { return upper(*v.text()); }},
};

constexpr BuiltinDef kObjectMethods[] = {
    {"get", get_member}, {"items", items_of}, {"keys", keys_of}, {"values", values_of}};

const BuiltinDef* find(std::span<const BuiltinDef> all, std::string_view name) {
  const auto found = std::ranges::find(all, name, [](const BuiltinDef& each) -> std::string_view { return each.name; });
  return found == all.end() ? nullptr : &*found;
}

const BuiltinDef& require(std::span<const BuiltinDef> all, std::string_view name, const char* kind) {
  if (const BuiltinDef* found = find(all, name)) return *found;
  std::string known;
  for (const BuiltinDef& each : all) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  fail("the {} \"{}\" is not known; known: {}", kind, name, known);
}

Value function(const char* name, std::function<Value(const Arguments&)> call) {
  return std::make_shared<const Function>(Function{name, std::move(call)});
}

Value range(Args arguments, Budget& budget) {
  const auto at = [&](size_t i) { return integer_of(arguments.values[i], "range"); };
  const size_t given = arguments.values.size();
  if (given == 0 || given > 3) fail("range takes 1 to 3 integers, found {}", given);
  const int64_t begin = given == 1 ? 0 : at(0), end = at(given == 1 ? 0 : 1), step = given == 3 ? at(2) : 1;
  if (step == 0) fail("range: the step is 0");
  std::vector<Value> all;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    budget.step();
    all.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::list(std::move(all));
}

// Names of other languages than English never stand in it: the program leaves the C locale as it is.
std::string time_text(const std::string& format, int64_t now) {
  const auto seconds = static_cast<time_t>(now);
  std::tm parts{};
  if (format.empty() || !gmtime_r(&seconds, &parts)) return "";
  std::string out(1024, '\0');
  const size_t bytes = std::strftime(out.data(), out.size(), format.c_str(), &parts);
  if (bytes == 0) fail("strftime_now: \"{}\" gives no text, or more than {} bytes", format.substr(0, 40), out.size());
  out.resize(bytes);
  return out;
}

}  // namespace

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
  return require(kFilters, name, "filter").call(value, arguments, budget);
}

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
  return truth(require(kTests, name, "test").call(value, arguments, budget));
}

Members globals(int64_t now, Budget& budget) {
  const auto made = [](Args arguments, bool is_namespace) {
    auto object = std::make_shared<Object>();
    object->is_namespace = is_namespace;
    for (const auto& [name, value] : arguments.named) object->set(name, value);
    if (is_namespace) return Value(object);
    return Value::object(object->members);
  };
  return {{"range", function("range", [&budget](Args a) { return range(a, budget); })},
          {"namespace", function("namespace", [made](Args a) { return made(a, true); })},
          {"dict", function("dict", [made](Args a) { return made(a, false); })},
          {"raise_exception", function("raise_exception",
                                       [](Args a) -> Value {
                                         fail("the template refuses: {}", a.values.empty() ? "" : shown(a.values[0]));
                                       })},
          {"strftime_now", function("strftime_now", [now](Args a) -> Value {
             return time_text(text_argument(a, 0, "format", "strftime_now"), now);
           })}};
}

Value member_of(const Value& value, const std::string& name, Budget& budget) {
  const Object* object = value.object();
  const BuiltinDef* method = value.text()                      ? find(kTextMethods, name)
                             : object && !object->is_namespace ? find(kObjectMethods, name)
                                                               : nullptr;
  if (method)
    return std::make_shared<const Function>(
        Function{name, [value, method, &budget](Args arguments) { return method->call(value, arguments, budget); },
                 extent_of(value).depth + 1});
  if (const Undefined* undefined = value.get<Undefined>())
    fail("\"{}\" is undefined, so it has no \"{}\"", undefined->name, name);
  const Value* found = object ? object->find(name) : nullptr;
  return found ? *found : Value(Undefined{name});
}

Value item_of(const Value& value, const Value& key, Budget& budget) {
  if (const Undefined* undefined = value.get<Undefined>())
    fail("\"{}\" is undefined, so it has no items", undefined->name);
  if (key.is_integer() && (value.items() || value.text())) {
    const int64_t size = value.items() ? std::ssize(*value.items()) : length_of(*value.text());
    const int64_t at = key.integer() < 0 ? key.integer() + size : key.integer();
    if (at < 0 || at >= size) return Undefined{fmt::format("item {}", key.integer())};
    if (value.items()) return (*value.items())[static_cast<size_t>(at)];
    budget.step(size / 16);
    std::string c;
    append_utf8(c, decode_utf8(*value.text())[static_cast<size_t>(at)]);
    return c;
  }
  if (!key.text()) return Undefined{repr(key)};
  const Object* object = value.object();
  const Value* found = object ? object->find(*key.text()) : nullptr;
  return found ? *found : member_of(value, *key.text(), budget);  // as jinja2: an item, else an attribute
}

Value slice_of(const Value& value, const Value* begin, const Value* end, const Value* step, Budget& budget) {
  if (!value.items() && !value.text()) fail("slices are of lists and strings, found {}", kind_of(value));
  const std::vector<Value> all = iterated(value, budget);
  const auto bound = [&](const Value* given, int64_t otherwise, int64_t least, int64_t most) {
    if (!given || given->none()) return otherwise;
    const int64_t at = integer_of(*given, "a slice"), size = std::ssize(all);
    return std::clamp(at < 0 ? at + size : at, least, most);
  };
  const int64_t size = std::ssize(all), by = step && !step->none() ? integer_of(*step, "a slice") : 1;
  if (by == 0) fail("a slice's step is 0");
  const bool back = by < 0;
  int64_t at = back ? bound(begin, size - 1, -1, size - 1) : bound(begin, 0, 0, size);
  const int64_t last = back ? bound(end, -1, -1, size - 1) : bound(end, size, 0, size);
  std::vector<Value> chosen;
  while (back ? at > last : at < last) {
    chosen.push_back(all[static_cast<size_t>(at)]);
    if (__builtin_add_overflow(at, by, &at)) break;
  }
  if (!value.text()) return Value::list(std::move(chosen));
  std::string out;
  for (const Value& each : chosen) out += *each.text();
  return out;
}

std::vector<Value> iterated(const Value& value, Budget& budget) {
  budget.step(extent_of(value).weight);
  std::vector<Value> all;
  if (value.undefined()) return all;
  if (const Items* items = value.items()) return *items;
  if (const Object* object = value.object(); object && !object->is_namespace) {
    for (const auto& [name, each] : object->members) all.emplace_back(name);
    return all;
  }
  if (!value.text()) fail("{} can't be gone through", kind_of(value));
  const std::u32string characters = decode_utf8(*value.text());
  budget.step(std::ssize(characters));
  for (char32_t c : characters) {
    std::string text;
    append_utf8(text, c);
    all.emplace_back(std::move(text));
  }
  return all;
}

bool contains(const Value& all, const Value& part, Budget& budget) {
  if (const std::string* text = all.text()) {
    const std::string& wanted = text_of(part, "\"in\" a string");
    budget.search(*text, wanted);
    return text->find(wanted) != std::string::npos;
  }
  if (const Items* items = all.items())
    return std::ranges::any_of(*items, [&](const Value& each) { return equal(each, part); });
  if (const Object* object = all.object()) return part.text() && object->find(*part.text());
  if (all.undefined()) return false;
  fail("{} holds nothing that could be \"in\" it", kind_of(all));
}

}  // namespace hone::jinja
