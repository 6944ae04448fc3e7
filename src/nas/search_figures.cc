#include "nas/search_figures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "measure/metric.h"

namespace hone {
namespace {

struct KnownFigure {
  const char *name, *doc;
  FigureSource source;
  bool larger_is_better = false, needs_data = false;
};

constexpr KnownFigure kFigures[] = {
    {"bytes", "the file as written", FigureSource::file},
    {"bits", "average bits per weight as stored (docs/decisions/average-bits.md)", FigureSource::file},
    {"parameters", "elements of all constants", FigureSource::file},
    {"flops", "arithmetic of one sample, as counted", FigureSource::file},
    {"latency", "milliseconds of one sample, the median of runs of the written file", FigureSource::time},
    {"predicted_latency",
     "the same as a sum over steps, each of which is measured once on this machine and kept for all candidates",
     FigureSource::time},
    {"memory", "bytes that the opened file takes: weights as kernels read them, activations, scratch memory",
     FigureSource::time},
    {"loss", "cross-entropy of classes, the squared error of numbers", FigureSource::answers, false, true},
    {"snip", "before training: sum of |w dL/dw| on 64 labelled rows", FigureSource::start, true, true},
    {"gradient_norm", "before training: of all weights, on 64 labelled rows", FigureSource::start, true, true},
    {"synflow", "before training: sum of |w| dR/d|w| of inputs of ones, of models that take floats",
     FigureSource::start, true},
};

// "1e-3*bits": the sign of an exponent is none between terms.
std::vector<std::pair<double, std::string>> signed_terms(const std::string& text) {
  std::vector<std::pair<double, std::string>> terms{{1, ""}};
  for (size_t i = 0; i < text.size(); ++i) {
    const bool sign = text[i] == '+' || text[i] == '-';
    const bool exponent = sign && i >= 2 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                          (std::isdigit(static_cast<unsigned char>(text[i - 2])) || text[i - 2] == '.');
    if (!sign || exponent) {
      terms.back().second += text[i];
      continue;
    }
    const double value = text[i] == '-' ? -1 : 1;
    if (trim(terms.back().second).empty()) {
      terms.back() = {terms.back().first * value, ""};
    } else {
      terms.emplace_back(value, "");
    }
  }
  return terms;
}

double number_in(std::string_view text, const std::string& whole) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    fail("\"{}\": \"{}\" is no number", whole, text);
  return value;
}

Objective::Term term_of(double sign, std::string_view text, const std::string& whole) {
  text = trim(text);
  if (text.empty()) fail("objective \"{}\": a term is missing; expected e.g. accuracy - 0.05*bits", whole);
  const size_t star = text.find('*');
  if (star == text.npos) return {sign, std::string(text)};
  return {sign * number_in(trim(text.substr(0, star)), whole), std::string(trim(text.substr(star + 1)))};
}

}  // namespace

FigureKind figure_kind(const std::string& name) {
  for (const KnownFigure& known : kFigures)
    if (name == known.name) return {known.name, known.doc, known.source, known.larger_is_better, "", known.needs_data};
  try {
    const Metric metric = parse_metric(name);
    return {name, metric.def->doc, FigureSource::answers, metric.def->larger_is_better, name, true};
  } catch (const Error& unknown) {
    std::vector<std::string> names;
    for (const KnownFigure& known : kFigures) names.emplace_back(known.name);
    fail("unknown figure {}; known: {}{}, and metrics: {}", name, fmt::join(names, ", "), did_you_mean(name, names),
         unknown.what());
  }
}

std::string figures_text() {
  std::string text;
  for (const KnownFigure& known : kFigures) text += fmt::format("  {:17} {}\n", known.name, known.doc);
  return text;
}

double Objective::value(const Figures& figures) const {
  double sum = 0;
  for (const Term& term : terms) sum += term.weight * figures.at(term.figure);
  return sum;
}

bool Objective::is_of(const std::string& figure) const { return terms.size() == 1 && terms[0].figure == figure; }

Objective parse_objective(const std::string& text) {
  Objective objective{.text = std::string(trim(text)), .terms = {}};
  for (const auto& [sign, term] : signed_terms(text)) objective.terms.push_back(term_of(sign, term, text));
  for (size_t i = 0; i < objective.terms.size(); ++i) {
    const auto& [weight, figure] = objective.terms[i];
    if (weight == 0) fail("objective \"{}\": {} counts nothing; leave it out", text, figure);
    const Direction wanted =
        figure_kind(figure).larger_is_better == (weight > 0) ? Direction::maximize : Direction::minimize;
    if (i == 0) objective.direction = wanted;
    else if (wanted != objective.direction)
      fail("objective \"{}\": {} and {} pull in opposite directions; turn the sign of one, as in accuracy - 0.05*bits",
           text, objective.terms[0].figure, figure);
  }
  return objective;
}

double FigureLimit::excess(const Figures& figures) const {
  const double value = figures.at(figure), beyond = at_most ? value - bound : bound - value;
  return beyond / std::max(std::abs(bound), 1e-12);
}

FigureLimit parse_limit(const std::string& text) {
  const size_t at = text.find_first_of("<>");
  if (at == text.npos || at + 1 >= text.size() || text[at + 1] != '=')
    fail("budget \"{}\": expected FIGURE<=NUMBER or FIGURE>=NUMBER, e.g. bits<=4.5", text);
  FigureLimit limit{.text = std::string(trim(text)),
                    .figure = std::string(trim(std::string_view(text).substr(0, at))),
                    .at_most = text[at] == '<'};
  const FigureKind kind = figure_kind(limit.figure);
  const std::string_view bound = trim(std::string_view(text).substr(at + 2));
  const bool of_bytes = limit.figure == "bytes" || limit.figure == "memory";
  const std::optional<double> bytes = of_bytes ? parse_bytes(bound) : std::nullopt;
  limit.bound = bytes ? *bytes : number_in(bound, text);
  if (limit.at_most == kind.larger_is_better)
    fail("budget \"{}\": of {} {} is better; give {}{}=", text, limit.figure, kind.larger_is_better ? "more" : "less",
         limit.figure, kind.larger_is_better ? ">" : "<");
  return limit;
}

}  // namespace hone
