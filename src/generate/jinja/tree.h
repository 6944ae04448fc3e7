// A template as it was read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generate/jinja/value.h"

namespace hone::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Expression {
  enum class Kind : unsigned char {
    literal,      // value
    name,         // text
    list,         // parts
    object,       // parts: key, value, key, value
    member,       // parts[0].text
    index,        // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]], of which some may be null
    call,         // parts[0](parts[1], …, named)
    filter,       // parts[0] | text(parts[1], …, named)
    test,         // parts[0] is text(parts[1], …)
    unary,        // text: "not", "-" or "+"
    binary,       // text: an operator
    both,         // parts[0] and parts[1]
    either,       // parts[0] or parts[1]
    compare,      // parts[0] signs[0] parts[1] signs[1] parts[2] …
    conditional,  // parts[0] if parts[1] else parts[2], which may be null
  };
  Kind kind = Kind::literal;
  int line = 0;
  std::string text = {};
  Value value = {};
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::pair<std::string, ExpressionPtr>> named = {};
  std::vector<std::string> signs = {};
};

struct Statement;
using Body = std::vector<Statement>;

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null: none
};

struct Statement {
  enum class Kind : unsigned char {
    text,       // text
    show,       // expression
    choice,     // if expression: body, else otherwise
    loop,       // for names in expression if condition: body, else otherwise
    set,        // names = expression; or text.names[0] = expression
    set_block,  // names[0] = what body shows
    macro,      // text(parameters): body
    leave,      // break
    next,       // continue
  };
  Kind kind = Kind::text;
  int line = 0;
  std::string text = {};
  std::vector<std::string> names = {};
  ExpressionPtr expression = {}, condition = {};
  std::vector<Parameter> parameters = {};
  Body body = {}, otherwise = {};
};

// Throws Error with the line and the name of what it does not know.
Body parse(std::string_view source);

}  // namespace hone::jinja
