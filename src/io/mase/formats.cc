#include "io/mase/formats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "formats/format.h"

namespace hone {
namespace {

// The keys of an operand, each read once by name.
class Keys {
 public:
  explicit Keys(const MaseOperand& operand) : operand_(operand) {}

  [[noreturn]] void refuse(const std::string& why) const { fail("{}: {}", operand_.where, why); }

  // None where the key is absent or says None.
  std::optional<int64_t> number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    constexpr int64_t kMost = 1 << 20;
    const bool is_whole = value->is_number_integer() || value->is_number_unsigned();
    if (!is_whole || value->get<int64_t>() < -kMost || value->get<int64_t>() > kMost)
      refuse(fmt::format("{} is {}; expected a whole number, or \"NA\"", key, json_excerpt(*value)));
    return value->get<int64_t>();
  }
  int64_t required(const char* key) const {
    const std::optional<int64_t> value = number(key);
    if (!value) refuse(fmt::format("{} is missing, which MASE requires", key));
    return *value;
  }
  bool is_set(const char* key, bool otherwise = false) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(fmt::format("{} is {}; expected true or false", key, json_excerpt(*value)));
    return value->get<bool>();
  }
  // Of a block_size: -1 is the whole dimension.
  std::vector<int64_t> sizes(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) refuse(fmt::format("{} is missing, which MASE requires", key));
    std::vector<int64_t> sizes;
    for (const Json& each : value->is_array() ? *value : Json::array({*value})) {
      const bool is_size = each.is_number_integer() && (each == -1 || (each >= 1 && each <= 65536));
      if (!is_size) refuse(fmt::format("{} is {}; expected sizes from 1, or -1", key, json_excerpt(*value)));
      sizes.push_back(each.get<int64_t>());
    }
    if (sizes.empty()) refuse(fmt::format("{} is empty; expected a size for each of the last dimensions", key));
    return sizes;
  }
  const MaseOperand& operand() const { return operand_; }

 private:
  const Json* find(const char* key) const {
    const auto found = operand_.keys.find(key);
    return found == operand_.keys.end() || is_none(*found) ? nullptr : &*found;
  }
  const MaseOperand& operand_;
};

std::string with_bias(std::string head, const Keys& keys) {
  if (const auto bias = keys.number("exponent_bias")) head += fmt::format(".bias{}", *bias);
  return head;
}

// "e4m3" of 8 bits with a sign and 4 bits of exponent.
std::string exponent_and_mantissa(const Keys& keys) {
  const int64_t width = keys.required("width"), exponent = keys.required("exponent_width");
  if (width <= exponent + 1)
    keys.refuse(fmt::format("width {} leaves no mantissa beside a sign and {} bits of exponent", width, exponent));
  return fmt::format("e{}m{}", exponent, width - exponent - 1);
}

// MASE aligns block_size with the last dimensions; those before them are whole. Where the first dimension is skipped,
// each of its indices has blocks of its own, as tiles of hone have them.
std::string blocks(const Keys& keys) {
  const bool skips = keys.is_set("skip_first_dim", keys.operand().skip_first_dim);
  const size_t rank = keys.operand().rank, within = rank - std::min<size_t>(rank, skips);
  if (within == 0 || within > 2)
    keys.refuse(
        fmt::format("blocks of a tensor of rank {} {}, which MASE's quantizers refuse, too; "
                    "give the format by --rule",
                    rank, skips ? "beside its first dimension" : "with its first dimension"));
  const std::vector<int64_t> sizes = keys.sizes("block_size");
  const auto whole_or = [](int64_t size) { return size == -1 ? 0 : size; };
  const int64_t columns = whole_or(sizes.back());
  const int64_t rows = within == 1 ? 1 : sizes.size() < 2 ? 0 : whole_or(sizes[sizes.size() - 2]);
  if (rank == 1 && columns == 0) return ".tensor";
  return fmt::format(".g{}x{}", rows, columns);
}

std::string fixed_point(const Keys& keys) {
  const int64_t width = keys.required("width");
  return fmt::format("{}int{}.f{}{}", keys.is_set("is_signed", true) ? "" : "u", width,
                     keys.number("frac_width").value_or(width / 2), keys.is_set("floor") ? ".round=floor" : "");
}

std::string minifloat_ieee(const Keys& keys) { return with_bias("minifloat_" + exponent_and_mantissa(keys), keys); }
std::string minifloat_denorm(const Keys& keys) { return with_bias("denorm_" + exponent_and_mantissa(keys), keys); }
std::string log_of(const Keys& keys) { return with_bias(fmt::format("log{}", keys.required("width")), keys); }

std::string block_fp(const Keys& keys) {
  const int64_t exponent = keys.required("exponent_width");
  const auto bias = keys.number("exponent_bias");
  if (bias && (exponent < 2 || exponent > 8 || *bias != (int64_t{1} << (exponent - 1)) - 1))
    keys.refuse(
        fmt::format("exponent_bias {}: hone's shared exponents have the default bias of their width alone; "
                    "write \"NA\"",
                    *bias));
  return fmt::format("bfp{}.e{}{}", keys.required("width"), exponent, blocks(keys));
}

std::string block_minifloat(const Keys& keys) {
  return fmt::format("bminifloat_{}.e{}{}", exponent_and_mantissa(keys), keys.required("exponent_bias_width"),
                     blocks(keys));
}

std::string block_log(const Keys& keys) {
  return fmt::format("blog{}.e{}{}", keys.required("width"), keys.required("exponent_bias_width"), blocks(keys));
}

void refuse_chance(const Keys& keys) {
  if (keys.is_set("stochastic")) keys.refuse("stochastic is true: hone rounds by no chance; write false");
}

std::string binary(const Keys& keys) {
  refuse_chance(keys);
  if (!keys.is_set("bipolar", true))
    keys.refuse("bipolar is false: hone's binary is -1 and 1, not 0 and a mean; write true, or take ternary");
  return "binary";
}

std::string binary_residual(const Keys& keys) {
  refuse_chance(keys);
  return fmt::format("rsign{}", keys.number("levels").value_or(2));
}

std::string ternary(const Keys& keys) { return keys.is_set("scaling_factor") ? "ternary.channel" : "ternary"; }

// Of one number: along the last dimension, or block_dim.
std::string line_blocks(const Keys& keys) {
  const std::vector<int64_t> sizes = keys.sizes("block_size");
  if (sizes.size() != 1 || sizes[0] == -1) keys.refuse("block_size of this format is one number of 1 or more");
  if (keys.is_set("quantile_search"))
    keys.refuse("quantile_search is true: hone's counterpart is --method scale-search; write false");
  if (const auto bits = keys.number("scale_bits"); bits && *bits != 8)
    keys.refuse(fmt::format("scale_bits is {}; hone's shared scales of these formats have 8", *bits));
  if (const auto bits = keys.number("scale_exp_bits"); bits && *bits != 8)
    keys.refuse(fmt::format("scale_exp_bits is {}; hone's shared scales of these formats have 8", *bits));
  const int64_t axis = keys.number("block_dim").value_or(-1);
  return fmt::format(".g{}{}", sizes[0], axis == -1 ? "" : fmt::format(".ax{}", axis));
}

std::string mxint(const Keys& keys) {
  return fmt::format("mxint{}{}", keys.required("element_bits"), line_blocks(keys));
}

std::string mxfp(const Keys& keys) {
  const int64_t exponent = keys.required("element_exp_bits"), mantissa = keys.required("element_frac_bits");
  const std::string known[] = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
  const std::string element = fmt::format("e{}m{}", exponent, mantissa);
  if (!std::ranges::count(known, element))
    keys.refuse(fmt::format("elements {}; hone's mxfp has {}", element, fmt::join(known, ", ")));
  return fmt::format("mxfp{}_{}{}", exponent + mantissa + 1, element, line_blocks(keys));
}

enum class Same : uint8_t { yes, by_compat, no };  // whether hone has MASE's very values

struct Quantizer {
  const char* name;
  std::vector<std::string> keys;
  std::string (*format)(const Keys&);
  Same same = Same::by_compat;
  bool has_blocks = false;
};

const std::vector<Quantizer>& quantizers() {
  static const std::vector<Quantizer> all{
      {"integer", {"width", "frac_width", "is_signed", "floor"}, fixed_point, Same::yes},
      {"fixed", {"width", "frac_width", "is_signed", "floor"}, fixed_point, Same::yes},
      {"minifloat_ieee", {"width", "exponent_width", "exponent_bias"}, minifloat_ieee},
      {"minifloat_denorm", {"width", "exponent_width", "exponent_bias"}, minifloat_denorm},
      {"log", {"width", "exponent_bias"}, log_of},
      {"block_fp",
       {"width", "exponent_width", "exponent_bias", "block_size", "skip_first_dim"},
       block_fp,
       Same::by_compat,
       true},
      {"block_minifloat",
       {"width", "exponent_width", "exponent_bias_width", "block_size", "skip_first_dim"},
       block_minifloat,
       Same::by_compat,
       true},
      {"block_log", {"width", "exponent_bias_width", "block_size", "skip_first_dim"}, block_log, Same::by_compat, true},
      {"binary", {"stochastic", "bipolar"}, binary, Same::yes},
      {"binary_residual", {"stochastic", "bipolar", "levels"}, binary_residual, Same::no},
      {"ternary", {"scaling_factor", "mean", "median", "max"}, ternary, Same::no},
      {"mxint",
       {"block_size", "element_bits", "block_dim", "scale_bits", "quantile_search"},
       mxint,
       Same::by_compat,
       true},
      {"mxfp",
       {"block_size", "element_exp_bits", "element_frac_bits", "block_dim", "scale_exp_bits", "quantile_search"},
       mxfp,
       Same::no,
       true},
  };
  return all;
}

// Quantizers of MASE that hone has no format for, and what to do.
struct Refusal {
  const char *name, *why;
};
constexpr Refusal kRefusals[] = {
    {"scale_integer", "no layer of MASE takes it; the format is int<W>.channel: --rule 'op:linear=int8.channel'"},
    {"mxint_hardware", "it takes its exponent's bias for fraction bits; the sound format is mxint8"},
    {"binary_scaling", "its scale is learned; hone's is the mean of a channel: --rule 'op:linear=binary.channel'"},
    {"lutnet", "layers of truth tables are for FPGAs; hone has binary and ternary weights"},
    {"logicnets", "layers of truth tables are for FPGAs; hone has binary and ternary weights"},
    {"flexround", "rounding that is learned is --method of hone quantize, or training: hone train --learn-scales"},
    {"lsq", "steps that are learned are training: hone train --learn-scales"},
};

std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const Quantizer& each : quantizers()) names.emplace_back(each.name);
  return names;
}

const Quantizer& find(const MaseOperand& operand) {
  for (const Quantizer& each : quantizers())
    if (operand.quantizer == each.name) return each;
  for (const Refusal& each : kRefusals)
    if (operand.quantizer == each.name) fail("{}: {}: {}", operand.where, each.name, each.why);
  const std::vector<std::string> names = names_of_all();
  fail("{}: no quantizer {} of MASE is known; known: {}{}", operand.where, operand.quantizer, fmt::join(names, ", "),
       did_you_mean(operand.quantizer, names));
}

void check_keys(const MaseOperand& operand, const Quantizer& quantizer) {
  for (const auto& [key, value] : operand.keys.items())
    if (!std::ranges::count(quantizer.keys, key))
      fail("{}: {} has no key {}; known: {}{}", operand.where, quantizer.name, key, fmt::join(quantizer.keys, ", "),
           did_you_mean(key, quantizer.keys));
}

}  // namespace

std::string mase_format(const MaseOperand& operand, MaseBits bits) {
  const Quantizer& quantizer = find(operand);
  check_keys(operand, quantizer);
  std::string text = quantizer.format(Keys(operand));
  if (bits == MaseBits::same && quantizer.same == Same::by_compat) text += ".compat=mase";
  if (bits == MaseBits::same && quantizer.same == Same::no)
    fail(
        "{}: hone does not have the values that MASE's {} computes, as its revisions differ or it does not run; "
        "the sound format is {}: leave --mase-exact out",
        operand.where, quantizer.name, text);
  try {
    return to_string(parse_format(text));
  } catch (const Error& error) {
    fail("{}: {} is the format {}, which hone does not have: {}", operand.where, quantizer.name, text, error.what());
  }
}

bool rounds_weights_alone(const std::string& quantizer) {
  return quantizer == "binary" || quantizer == "binary_residual";
}

bool reads_blocks(const std::string& quantizer) {
  return std::ranges::any_of(quantizers(),
                             [&](const Quantizer& each) { return each.has_blocks && quantizer == each.name; });
}

std::vector<std::string> mase_quantizers() { return names_of_all(); }

bool is_none(const Json& value) { return value.is_string() && value == "NA"; }

}  // namespace hone
