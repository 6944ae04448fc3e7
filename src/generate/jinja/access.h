// What values hold: members, items, slices, and what loops go through.
#pragma once

#include <string>
#include <vector>

#include "generate/jinja/builtins.h"

namespace hone::jinja {

// value.name: a method, else the member of an object, else undefined.
Value member_of(const Value& value, const std::string& name, Budget& budget);
// value[key]; undefined where there is none.
Value item_of(const Value& value, const Value& key, Budget& budget);
Value slice_of(const Value& value, const Value* begin, const Value* end, const Value* step, Budget& budget);
// What a loop goes through: items of a list, characters of a string, names of an object, nothing of what is undefined.
std::vector<Value> iterated(const Value& value, Budget& budget);
// Pairs of names and values of an object.
Value items_of(const Value& value, const Arguments& arguments, Budget& budget);

bool contains(const Value& all, const Value& part, Budget& budget);

}  // namespace hone::jinja
