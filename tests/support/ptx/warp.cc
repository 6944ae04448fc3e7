#include "tests/support/ptx/warp.h"

#include <algorithm>

namespace hone::ptx {
namespace {

std::string text_of(Lanes lanes) {
  std::string text;
  for (int from = 0; from < kLanes; ++from) {
    if (!(lanes >> from & 1)) continue;
    int to = from;
    while (to + 1 < kLanes && lanes >> (to + 1) & 1) ++to;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", from, to > from ? fmt::format("-{}", to) : "");
    from = to;
  }
  return text;
}

}  // namespace

Warp::Warp(Block& of, int number)
    : block(of),
      kernel(of.kernel),
      index(number),
      words(kernel.words),
      wide(kernel.wide),
      predicates(kernel.predicates),
      set(kernel.registers.size()),
      local(static_cast<size_t>(kernel.local_bytes * kLanes)) {
  for (const Kernel::Constant& constant : kernel.constants)
    for (int lane = 0; lane < kLanes; ++lane) set_value(constant.operand, lane, constant.value);
}

void Warp::begin() {
  const auto& size = block.launch.block;
  const uint32_t threads = size[0] * size[1] * size[2], first = static_cast<uint32_t>(index) * kLanes;
  alive = threads - first >= kLanes ? kAllLanes : (Lanes{1} << (threads - first)) - 1;
  fragments.assign(1, {0, alive, false});
  current = 0, waits_at = -1;
  std::fill(set.begin(), set.end(), Lanes{0});
  known_bits.clear();
  for (const Kernel::Constant& constant : kernel.constants) set[constant.operand.id] = kAllLanes;
  for (const auto& [operand, special] : kernel.specials) {
    set[operand.id] = kAllLanes;
    for (int lane = 0; lane < kLanes; ++lane) set_value(operand, lane, special_value(special, lane));
  }
  copies.clear();
  committed.fill(0);
}

uint32_t Warp::special_value(Special special, int lane) const {
  const Launch& launch = block.launch;
  const uint32_t thread = static_cast<uint32_t>(index * kLanes + lane), bit = 1u << lane;
  switch (special) {
    case Special::tid_x:
      return thread % launch.block[0];
    case Special::tid_y:
      return thread / launch.block[0] % launch.block[1];
    case Special::tid_z:
      return thread / launch.block[0] / launch.block[1];
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      return launch.block[static_cast<size_t>(special) - static_cast<size_t>(Special::ntid_x)];
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
      return block.index[static_cast<size_t>(special) - static_cast<size_t>(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return launch.grid[static_cast<size_t>(special) - static_cast<size_t>(Special::nctaid_x)];
    case Special::laneid:
      return static_cast<uint32_t>(lane);
    case Special::warpid:
      return static_cast<uint32_t>(index);
    case Special::nwarpid:
      return static_cast<uint32_t>(block.warps.size());
    case Special::lanemask_eq:
      return bit;
    case Special::lanemask_lt:
      return bit - 1;
    case Special::lanemask_le:
      return bit | (bit - 1);
    case Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case Special::lanemask_ge:
      return ~(bit - 1);
  }
  return 0;
}

void Warp::fault(const Code& code, int lane, std::string_view what, Fault::Kind kind) const {
  throw Fault(
      fmt::format("{}, line {} ({}), block {},{},{} thread {}: {}", kernel.name, code.line, kernel.names[code.name],
                  block.index[0], block.index[1], block.index[2], index * kLanes + lane, what),
      code.line, kind);
}

void Warp::check_read(const Code& code, uint32_t id, Lanes mask) const {
  if (const Lanes unset = mask & ~set[id])
    fault(code, std::countr_zero(unset), fmt::format("it uses {}, which nothing set", kernel.registers[id]));
}

void Warp::execute(const Code& code, Lanes mask) {
  const uint32_t *reads = kernel.ids.data() + code.reads, *writes = kernel.ids.data() + code.writes;
  for (uint32_t i = 0; i < code.read_count; ++i)
    if (mask & ~set[reads[i]]) {
      if (code.carries_bits) return follow_bits(code, mask);
      check_read(code, reads[i], mask);
    }
  code.run(*this, code, mask);
  for (uint32_t i = 0; i < code.write_count; ++i) set[writes[i]] |= mask;
}

// What bits that nothing set decide of a result differs with what they are: each run takes them for others.
void Warp::follow_bits(const Code& code, Lanes mask) {
  constexpr std::array<uint64_t, 4> kGuesses{0, ~uint64_t{0}, 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f};
  const std::span<const Operand> all(operands(code), code.write_count + code.read_count);
  const auto writes = all.first(code.write_count), reads = all.subspan(code.write_count);
  using Values = std::array<uint64_t, kLanes>;
  const auto values = [&](Operand operand) {
    Values v;
    for (int lane = 0; lane < kLanes; ++lane) v[static_cast<size_t>(lane)] = value(operand, lane);
    return v;
  };
  std::vector<Values> before;
  for (const Operand& read : reads) before.push_back(values(read));
  std::vector<Values> result(writes.size()), same(writes.size());
  for (size_t guess = 0; guess < kGuesses.size(); ++guess) {
    for (size_t i = 0; i < reads.size(); ++i)
      for_lanes(kAllLanes, [&](int lane) {
        const auto at = static_cast<size_t>(lane);
        const auto known = known_bits.find(reads[i].id);
        const uint64_t bits = set[reads[i].id] >> lane & 1 ? ~uint64_t{0}
                              : known == known_bits.end()  ? 0
                                                           : known->second[at];
        const uint64_t others = std::rotl(kGuesses[guess], guess < 2 ? 0 : static_cast<int>(7 * i + 3 * at));
        set_value(reads[i], lane, (before[i][at] & bits) | (others & ~bits));
      });
    code.run(*this, code, mask);
    for (size_t i = 0; i < writes.size(); ++i) {
      const Values now = values(writes[i]);
      if (guess == 0) result[i] = now, same[i].fill(~uint64_t{0});
      for (size_t lane = 0; lane < kLanes; ++lane) same[i][lane] &= ~(now[lane] ^ result[i][lane]);
    }
  }
  for (size_t i = 0; i < reads.size(); ++i)
    for_lanes(kAllLanes, [&](int lane) { set_value(reads[i], lane, before[i][static_cast<size_t>(lane)]); });
  for (size_t i = 0; i < writes.size(); ++i) {
    Values& known = known_bits.try_emplace(writes[i].id).first->second;
    for_lanes(mask, [&](int lane) {
      const auto at = static_cast<size_t>(lane);
      set_value(writes[i], lane, result[i][at]);
      known[at] = same[i][at];
      const Lanes bit = Lanes{1} << lane;
      set[writes[i].id] = same[i][at] == ~uint64_t{0} ? set[writes[i].id] | bit : set[writes[i].id] & ~bit;
    });
  }
}

int64_t Warp::run(int64_t most) {
  LineCounts* lines = block.counts.code.data();
  int64_t executed = 0;
  while (!ended() && waits_at < 0 && executed < most) {
    const uint32_t stop = limit();
    for (bool straight = true; straight && executed < most;) {
      Fragment& f = fragments[current];
      const Code& code = kernel.code[f.at];
      ++lines[f.at].executed;
      ++executed;
      Lanes mask = f.lanes;
      if (code.guarded) {
        check_read(code, code.guard.id, mask);
        mask &= predicate(code.guard, code.unless);
      }
      if (mask != 0 && code.flow != Flow::next) {
        turn(code, mask);
        straight = false;
      } else {
        if (mask != 0) execute(code, mask);
        straight = ++f.at != stop;
      }
    }
    settle();
  }
  return executed;
}

// Where the current fragment meets another one.
uint32_t Warp::limit() const {
  uint32_t lowest = UINT32_MAX;
  for (const Fragment& other : fragments)
    if (other.at > fragments[current].at) lowest = std::min(lowest, other.at);
  return lowest;
}

Lanes Warp::needed(const Code& code, Lanes mask) const {
  if (code.flow == Flow::barrier) return alive;
  if (code.flow == Flow::whole_warp) return kAllLanes;
  const Operand& members = operands(code)[code.read_count + code.write_count - 1];
  check_read(code, members.id, mask);
  Lanes all = 0;
  for_lanes(mask, [&](int lane) {
    const auto own = static_cast<Lanes>(value(members, lane));
    if (!(own >> lane & 1)) fault(code, lane, "a lane that its own mask of members leaves out");
    all |= own;
  });
  return all & alive;
}

void Warp::turn(const Code& code, Lanes mask) {
  Fragment& f = fragments[current];
  if (code.flow == Flow::branch) {
    if (mask == f.lanes) {
      f.at = code.target;
      return;
    }
    f.lanes &= ~mask;
    ++f.at;
    fragments.push_back({code.target, mask, false});
    return;
  }
  if (code.flow == Flow::exit) {
    alive &= ~mask;
    f.lanes &= ~mask;
    ++f.at;
    return;
  }
  if (const Lanes missing = needed(code, mask) & ~mask) {
    if (missing & (f.lanes | ~alive))
      fault(code, std::countr_zero(mask), fmt::format("lanes {} of the warp are missing", text_of(missing)));
    f.waits = true;
    --block.counts.code[f.at].executed;
    return;
  }
  if (code.flow == Flow::barrier) {
    for (uint32_t i = 0; i < code.read_count; ++i) check_read(code, kernel.ids[code.reads + i], mask);
    ++f.at;
    block.arrive(*this, code, mask);
    return;
  }
  execute(code, mask);
  ++f.at;
}

// Fragments by place, those at one place joined, and the lowest that can go on chosen.
void Warp::settle() {
  const auto ready_again = [](Fragment& f) { f.waits = false; };
  if (std::erase_if(fragments, [](const Fragment& f) { return f.lanes == 0; }))
    std::for_each(fragments.begin(), fragments.end(), ready_again);
  std::sort(fragments.begin(), fragments.end(), [](const Fragment& a, const Fragment& b) { return a.at < b.at; });
  for (size_t i = 0; i + 1 < fragments.size();) {
    if (fragments[i].at != fragments[i + 1].at) {
      ++i;
      continue;
    }
    fragments[i].lanes |= fragments[i + 1].lanes;
    fragments[i].waits = false;
    fragments.erase(fragments.begin() + static_cast<int64_t>(i) + 1);
  }
  const auto ready = std::find_if(fragments.begin(), fragments.end(), [](const Fragment& f) { return !f.waits; });
  if (ready == fragments.end() && !fragments.empty()) {
    const Fragment& f = fragments[0];
    const Code& code = kernel.code[f.at];
    fault(code, std::countr_zero(f.lanes),
          fmt::format("lanes {} of the warp never come", text_of(needed(code, f.lanes) & ~f.lanes)));
  }
  current = static_cast<size_t>(ready - fragments.begin());
}

}  // namespace hone::ptx
