#include "generate/jinja/access.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "generate/jinja/arguments.h"
#include "generate/jinja/text_methods.h"

namespace hone::jinja {

Value items_of(const Value& value, const Arguments&, Budget& budget) {
  if (value.undefined()) return Value::list({});
  const Object* object = value.object();
  if (!object) fail("items is of an object, found {}", kind_of(value));
  budget.step(extent_of(value).weight);
  std::vector<Value> pairs;
  for (const auto& [name, each] : object->members) pairs.push_back(Value::list({Value(name), each}));
  return Value::list(std::move(pairs));
}

namespace {

using Args = const Arguments&;

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

constexpr BuiltinDef kObjectMethods[] = {
    {"get", get_member, "key default"}, {"items", items_of}, {"keys", keys_of}, {"values", values_of}};

}  // namespace

Value member_of(const Value& value, const std::string& name, Budget& budget) {
  const Object* object = value.object();
  const BuiltinDef* method = value.text()                      ? find(text_methods(), name)
                             : object && !object->is_namespace ? find(kObjectMethods, name)
                                                               : nullptr;
  if (method)
    return std::make_shared<const Function>(
        Function{name, [value, method, &budget](Args arguments) { return call(*method, value, arguments, budget); },
                 extent_of(value).depth + 1});
  if (const Undefined* undefined = value.get<Undefined>())
    fail("\"{}\" is undefined, so it has no \"{}\"", undefined->name, name);
  if (object && object->is_namespace) budget.step(1 + std::ssize(object->members) / 16);
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
