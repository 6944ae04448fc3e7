#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "generate/jinja/tokens.h"
#include "generate/jinja/tree.h"

namespace hone::jinja {
namespace {

constexpr int kMaxDepth = 100;  // of tags and brackets in each other; those of public templates stay below 20

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Body read() {
    Body body = read_body({});
    return body;
  }

 private:
  using Kind = Expression::Kind;

  // One level deeper for as long as it lives.
  struct Level {
    explicit Level(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kMaxDepth)
        parser.refuse(fmt::format("tags or brackets lie in each other more than {} deep", kMaxDepth));
    }
    ~Level() { --parser.depth_; }
    Parser& parser;
  };

  const Token& here(size_t behind = 0) const { return tokens_[std::min(at_ + behind, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_sign(std::string_view sign, size_t behind = 0) const {
    return here(behind).kind == TokenKind::sign && here(behind).text == sign;
  }
  bool is_name(std::string_view name, size_t behind = 0) const {
    return here(behind).kind == TokenKind::name && here(behind).text == name;
  }
  bool accept(std::string_view word) {
    const bool found = is_sign(word) || is_name(word);
    at_ += found;
    return found;
  }
  [[noreturn]] void refuse(const std::string& why) const { fail("line {}: {}", here().line, why); }
  std::string found() const {
    switch (here().kind) {
      case TokenKind::text:
        return "text";
      case TokenKind::tag_begin:
        return "{%";
      case TokenKind::show_begin:
        return "{{";
      case TokenKind::tag_end:
        return "%}";
      case TokenKind::show_end:
        return "}}";
      case TokenKind::end:
        return "the end of the template";
      default:
        return '"' + here().text + '"';
    }
  }
  void expect(std::string_view word) {
    if (!accept(word)) refuse(fmt::format("expected \"{}\", found {}", word, found()));
  }
  void expect(TokenKind kind, const char* what) {
    if (here().kind != kind) refuse(fmt::format("expected {}, found {}", what, found()));
    take();
  }
  std::string name() {
    if (here().kind != TokenKind::name) refuse(fmt::format("expected a name, found {}", found()));
    return take().text;
  }
  ExpressionPtr make(Kind kind, int line, std::string text, std::vector<ExpressionPtr> parts) {
    auto made = std::make_unique<Expression>();
    made->kind = kind, made->line = line, made->text = std::move(text), made->parts = std::move(parts);
    return made;
  }
  template <class... Parts>
  ExpressionPtr of(Kind kind, int line, std::string text, Parts... parts) {
    std::vector<ExpressionPtr> all;
    (all.push_back(std::move(parts)), ...);
    return make(kind, line, std::move(text), std::move(all));
  }
  ExpressionPtr literal(int line, Value value) {
    auto made = std::make_unique<Expression>();
    made->line = line, made->value = std::move(value);
    return made;
  }

  // Up to a tag of one of these names, which is not taken.
  Body read_body(std::vector<std::string_view> ends) {
    const Level level(*this);
    Body body;
    for (;;) {
      const Token& token = here();
      if (token.kind == TokenKind::end) {
        if (!ends.empty()) refuse(fmt::format("expected {{% {} %}}, found the end of the template", ends.back()));
        return body;
      }
      if (token.kind == TokenKind::tag_begin && std::ranges::find(ends, here(1).text) != ends.end()) return body;
      read_statement(body);
    }
  }
  Statement begin(Statement::Kind kind) const {
    Statement made;
    made.kind = kind, made.line = here().line;
    return made;
  }
  void end_tag() { expect(TokenKind::tag_end, "%}"); }
  void end_body(std::string_view name) {
    expect(TokenKind::tag_begin, "{%");
    expect(name);
    end_tag();
  }

  void read_statement(Body& body) {
    if (here().kind == TokenKind::text) {
      Statement made = begin(Statement::Kind::text);
      made.text = take().text;
      return body.push_back(std::move(made));
    }
    if (here().kind == TokenKind::show_begin) {
      Statement made = begin(Statement::Kind::show);
      take();
      made.expression = read_tuple();
      expect(TokenKind::show_end, "}}");
      return body.push_back(std::move(made));
    }
    expect(TokenKind::tag_begin, "{%");
    if (accept("if")) return body.push_back(read_choice());
    if (accept("for")) return body.push_back(read_loop());
    if (accept("set")) return body.push_back(read_set());
    if (accept("macro")) return body.push_back(read_macro());
    if (accept("generation")) return read_generation(body);
    if (is_name("break") || is_name("continue")) return read_leave(body);
    refuse(fmt::format("the tag {} is not known; known: if, for, set, macro, generation, break, continue", found()));
  }
  // Behind {% if or {% elif.
  Statement read_choice() {
    Statement made = begin(Statement::Kind::choice);
    made.expression = read_tuple();
    end_tag();
    made.body = read_body({"elif", "else", "endif"});
    expect(TokenKind::tag_begin, "{%");
    if (accept("elif")) {
      const Level level(*this);
      made.otherwise.push_back(read_choice());
      return made;
    }
    if (accept("else")) {
      end_tag();
      made.otherwise = read_body({"endif"});
      expect(TokenKind::tag_begin, "{%");
    }
    expect("endif");
    end_tag();
    return made;
  }
  Statement read_loop() {
    Statement made = begin(Statement::Kind::loop);
    const bool bracket = accept("(");
    do made.names.push_back(name());
    while (accept(","));
    if (bracket) expect(")");
    expect("in");
    made.expression = read_either();  // an `if` behind it belongs to the loop
    if (accept("if")) made.condition = read_expression();
    if (is_name("recursive")) refuse("\"recursive\" loops are not known");
    end_tag();
    ++loops_;
    made.body = read_body({"else", "endfor"});
    --loops_;
    expect(TokenKind::tag_begin, "{%");
    if (accept("else")) {
      end_tag();
      made.otherwise = read_body({"endfor"});
      expect(TokenKind::tag_begin, "{%");
    }
    expect("endfor");
    end_tag();
    return made;
  }
  Statement read_set() {
    Statement made = begin(Statement::Kind::set);
    made.names.push_back(name());
    if (accept(".")) made.text = std::exchange(made.names[0], name());
    else
      while (accept(",")) made.names.push_back(name());
    if (accept("=")) {
      made.expression = read_tuple();
      end_tag();
      return made;
    }
    if (is_sign("|")) refuse("filters of a {% set %} block are not known");
    if (!made.text.empty() || made.names.size() > 1) refuse(fmt::format("expected \"=\", found {}", found()));
    end_tag();
    made.kind = Statement::Kind::set_block;
    made.body = read_body({"endset"});
    end_body("endset");
    return made;
  }
  Statement read_macro() {
    if (loops_ > 0 || macros_ > 0) refuse("a macro inside of a loop or another macro is not known");
    Statement made = begin(Statement::Kind::macro);
    made.text = name();
    expect("(");
    while (!accept(")")) {
      if (!made.parameters.empty()) expect(",");
      std::string parameter = name();
      ExpressionPtr otherwise = accept("=") ? read_expression() : nullptr;
      made.parameters.push_back({std::move(parameter), std::move(otherwise)});
    }
    end_tag();
    ++macros_;
    made.body = read_body({"endmacro"});
    --macros_;
    end_body("endmacro");
    return made;
  }
  // What training looks at: no more than what lies in it.
  void read_generation(Body& body) {
    end_tag();
    for (Statement& each : read_body({"endgeneration"})) body.push_back(std::move(each));
    end_body("endgeneration");
  }
  void read_leave(Body& body) {
    if (loops_ == 0) refuse(fmt::format("{} stands in no loop", found()));
    body.push_back(begin(take().text == "break" ? Statement::Kind::leave : Statement::Kind::next));
    end_tag();
  }

  // Expressions, from what binds least to what binds most; as jinja2's parser has them.
  ExpressionPtr read_tuple() {
    const int line = here().line;
    ExpressionPtr first = read_expression();
    if (!is_sign(",")) return first;
    std::vector<ExpressionPtr> parts;
    parts.push_back(std::move(first));
    while (accept(",") && here().kind != TokenKind::tag_end && here().kind != TokenKind::show_end)
      parts.push_back(read_expression());
    return make(Kind::list, line, "", std::move(parts));
  }
  ExpressionPtr read_expression() {
    const Level level(*this);
    ExpressionPtr value = read_either();
    for (int chain = 0; is_name("if"); count(chain)) {
      const int line = take().line;
      ExpressionPtr condition = read_either();
      ExpressionPtr otherwise = accept("else") ? read_expression() : nullptr;
      value = of(Kind::conditional, line, "", std::move(value), std::move(condition), std::move(otherwise));
    }
    return value;
  }
  ExpressionPtr read_either() {
    ExpressionPtr left = read_both();
    for (int chain = 0; is_name("or"); count(chain)) {
      const int line = take().line;
      left = of(Kind::either, line, "", std::move(left), read_both());
    }
    return left;
  }
  ExpressionPtr read_both() {
    ExpressionPtr left = read_not();
    for (int chain = 0; is_name("and"); count(chain)) {
      const int line = take().line;
      left = of(Kind::both, line, "", std::move(left), read_not());
    }
    return left;
  }
  ExpressionPtr read_not() {
    if (!is_name("not")) return read_compare();
    const Level level(*this);
    const int line = take().line;
    return of(Kind::unary, line, "not", read_not());
  }
  std::string comparison() {
    constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    for (std::string_view sign : kSigns)
      if (accept(sign)) return std::string(sign);
    if (accept("in")) return "in";
    if (is_name("not") && is_name("in", 1)) return at_ += 2, "not in";
    return "";
  }
  ExpressionPtr read_compare() {
    const int line = here().line;
    ExpressionPtr first = read_sum();
    auto made = std::make_unique<Expression>();
    made->kind = Kind::compare, made->line = line;
    for (std::string sign = comparison(); !sign.empty(); sign = comparison()) {
      if (first) made->parts.push_back(std::move(first));
      made->signs.push_back(sign);
      made->parts.push_back(read_sum());
    }
    return first ? std::move(first) : std::move(made);
  }
  template <class Next>
  ExpressionPtr read_binary(std::initializer_list<std::string_view> signs, Next next) {
    ExpressionPtr left = next();
    for (int chain = 0;; count(chain)) {
      const auto sign = std::ranges::find_if(signs, [&](std::string_view each) { return is_sign(each); });
      if (sign == signs.end()) return left;
      const int line = take().line;
      left = of(Kind::binary, line, std::string(*sign), std::move(left), next());
    }
  }
  ExpressionPtr read_sum() {
    return read_binary({"+", "-"}, [&] { return read_concat(); });
  }
  ExpressionPtr read_concat() {
    return read_binary({"~"}, [&] { return read_product(); });
  }
  ExpressionPtr read_product() {
    return read_binary({"*", "/", "//", "%"}, [&] {
      ExpressionPtr left = read_unary(true);
      if (is_sign("**")) refuse("the operator \"**\" is not known");
      return left;
    });
  }
  ExpressionPtr read_unary(bool with_filters) {
    const Level level(*this);
    ExpressionPtr value;
    if (is_sign("-") || is_sign("+")) {
      const Token sign = take();
      value = of(Kind::unary, sign.line, sign.text, read_unary(false));
    } else {
      value = read_primary();
    }
    value = read_postfix(std::move(value));
    return with_filters ? read_filters(std::move(value)) : std::move(value);
  }
  ExpressionPtr read_primary() {
    const Token token = here();
    switch (token.kind) {
      case TokenKind::name: {
        take();
        const std::string& word = token.text;
        if (word == "true" || word == "True") return literal(token.line, true);
        if (word == "false" || word == "False") return literal(token.line, false);
        if (word == "none" || word == "None") return literal(token.line, None{});
        return of(Kind::name, token.line, word);
      }
      case TokenKind::string: {
        std::string text;
        while (here().kind == TokenKind::string) text += take().text;
        return literal(token.line, std::move(text));
      }
      case TokenKind::integer:
        return take(), read_integer(token);
      case TokenKind::number: {
        take();
        double value = 0;
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
        return literal(token.line, value);
      }
      default:
        break;
    }
    if (accept("(")) return read_bracket(token.line);
    if (accept("[")) return make(Kind::list, token.line, "", read_items("]"));
    if (accept("{")) return read_object(token.line);
    refuse(fmt::format("expected an expression, found {}", found()));
  }
  ExpressionPtr read_integer(const Token& token) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc()) refuse(fmt::format("{} is beyond 64 bits", token.text));
    return literal(token.line, value);
  }
  ExpressionPtr read_bracket(int line) {
    if (accept(")")) return make(Kind::list, line, "", {});
    ExpressionPtr first = read_expression();
    if (accept(")")) return first;
    expect(",");
    std::vector<ExpressionPtr> parts = read_items(")");
    parts.insert(parts.begin(), std::move(first));
    return make(Kind::list, line, "", std::move(parts));
  }
  std::vector<ExpressionPtr> read_items(std::string_view end) {
    std::vector<ExpressionPtr> parts;
    while (!accept(end)) {
      parts.push_back(read_expression());
      if (!is_sign(end)) expect(",");
    }
    return parts;
  }
  ExpressionPtr read_object(int line) {
    std::vector<ExpressionPtr> parts;
    while (!accept("}")) {
      parts.push_back(read_expression());
      expect(":");
      parts.push_back(read_expression());
      if (!is_sign("}")) expect(",");
    }
    return make(Kind::object, line, "", std::move(parts));
  }
  // Behind "(".
  void read_arguments(Expression& into) {
    while (!accept(")")) {
      if (is_sign("*") || is_sign("**")) refuse("arguments given by \"*\" are not known");
      if (here().kind == TokenKind::name && is_sign("=", 1)) {
        std::string argument = take().text;
        take();
        into.named.emplace_back(std::move(argument), read_expression());
      } else {
        if (!into.named.empty()) refuse("an argument without a name stands behind one with a name");
        into.parts.push_back(read_expression());
      }
      if (!is_sign(")")) expect(",");
    }
  }
  std::unique_ptr<Expression> around(Kind kind, int line, ExpressionPtr inner) {
    auto made = std::make_unique<Expression>();
    made->kind = kind, made->line = line;
    made->parts.push_back(std::move(inner));
    return made;
  }
  // Each takes the tree a level deeper, whatever the text's brackets do.
  void count(int& chain) const {
    if (++chain > kMaxDepth) refuse(fmt::format("more than {} operators, members or filters in a row", kMaxDepth));
  }
  ExpressionPtr read_postfix(ExpressionPtr value) {
    for (int chain = 0;; count(chain)) {
      const int line = here().line;
      if (accept(".")) {
        if (here().kind == TokenKind::integer)
          value = of(Kind::index, line, "", std::move(value), read_integer(take()));
        else value = of(Kind::member, line, name(), std::move(value));
      } else if (accept("[")) {
        value = read_index(line, std::move(value));
      } else if (accept("(")) {
        auto call = around(Kind::call, line, std::move(value));
        read_arguments(*call);
        value = std::move(call);
      } else {
        return value;
      }
    }
  }
  ExpressionPtr read_index(int line, ExpressionPtr value) {
    std::vector<ExpressionPtr> parts;
    parts.push_back(std::move(value));
    bool slices = false;
    const auto part = [&] { return is_sign(":") || is_sign("]") ? nullptr : read_expression(); };
    parts.push_back(part());
    while (parts.size() < 4 && accept(":")) slices = true, parts.push_back(part());
    expect("]");
    if (!slices && !parts[1]) refuse("expected an index, found \"]\"");
    if (slices) parts.resize(4);
    return make(slices ? Kind::slice : Kind::index, line, "", std::move(parts));
  }
  ExpressionPtr read_filters(ExpressionPtr value) {
    for (int chain = 0;; count(chain)) {
      const int line = here().line;
      if (accept("|")) {
        auto filter = around(Kind::filter, line, std::move(value));
        filter->text = name();
        if (accept("(")) read_arguments(*filter);
        value = std::move(filter);
      } else if (accept("is")) {
        value = read_test(line, std::move(value));
      } else if (is_sign("(")) {
        value = read_postfix(std::move(value));
      } else {
        return value;
      }
    }
  }
  ExpressionPtr read_test(int line, ExpressionPtr value) {
    const bool negated = accept("not");
    auto test = around(Kind::test, line, std::move(value));
    test->text = here().kind == TokenKind::sign ? take().text : name();
    const TokenKind next = here().kind;
    const bool is_word = next == TokenKind::name && !is_name("else") && !is_name("or") && !is_name("and") &&
                         !is_name("is") && !is_name("if") && !is_name("not") && !is_name("in");
    if (accept("(")) read_arguments(*test);
    else if (is_word || next == TokenKind::string || next == TokenKind::integer || next == TokenKind::number ||
             is_sign("[") || is_sign("{"))
      test->parts.push_back(read_postfix(read_primary()));
    ExpressionPtr made = std::move(test);
    return negated ? of(Kind::unary, line, "not", std::move(made)) : std::move(made);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0, macros_ = 0;
};

}  // namespace

Body parse(std::string_view source) { return Parser(tokens_of(source)).read(); }

}  // namespace hone::jinja
