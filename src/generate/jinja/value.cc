#include "generate/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::jinja {
namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c == quote || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) out += fmt::format("\\x{:02x}", c);
    else out += c;
  }
  return out + quote;
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kShort = "\"\\nrtbf";
    if (const size_t at = kPlain.find(c); at != std::string_view::npos) out += '\\', out += kShort[at];
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", c);
    else out += c;
  }
  return out + '"';
}

struct JsonWriter {
  const JsonStyle& style;
  std::string out = {};

  void line(int64_t depth) {
    if (style.indent >= 0) out += '\n' + std::string(static_cast<size_t>(style.indent * depth), ' ');
  }
  void between(bool first, int64_t depth) {
    if (!first) out += style.indent >= 0 && style.between == ", " ? "," : style.between;
    line(depth);
  }
  void list(const Items& items, int64_t depth) {
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) between(i == 0, depth + 1), write(items[i], depth + 1);
    if (!items.empty()) line(depth);
    out += ']';
  }
  void object(Members members, int64_t depth) {
    if (style.sort_keys) std::ranges::stable_sort(members, {}, [](const auto& each) { return each.first; });
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      between(i == 0, depth + 1);
      out += json_string(members[i].first) + style.behind_key;
      write(members[i].second, depth + 1);
    }
    if (!members.empty()) line(depth);
    out += '}';
  }
  void write(const Value& value, int64_t depth) {
    if (value.none()) out += "null";
    else if (const bool* flag = value.get<bool>()) out += *flag ? "true" : "false";
    else if (const int64_t* whole = value.get<int64_t>()) out += fmt::format("{}", *whole);
    else if (const double* real = value.get<double>())
      out += std::isnan(*real)   ? "NaN"
             : std::isinf(*real) ? (*real < 0 ? "-Infinity" : "Infinity")
                                 : number_text(*real);
    else if (const std::string* text = value.text()) out += json_string(*text);
    else if (const Items* items = value.items()) list(*items, depth);
    else if (const Object* members = value.object()) object(members->members, depth);
    else fail("tojson: {} is no JSON value", kind_of(value));
  }
};

void hold(const Value& value, Extent& in) {
  if (value.object() && value.object()->is_namespace) fail("a namespace can't be part of another value");
  const Extent extent = extent_of(value);
  in.weight += extent.weight;
  in.depth = std::max(in.depth, extent.depth + 1);
  if (in.weight > kMaxWeight) fail("a value is too large; it may hold {} others", kMaxWeight);
  if (in.depth > kMaxNesting) fail("lists and objects lie in each other more than {} deep", kMaxNesting);
}

}  // namespace

Extent extent_of(const Value& value) {
  if (const std::string* text = value.text()) return {.weight = 1 + std::ssize(*text) / 16};
  if (const Items* items = value.items()) return items->extent;
  if (const auto* function = value.get<std::shared_ptr<const Function>>()) return {.depth = (*function)->depth};
  const Object* object = value.object();
  return object ? object->extent : Extent{};
}

Value Value::list(std::vector<Value> values) {
  auto made = std::make_shared<Items>(std::move(values));
  for (const Value& each : *made) hold(each, made->extent);
  return std::shared_ptr<const Items>(std::move(made));
}

Value Value::object(Members members) {
  auto made = std::make_shared<Object>(Object{std::move(members)});
  for (const auto& [name, each] : made->members) hold(Value(name), made->extent), hold(each, made->extent);
  return made;
}

Members last_of_each(Members members) {
  std::map<std::string, size_t> places;
  Members kept;
  for (auto& [name, value] : members) {
    const auto [place, is_new] = places.emplace(name, kept.size());
    if (is_new) kept.emplace_back(std::move(name), std::move(value));
    else kept[place->second].second = std::move(value);
  }
  return kept;
}

const Value* Object::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, [](const auto& each) -> std::string_view { return each.first; });
  return found == members.end() ? nullptr : &found->second;
}

void Object::set(const std::string& name, Value value) {
  const auto found =
      std::ranges::find(members, name, [](const auto& each) -> const std::string& { return each.first; });
  if (found != members.end()) found->second = std::move(value);
  else members.emplace_back(name, std::move(value));
}

Value Value::from_json(const Json& json) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX}) return json.get<double>();
  if (json.is_number()) return json.get<int64_t>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& each : json) items.push_back(from_json(each));
    return list(std::move(items));
  }
  Members members;
  for (const auto& [name, each] : json.items()) members.emplace_back(name, from_json(each));
  return object(std::move(members));
}

const Items* Value::items() const {
  const auto* list = get<std::shared_ptr<const Items>>();
  return list ? list->get() : nullptr;
}

const Object* Value::object() const {
  const auto* found = get<std::shared_ptr<Object>>();
  return found ? found->get() : nullptr;
}

int64_t Value::integer() const {
  if (const bool* flag = get<bool>()) return *flag;
  return std::get<int64_t>(is);
}

double Value::number() const {
  const double* real = get<double>();
  return real ? *real : static_cast<double>(integer());
}

const Value* Arguments::find(size_t place, std::string_view name) const {
  if (place < values.size()) return &values[place];
  for (const auto& [each, value] : named)
    if (each == name) return &value;
  return nullptr;
}

const char* kind_of(const Value& value) {
  constexpr const char* kKinds[] = {"an undefined value", "none",   "a boolean", "an integer", "a number",
                                    "a string",           "a list", "an object", "a function"};
  static_assert(std::size(kKinds) == std::variant_size_v<decltype(value.is)>);
  return kKinds[value.is.index()];
}

bool truth(const Value& value) {
  if (value.undefined() || value.none()) return false;
  if (value.is_number()) return value.number() != 0;
  if (const std::string* text = value.text()) return !text->empty();
  if (const Items* items = value.items()) return !items->empty();
  if (const Object* object = value.object()) return object->is_namespace || !object->members.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.is.index() != b.is.index()) return false;
  if (const std::string* text = a.text()) return *text == *b.text();
  if (const Items* items = a.items()) return std::ranges::equal(*items, *b.items(), equal);
  if (const Object* object = a.object()) {
    if (object == b.object()) return true;
    if (object->is_namespace || object->members.size() != b.object()->members.size()) return false;
    std::map<std::string_view, const Value*> others;
    for (const auto& [name, value] : b.object()->members) others.emplace(name, &value);
    return std::ranges::all_of(object->members, [&](const auto& each) {
      const auto other = others.find(each.first);
      return other != others.end() && equal(each.second, *other->second);
    });
  }
  if (const auto* function = a.get<std::shared_ptr<const Function>>())
    return *function == *b.get<std::shared_ptr<const Function>>();
  return true;  // none or undefined
}

bool less(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.integer() < b.integer();
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  if (a.text() && b.text()) return *a.text() < *b.text();  // UTF-8 is in the order of code points
  if (a.items() && b.items()) {
    for (size_t i = 0; i < std::min(a.items()->size(), b.items()->size()); ++i)
      if (!equal((*a.items())[i], (*b.items())[i])) return less((*a.items())[i], (*b.items())[i]);
    return a.items()->size() < b.items()->size();
  }
  fail("{} and {} have no order", kind_of(a), kind_of(b));
}

std::string shown(const Value& value) {
  if (value.undefined()) return "";
  const std::string* text = value.text();
  return text ? *text : repr(value);
}

std::string repr(const Value& value) {
  if (value.undefined()) return "Undefined";
  if (value.none()) return "None";
  if (const bool* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const int64_t* whole = value.get<int64_t>()) return fmt::format("{}", *whole);
  if (const double* real = value.get<double>()) return number_text(*real);
  if (const std::string* text = value.text()) return quoted(*text);
  std::string out;
  if (const Items* items = value.items()) {
    for (const Value& each : *items) out += (out.empty() ? "" : ", ") + repr(each);
    return '[' + out + ']';
  }
  if (const Object* object = value.object()) {
    for (const auto& [name, each] : object->members)
      out += (out.empty() ? "" : ", ") + quoted(name) + ": " + repr(each);
    return '{' + out + '}';
  }
  fail("{} can't be shown", kind_of(value));
}

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer{style};
  writer.write(value, 0);
  return std::move(writer.out);
}

int64_t length_of(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace hone::jinja
