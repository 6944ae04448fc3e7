#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "ir/literal.h"
#include "ir/node_rules.h"
#include "ir/text.h"

namespace hone {
namespace {

constexpr int kMostNested = 32;  // bodies within bodies: texts come from files

struct Target {
  std::string name;
  std::optional<TensorType> type;
  size_t offset;
};

class Parser {
 public:
  Parser(Scanner& scanner, const ParseContext& context, int depth = 0)
      : scanner_(scanner), context_(context), depth_(depth) {}

  Graph run() {
    Graph graph = one_graph();
    if (!scanner_.at_end()) scanner_.expected("the end of the graph");
    return graph;
  }

 private:
  Graph one_graph() {
    const bool wrapped = scanner_.accept_word("graph");
    if (wrapped) {
      graph_.name = scanner_.identifier("the graph's name");
      scanner_.expect('{');
    }
    while (!scanner_.accept_word("return"))
      if (scanner_.accept_word("update")) update();
      else statement();
    returns();
    if (wrapped) scanner_.expect('}');
    return std::move(graph_);
  }

  void statement() {
    if (scanner_.accept_word("meta")) {
      const size_t begin = scanner_.offset();
      std::string key = scanner_.quoted();
      scanner_.expect('=');
      if (!graph_.metadata.emplace(key, scanner_.quoted()).second)
        scanner_.fail_at(begin, "duplicate key " + quote(key));
      return;
    }
    if (scanner_.peek() != '%') scanner_.expected("a statement (%name = op …), meta, update or return");
    const std::vector<Target> targets = read_targets();
    scanner_.expect('=');
    if (scanner_.accept_word("input")) input(single(targets));
    else if (scanner_.accept_word("param")) held(single(targets), InputRole::parameter);
    else if (scanner_.accept_word("state")) held(single(targets), InputRole::state);
    else if (scanner_.accept_word("const")) constant(single(targets));
    else node(targets);
  }

  std::vector<Target> read_targets() {
    std::vector<Target> targets;
    do {
      const size_t begin = scanner_.offset();
      Target target{scanner_.value_name(), std::nullopt, begin};
      if (defined(target.name) != kNone) scanner_.fail_at(begin, "%" + target.name + " is already defined");
      if (scanner_.accept(':')) target.type = parse_type(scanner_);
      targets.push_back(std::move(target));
    } while (scanner_.accept(','));
    return targets;
  }

  const Target& single(const std::vector<Target>& targets) {
    if (targets.size() > 1) scanner_.fail_at(targets[1].offset, "an input or a constant is one value");
    return targets[0];
  }

  // The type to the left of '=', or else the one that stands here.
  TensorType declared(const Target& target) { return target.type ? *target.type : parse_type(scanner_); }

  void input(const Target& target) {
    const bool labelled_first = scanner_.peek() == '"';
    std::string label = labelled_first ? scanner_.quoted() : target.name;
    const TensorType type = declared(target);
    if (!labelled_first && scanner_.peek() == '"') label = scanner_.quoted();
    try {
      name_value(graph_.add_input(label, type), target.name);
    } catch (const Error& error) {
      scanner_.fail_at(target.offset, error.what());
    }
  }

  // A parameter, whose tensor is stored unless it stands here; or state, which begins as what stands here, as what is
  // `stored`, or as nothing.
  void held(const Target& target, InputRole role) {
    const std::string label = scanner_.quoted();
    const TensorType type = declared(target);
    const size_t here = scanner_.offset();
    std::optional<Tensor> initial;
    if (scanner_.peek() == '{' || scanner_.accept_word("planes")) {
      scanner_.rewind(here);
      initial = parse_literal(scanner_, type);
    } else if (role == InputRole::parameter || scanner_.accept_word("stored")) {
      initial = stored(label, type, target.offset);
    }
    try {
      name_value(role == InputRole::parameter ? graph_.add_parameter(label, *std::move(initial))
                                              : graph_.add_state(label, type, std::move(initial)),
                 target.name);
    } catch (const Error& error) {
      scanner_.fail_at(target.offset, error.what());
    }
  }

  void update() {
    const size_t begin = scanner_.offset();
    const ValueId target = used_value(begin);
    scanner_.expect('=');
    const ValueId value = used_value(scanner_.offset());
    try {
      graph_.add_update(target, value);
    } catch (const Error& error) {
      scanner_.fail_at(begin, error.what());
    }
  }

  void constant(const Target& target) {
    const std::string label = scanner_.peek() == '"' ? scanner_.quoted() : "";
    const TensorType type = declared(target);
    const size_t here = scanner_.offset();
    if (scanner_.peek() == '{' || scanner_.accept_word("planes")) {
      scanner_.rewind(here);
      name_value(graph_.add_constant(label, parse_literal(scanner_, type)), target.name);
      return;
    }
    if (label.empty()) scanner_.expected("the contents {…} of a constant without a name");
    name_value(graph_.add_constant(label, stored(label, type, target.offset)), target.name);
  }

  Tensor stored(const std::string& label, const TensorType& type, size_t offset) {
    std::optional<Tensor> found;
    if (context_.find_constant) found = context_.find_constant(label, type);
    if (!found)
      scanner_.fail_at(offset, fmt::format("no contents are given for \"{}\" of type {}", label, to_string(type)));
    if (found->type() != type)
      scanner_.fail_at(
          offset, fmt::format("\"{}\" is {}; the graph declares {}", label, to_string(found->type()), to_string(type)));
    return *std::move(found);
  }

  const OpDef& read_op() {
    const size_t begin = scanner_.offset();
    const std::string name = scanner_.identifier("an op, input, param, state or const");
    if (const OpDef* op = context_.find_op(name)) return *op;
    const std::vector<std::string> names = context_.op_names ? context_.op_names() : std::vector<std::string>();
    scanner_.fail_at(begin, fmt::format("unknown op {}{}", name, did_you_mean(name, names)));
  }

  void node(const std::vector<Target>& targets) {
    const size_t begin = scanner_.offset();
    const OpDef& op = read_op();
    std::vector<ValueId> operands = read_operands();
    Attributes attributes = scanner_.peek() == '{' ? read_attributes(op) : Attributes();
    std::vector<Graph> bodies;
    if (scanner_.accept_word("do")) do
        bodies.push_back(body());
      while (next_is_graph());
    NodeId id = kNone;
    try {
      id = graph_.add_node(op, std::move(operands), std::move(attributes), targets[0].name, std::move(bodies));
    } catch (const Error& error) {
      scanner_.fail_at(begin, error.what());
    }
    const std::vector<ValueId> results = graph_.node(id).results;
    if (results.size() != targets.size())
      scanner_.fail_at(targets[0].offset,
                       fmt::format("{} has {} results, {} names are given", op.name, results.size(), targets.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorType type = graph_.type(results[i]);
      if (targets[i].type && may_be_same(*targets[i].type, type)) graph_.refine_type(results[i], *targets[i].type);
      else if (targets[i].type)
        scanner_.fail_at(targets[i].offset, fmt::format("%{} is declared as {}, but {} gives {}", targets[i].name,
                                                        to_string(*targets[i].type), op.name, to_string(type)));
      name_value(results[i], targets[i].name);
    }
  }

  Graph body() {
    if (depth_ == kMostNested) scanner_.fail_here(fmt::format("bodies are nested more than {} deep", kMostNested));
    return Parser(scanner_, context_, depth_ + 1).one_graph();
  }

  bool next_is_graph() {
    const size_t here = scanner_.offset();
    const bool found = scanner_.accept_word("graph");
    scanner_.rewind(here);
    return found;
  }

  // Constants that were written as operands have no name in the text; they make room for values that have.
  ValueId defined(const std::string& name) const {
    const ValueId id = graph_.find_value(name);
    return literals_.contains(id) ? kNone : id;
  }

  void name_value(ValueId id, const std::string& name) {
    if (graph_.value(id).name == name) return;
    const ValueId other = graph_.find_value(name);
    if (literals_.contains(other)) graph_.rename(other, name + "_literal");
    graph_.rename(id, name);
  }

  // %name that is followed by ':' or '=' begins the next statement of the same line.
  bool starts_statement() {
    const size_t here = scanner_.offset();
    if (scanner_.peek() != '%') return false;
    scanner_.value_name();
    const char next = scanner_.peek();
    scanner_.rewind(here);
    return next == ':' || next == '=';
  }

  bool starts_operand() {
    const char c = scanner_.peek();
    return c == '%' || c == '_' || c == '-' || (c >= '0' && c <= '9');
  }

  // A literal is read once the other operands are known: it takes their element type.
  std::vector<ValueId> read_operands() {
    std::vector<ValueId> operands;
    std::vector<std::pair<size_t, size_t>> literals;  // operand, offset
    if (scanner_.on_new_line() || !starts_operand() || starts_statement()) return operands;
    do {
      const size_t begin = scanner_.offset();
      operands.push_back(kNone);
      if (scanner_.peek() == '%') {
        operands.back() = used_value(begin);
      } else if (!scanner_.accept('_')) {
        if (!starts_operand()) scanner_.expected("an operand: %name, a number, or _ for none");
        literals.emplace_back(operands.size() - 1, begin);
        scanner_.until(" \t,{}#");
      }
    } while (scanner_.accept(','));
    const size_t end = scanner_.offset();
    for (const auto& [operand, offset] : literals) {
      scanner_.rewind(offset);
      operands[operand] = graph_.add_constant("", parse_scalar(scanner_, literal_dtype(operands)));
      literals_.insert(operands[operand]);
    }
    scanner_.rewind(end);
    return operands;
  }

  ValueId used_value(size_t begin) {
    const std::string name = scanner_.value_name();
    const ValueId id = defined(name);
    if (id == kNone) scanner_.fail_at(begin, "%" + name + " is not defined above");
    return id;
  }

  DType literal_dtype(const std::vector<ValueId>& operands) {
    for (ValueId id : operands)
      if (id != kNone && graph_.type(id).dtype != DType::boolean && graph_.type(id).dtype != DType::string)
        return graph_.type(id).dtype;
    return DType::f32;
  }

  Attributes read_attributes(const OpDef& op) {
    Attributes attributes;
    scanner_.expect('{');
    if (scanner_.accept('}')) return attributes;
    do {
      const size_t begin = scanner_.offset();
      const std::string name = scanner_.identifier("an attribute's name");
      AttributeKind kind{};
      try {
        kind = attribute_spec(op, name).kind;
      } catch (const Error& error) {
        scanner_.fail_at(begin, fmt::format("{}: {}", op.name, error.what()));
      }
      if (attributes.has(name)) scanner_.fail_at(begin, "attribute " + name + " is given twice");
      scanner_.expect('=');
      attributes.set(name, parse_attribute(scanner_, kind));
    } while (scanner_.accept(','));
    scanner_.expect('}');
    return attributes;
  }

  void returns() {
    if (scanner_.peek() != '%') return;
    do {
      const size_t begin = scanner_.offset();
      const ValueId id = used_value(begin);
      const std::string label = scanner_.accept_word("as") ? scanner_.quoted() : graph_.value(id).name;
      try {
        graph_.add_output(id, label);
      } catch (const Error& error) {
        scanner_.fail_at(begin, error.what());
      }
    } while (scanner_.accept(','));
  }

  Scanner& scanner_;
  const ParseContext& context_;
  const int depth_;  // of bodies around this graph
  Graph graph_;
  std::set<ValueId> literals_;
};

}  // namespace

Graph parse_graph(std::string_view text, const ParseContext& context, const std::string& source) {
  Scanner scanner(text, source);
  return Parser(scanner, context).run();
}

}  // namespace hone
