#include "generate/jinja/globals.h"

#include <ctime>

#include "base/error.h"
#include "generate/jinja/arguments.h"

namespace hone::jinja {
namespace {

using Args = const Arguments&;

Value function(const char* name, std::function<Value(const Arguments&)> call) {
  return std::make_shared<const Function>(Function{name, std::move(call)});
}

Value range(Args arguments, Budget& budget) {
  const auto at = [&](size_t i) { return integer_of(arguments.values[i], "range"); };
  expect_arguments(arguments, "start stop step", "range");
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

Members globals(int64_t now, Budget& budget) {
  const auto members = [](Args arguments, const char* of) {
    if (!arguments.values.empty()) fail("{} takes arguments by name, found one without", of);
    return last_of_each(arguments.named);
  };
  return {{"range", function("range", [&budget](Args a) { return range(a, budget); })},
          {"namespace", function("namespace",
                                 [members](Args a) -> Value {
                                   return std::make_shared<Object>(Object{members(a, "namespace"), {}, true});
                                 })},
          {"dict", function("dict", [members](Args a) { return Value::object(members(a, "dict")); })},
          {"raise_exception", function("raise_exception",
                                       [](Args a) -> Value {
                                         expect_arguments(a, "message", "raise_exception");
                                         fail("the template refuses: {}", a.values.empty() ? "" : shown(a.values[0]));
                                       })},
          {"strftime_now", function("strftime_now", [now](Args a) -> Value {
             expect_arguments(a, "format", "strftime_now");
             return time_text(text_argument(a, 0, "format", "strftime_now"), now);
           })}};
}

}  // namespace hone::jinja
