#include "generate/jinja/render.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "generate/jinja/access.h"
#include "generate/jinja/builtins.h"
#include "generate/jinja/globals.h"

namespace hone::jinja {
namespace {

constexpr int kMaxDepth = 400;  // of expressions, bodies and macros that are under way: some 200 KB of stack

enum class Flow : unsigned char { on, leave, next };
using Frame = std::map<std::string, Value, std::less<>>;

class Run {
 public:
  Run(const Members& names, int64_t now) {
    frames_.emplace_back();
    for (const auto& [name, value] : globals(now, budget_)) frames_[0].insert_or_assign(name, value);
    for (const auto& [name, value] : names) frames_[0].insert_or_assign(name, value);
  }
  std::string show(const Body& body) {
    try {
      run(body);
    } catch (const Error& error) {
      fail("line {}: {}", line_, error.what());
    }
    return std::move(out_);
  }

 private:
  using Kind = Expression::Kind;

  struct Level {
    explicit Level(int& depth) : depth(depth) {
      if (++depth > kMaxDepth) fail("macros or expressions lie in each other more than {} deep", kMaxDepth);
    }
    ~Level() { --depth; }
    int& depth;
  };

  void write(const Value& value) {
    if (value.undefined()) return;
    if (value.text()) budget_.text(std::ssize(*value.text()));
    out_ += shown_within(value, budget_);
  }
  // What a body shows, apart; and whether it ran to its end.
  std::pair<std::string, Flow> captured(const Body& body) {
    std::string before = std::exchange(out_, {});
    const Flow flow = run(body);
    return {std::exchange(out_, std::move(before)), flow};
  }

  Flow run(const Body& body) {
    const Level level(depth_);
    for (const Statement& each : body)
      if (const Flow flow = run(each); flow != Flow::on) return flow;
    return Flow::on;
  }
  Flow run(const Statement& s) {
    line_ = s.line;
    budget_.step();
    switch (s.kind) {
      case Statement::Kind::text:
        budget_.text(std::ssize(s.text));
        out_ += s.text;
        return Flow::on;
      case Statement::Kind::show:
        return write(value_of(*s.expression)), Flow::on;
      case Statement::Kind::choice:
        return run(truth(value_of(*s.expression)) ? s.body : s.otherwise);
      case Statement::Kind::loop:
        return loop(s);
      case Statement::Kind::set:
        return set(s), Flow::on;
      case Statement::Kind::set_block:
        return set_block(s);
      case Statement::Kind::macro:
        return define(s), Flow::on;
      case Statement::Kind::leave:
        return Flow::leave;
      case Statement::Kind::next:
        return Flow::next;
    }
    return Flow::on;
  }

  // A loop that is left in it leaves the name as it was.
  Flow set_block(const Statement& s) {
    frames_.emplace_back();
    auto [text, flow] = captured(s.body);
    frames_.pop_back();
    if (flow == Flow::on) frames_.back().insert_or_assign(s.names[0], Value(std::move(text)));
    return flow;
  }
  void set(const Statement& s) {
    Value value = value_of(*s.expression);
    line_ = s.line;
    if (s.text.empty()) return assign(s.names, value);
    const Value owner = look_up(s.text);
    const auto* object = owner.get<std::shared_ptr<Object>>();
    if (!object || !(*object)->is_namespace) fail("\"{}\" is no namespace, so its members can't be set", s.text);
    if (value.object() && value.object()->is_namespace) fail("a namespace can't be part of another value");
    budget_.step(1 + std::ssize((*object)->members) / 16);  // names that are compared
    (*object)->set(s.names[0], std::move(value));
  }
  void assign(const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) {
      frames_.back().insert_or_assign(names[0], value);
      return;
    }
    const std::vector<Value> parts = iterated(value, budget_);
    if (parts.size() != names.size()) fail("{} names stand for {} values", names.size(), parts.size());
    for (size_t i = 0; i < names.size(); ++i) frames_.back().insert_or_assign(names[i], parts[i]);
  }

  Flow loop(const Statement& s) {
    std::vector<Value> items = iterated(value_of(*s.expression), budget_);
    if (s.condition) {
      frames_.emplace_back();
      std::erase_if(items, [&](const Value& item) {
        budget_.step();
        assign(s.names, item);
        return !truth(value_of(*s.condition));
      });
      frames_.pop_back();
    }
    Flow flow = Flow::on;
    for (size_t i = 0; i < items.size() && flow != Flow::leave; ++i) {
      budget_.step(16);  // what `loop` says is made anew
      frames_.emplace_back();
      assign(s.names, items[i]);
      frames_.back().insert_or_assign("loop", loop_facts(items, i));
      flow = run(s.body);
      frames_.pop_back();
    }
    if (!items.empty()) return Flow::on;
    frames_.emplace_back();
    flow = run(s.otherwise);
    frames_.pop_back();
    return flow;
  }
  Value loop_facts(const std::vector<Value>& items, size_t i) {
    const auto at = static_cast<int64_t>(i), size = std::ssize(items);
    auto facts = std::make_shared<Object>();
    facts->is_namespace = true;  // so that its values, which may be large, are not counted, and it stays out of others
    const auto cycle = [at](const Arguments& a) {
      if (a.values.empty() || !a.named.empty()) fail("loop.cycle goes through arguments without names, and has none");
      return a.values[static_cast<size_t>(at) % a.values.size()];
    };
    facts->members = {{"index", at + 1},
                      {"index0", at},
                      {"revindex", size - at},
                      {"revindex0", size - at - 1},
                      {"first", at == 0},
                      {"last", at == size - 1},
                      {"length", size},
                      {"previtem", i > 0 ? items[i - 1] : Value(Undefined{"loop.previtem"})},
                      {"nextitem", i + 1 < items.size() ? items[i + 1] : Value(Undefined{"loop.nextitem"})},
                      {"cycle", Value(std::make_shared<const Function>(Function{"loop.cycle", cycle}))}};
    return facts;
  }

  void define(const Statement& s) {
    auto macro = [this, &s](const Arguments& arguments) { return call_macro(s, arguments); };
    frames_.back().insert_or_assign(s.text, std::make_shared<const Function>(Function{s.text, macro}));
  }
  // A macro sees what the template has set outside of loops, and its own names.
  Value call_macro(const Statement& s, const Arguments& arguments) {
    if (arguments.values.size() > s.parameters.size())
      fail("macro {} takes {} arguments, found {}", s.text, s.parameters.size(), arguments.values.size());
    for (const auto& [name, value] : arguments.named)
      if (std::ranges::find(s.parameters, name, &Parameter::name) == s.parameters.end())
        fail("macro {} has no parameter \"{}\"", s.text, name);
    std::vector<Frame> callers(std::make_move_iterator(frames_.begin() + 1), std::make_move_iterator(frames_.end()));
    frames_.resize(1);
    frames_.emplace_back();
    for (size_t i = 0; i < s.parameters.size(); ++i) {
      const Parameter& parameter = s.parameters[i];
      const Value* given = arguments.find(i, parameter.name);
      Value value = given                 ? *given
                    : parameter.otherwise ? value_of(*parameter.otherwise)
                                          : Value(Undefined{parameter.name});
      frames_.back().insert_or_assign(parameter.name, std::move(value));
    }
    std::string text = captured(s.body).first;
    frames_.resize(1);
    std::ranges::move(callers, std::back_inserter(frames_));
    return text;
  }

  Value look_up(const std::string& name) const {
    for (size_t i = frames_.size(); i-- > 0;)
      if (const auto found = frames_[i].find(name); found != frames_[i].end()) return found->second;
    return Undefined{name};
  }

  // Every value is paid for, so that text can't grow in an expression without being counted.
  Value value_of(const Expression& e) {
    const Level level(depth_);
    line_ = e.line;
    Value value = evaluate(e);
    budget_.step(extent_of(value).weight);
    return value;
  }
  Value part(const Expression& e, size_t i) {
    Value value = value_of(*e.parts[i]);
    line_ = e.line;
    return value;
  }
  Arguments arguments_of(const Expression& e) {
    Arguments arguments;
    for (size_t i = 1; i < e.parts.size(); ++i) arguments.values.push_back(value_of(*e.parts[i]));
    for (const auto& [name, value] : e.named) arguments.named.emplace_back(name, value_of(*value));
    line_ = e.line;
    return arguments;
  }
  Value evaluate(const Expression& e) {
    switch (e.kind) {
      case Kind::literal:
        return e.value;
      case Kind::name:
        return look_up(e.text);
      case Kind::list:
        return list(e);
      case Kind::object:
        return object(e);
      case Kind::member:
        return member_of(part(e, 0), e.text, budget_);
      case Kind::index: {
        const Value value = part(e, 0);
        return item_of(value, part(e, 1), budget_);
      }
      case Kind::slice:
        return slice(e);
      case Kind::call:
        return call(e);
      case Kind::filter: {
        const Value value = part(e, 0);
        return apply_filter(e.text, value, arguments_of(e), budget_);
      }
      case Kind::test: {
        const Value value = part(e, 0);
        return apply_test(e.text, value, arguments_of(e), budget_);
      }
      case Kind::unary:
        return unary(e);
      case Kind::binary: {
        const Value left = part(e, 0);
        return binary(e.text, left, part(e, 1));
      }
      case Kind::both: {
        Value left = part(e, 0);
        return truth(left) ? part(e, 1) : left;
      }
      case Kind::either: {
        Value left = part(e, 0);
        return truth(left) ? left : part(e, 1);
      }
      case Kind::compare:
        return compare(e);
      case Kind::conditional:
        if (truth(part(e, 1))) return part(e, 0);
        return e.parts[2] ? part(e, 2) : Value(Undefined{"the conditional's else"});
    }
    return None{};
  }
  Value list(const Expression& e) {
    std::vector<Value> items;
    for (size_t i = 0; i < e.parts.size(); ++i) items.push_back(part(e, i));
    return Value::list(std::move(items));
  }
  Value object(const Expression& e) {
    Members made;
    for (size_t i = 0; i < e.parts.size(); i += 2) {
      const Value key = part(e, i);
      if (!key.text()) fail("an object's key is {}; strings are accepted", kind_of(key));
      made.emplace_back(*key.text(), part(e, i + 1));
    }
    return Value::object(last_of_each(std::move(made)));
  }
  Value slice(const Expression& e) {
    const Value value = part(e, 0);
    std::array<Value, 3> bounds;
    for (size_t i = 0; i < 3; ++i)
      if (e.parts[i + 1]) bounds[i] = part(e, i + 1);
    return slice_of(value, &bounds[0], &bounds[1], &bounds[2], budget_);
  }
  Value call(const Expression& e) {
    const Value callee = part(e, 0);
    const Arguments arguments = arguments_of(e);
    if (const auto* function = callee.get<std::shared_ptr<const Function>>()) return (*function)->call(arguments);
    if (const Undefined* undefined = callee.get<Undefined>())
      fail("\"{}\" is not known, so it can't be called", undefined->name);
    fail("{} can't be called", kind_of(callee));
  }
  Value unary(const Expression& e) {
    Value value = part(e, 0);
    if (e.text == "not") return !truth(value);
    if (!value.is_number()) fail("the operator \"{}\" is of a number, found {}", e.text, kind_of(value));
    if (e.text == "+") return value.get<bool>() ? Value(value.integer()) : value;
    if (!value.is_integer()) return -value.number();
    return binary("-", Value(int64_t{0}), value);
  }
  Value compare(const Expression& e) {
    Value left = part(e, 0);
    for (size_t i = 0; i < e.signs.size(); ++i) {
      Value right = part(e, i + 1);
      if (!holds(e.signs[i], left, right)) return false;
      left = std::move(right);
    }
    return true;
  }
  bool holds(const std::string& sign, const Value& a, const Value& b) {
    if (sign == "==") return equal(a, b);
    if (sign == "!=") return !equal(a, b);
    if (sign == "<") return less(a, b);
    if (sign == ">") return less(b, a);
    if (sign == "<=") return !less(b, a);
    if (sign == ">=") return !less(a, b);
    return contains(b, a, budget_) == (sign == "in");
  }

  Value binary(const std::string& sign, const Value& a, const Value& b) {
    if (sign == "~") return joined(a, b);
    for (const Value* each : {&a, &b})
      if (const Undefined* undefined = each->get<Undefined>())
        fail("\"{}\" is undefined, so \"{}\" has nothing to work on", undefined->name, sign);
    if (a.is_number() && b.is_number())
      return a.is_integer() && b.is_integer() ? integers(sign, a, b) : numbers(sign, a, b);
    if (sign == "+" && a.text() && b.text()) return joined(a, b);
    if (sign == "+" && a.items() && b.items()) {
      budget_.step(extent_of(a).weight + extent_of(b).weight);
      std::vector<Value> all = *a.items();
      all.insert(all.end(), b.items()->begin(), b.items()->end());
      return Value::list(std::move(all));
    }
    if (sign == "*" && a.is_integer() && b.text()) return repeated(*b.text(), a.integer());
    if (sign == "*" && a.text() && b.is_integer()) return repeated(*a.text(), b.integer());
    fail("the operator \"{}\" is not known of {} and {}", sign, kind_of(a), kind_of(b));
  }
  Value joined(const Value& a, const Value& b) {
    for (const Value* each : {&a, &b})
      if (each->text()) budget_.text(std::ssize(*each->text()));
    return shown_within(a, budget_) + shown_within(b, budget_);
  }
  Value repeated(const std::string& text, int64_t times) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(std::ssize(text), std::max<int64_t>(times, 0), &bytes)) bytes = INT64_MAX;
    budget_.text(bytes);
    std::string out;
    for (int64_t i = 0; i < times && !text.empty(); ++i) out += text;
    return out;
  }
  static Value integers(const std::string& sign, const Value& left, const Value& right) {
    const int64_t a = left.integer(), b = right.integer();
    int64_t value = 0;
    if (sign == "+" || sign == "-" || sign == "*") {
      const bool over = sign == "+"   ? __builtin_add_overflow(a, b, &value)
                        : sign == "-" ? __builtin_sub_overflow(a, b, &value)
                                      : __builtin_mul_overflow(a, b, &value);
      if (over) fail("{} {} {} is beyond 64 bits", a, sign, b);
      return value;
    }
    if (b == 0) fail("division by zero");
    if (sign == "/") return static_cast<double>(a) / static_cast<double>(b);
    if (b == -1) return sign == "%" ? Value(int64_t{0}) : integers("-", Value(int64_t{0}), left);
    const bool is_down = a % b != 0 && (a < 0) != (b < 0);  // Python rounds down
    return sign == "//" ? a / b - is_down : a % b + (is_down ? b : 0);
  }
  static Value numbers(const std::string& sign, const Value& left, const Value& right) {
    const double a = left.number(), b = right.number();
    if (sign == "+") return a + b;
    if (sign == "-") return a - b;
    if (sign == "*") return a * b;
    if (b == 0) fail("division by zero");
    if (sign == "/") return a / b;
    const double down = std::floor(a / b);
    return sign == "//" ? down : a - down * b;
  }

  Budget budget_;
  std::vector<Frame> frames_;
  std::string out_;
  int line_ = 1, depth_ = 0;
};

}  // namespace

std::string render(const Body& body, const Members& names, int64_t now) { return Run(names, now).show(body); }

}  // namespace hone::jinja
