// Loads and stores.
#include <cstring>

#include "tests/support/ptx/access.h"
#include "tests/support/ptx/decoder.h"

namespace hone::ptx {
namespace {

// choice: elements a lane.
template <class T>
void load(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int n = code.choice[0];
  Reached reached;
  addresses(warp, code, operands[n], mask, reached.address);
  reach(warp, code, mask, code.space, static_cast<uint32_t>(sizeof(T)) * code.choice[0], Touch::read, reached);
  for (int i = 0; i < n; ++i) {
    const auto store = [&](auto* out) {
      for_lanes(mask, [&](int lane) {
        T v;
        std::memcpy(&v, reached.host[static_cast<size_t>(lane)] + static_cast<size_t>(i) * sizeof(T), sizeof(T));
        out[lane] = static_cast<std::remove_reference_t<decltype(out[lane])>>(v);
      });
    };
    if (operands[i].file == RegisterFile::wide) store(warp.wide.data() + operands[i].at);
    else store(warp.words.data() + operands[i].at);
  }
}

template <class T>
void store(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const int n = code.choice[0];
  Reached reached;
  addresses(warp, code, operands[0], mask, reached.address);
  reach(warp, code, mask, code.space, static_cast<uint32_t>(sizeof(T)) * code.choice[0], Touch::write, reached);
  for (int i = 0; i < n; ++i) {
    const auto copy = [&](const auto* in) {
      for_lanes(mask, [&](int lane) {
        const T v = static_cast<T>(in[lane]);
        std::memcpy(reached.host[static_cast<size_t>(lane)] + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
      });
    };
    if (operands[1 + i].file == RegisterFile::wide) copy(warp.wide.data() + operands[1 + i].at);
    else copy(warp.words.data() + operands[1 + i].at);
  }
}

Handler load_of(Type type) {
  const bool has_sign = type.kind == Type::Kind::s;
  switch (type.bits) {
    case 8:
      return has_sign ? load<int8_t> : load<uint8_t>;
    case 16:
      return has_sign ? load<int16_t> : load<uint16_t>;
    case 32:
      return has_sign ? load<int32_t> : load<uint32_t>;
    default:
      return load<uint64_t>;
  }
}
Handler store_of(Type type) {
  return type.bits == 8    ? store<uint8_t>
         : type.bits == 16 ? store<uint16_t>
         : type.bits == 32 ? store<uint32_t>
                           : store<uint64_t>;
}

// Words that say who else may look and where a line may stay: of one launch at a time they change nothing.
void take_ordering(Decoder& d) {
  if (d.take_any({"relaxed", "acquire", "release"})) d.take_any({"cta", "cluster", "gpu", "sys"});
  else d.take_any({"weak", "volatile"});
}
void take_cache(Decoder& d) {
  d.take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  d.take("nc");
  d.take_any({"L1::evict_normal", "L1::evict_first", "L1::evict_last", "L1::evict_unchanged", "L1::no_allocate"});
  d.take_any({"L2::64B", "L2::128B", "L2::256B"});
}

Type take_vector_type(Decoder& d) {
  d.code.choice[0] = d.take("v2") ? 2 : d.take("v4") ? 4 : 1;
  const Type type = d.type();
  if (type.lanes != 1 || type.bits < 8 || type.kind == Type::Kind::tf) d.refuse_type(type);
  if (type.bits * d.code.choice[0] > 128) d.refuse("more than 16 bytes a lane");
  return type;
}

void decode_load(Decoder& d) {
  take_ordering(d);
  d.code.space = take_space(d);
  take_cache(d);
  const Type type = take_vector_type(d);
  d.expect(2);
  for (const Argument& part : d.group(0, d.code.choice[0])) d.write_any(part, type.bits);
  d.address(1);
  d.finish(load_of(type));
}

void decode_store(Decoder& d) {
  take_ordering(d);
  d.code.space = take_space(d);
  if (d.code.space == Space::param || d.code.space == Space::constant) d.refuse("what is only read");
  take_cache(d);
  const Type type = take_vector_type(d);
  d.expect(2);
  d.address(0);
  for (const Argument& part : d.group(1, d.code.choice[0])) d.read_any(part, type.bits);
  d.finish(store_of(type));
}

// The windows of generic addresses; .to takes them away again.
template <bool to>
void change_window(Warp& warp, const Code& code, Lanes mask) {
  const Operand* operands = warp.operands(code);
  const uint64_t window = code.space == Space::global ? 0 : generic_window(code.space);
  for_lanes(mask, [&](int lane) {
    const auto i = static_cast<uint32_t>(lane);
    const uint64_t a = warp.wide[operands[1].at + i];
    warp.wide[operands[0].at + i] = to ? a - window : a + window;
  });
}
void decode_cvta(Decoder& d) {
  const bool to = d.take("to");
  d.code.space = take_space(d);
  if (d.code.space == Space::generic) d.refuse("a space is missing");
  const Type type = d.type();
  if (type.bits != 64) d.refuse_type(type);
  d.expect(2);
  d.write(0, 64);
  d.read(1, 64);
  d.code.carries_bits = true;
  d.finish(to ? change_window<true> : change_window<false>);
}

constexpr Opcode kOpcodes[] = {{"ld", decode_load}, {"st", decode_store}, {"cvta", decode_cvta}};

}  // namespace

Space take_space(Decoder& d) {
  if (d.take("global")) return Space::global;
  if (d.take_any({"shared", "shared::cta"})) return Space::shared;
  if (d.take("local")) return Space::local;
  if (d.take_any({"param", "param::entry"})) return Space::param;
  if (d.take("const")) return Space::constant;
  return Space::generic;
}

std::span<const Opcode> memory_opcodes() { return kOpcodes; }

}  // namespace hone::ptx
