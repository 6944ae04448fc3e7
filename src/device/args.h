// Arguments of kernels by name. A class declares a plain struct and lists its members once, in the order of their
// places in KernelArgs: pointers among pointers, sizes among dims. An array takes as many places as it has elements. A
// list that forgets a member, or is too long, does not compile:
//
//   struct GatherArgs {
//     void *table = nullptr, *scales = nullptr, …;
//     int64_t results = 0, rows = 0, …;
//     static constexpr auto places() {
//       using A = GatherArgs;
//       return std::tuple(&A::table, &A::scales, …, &A::results, &A::rows, …);
//     }
//   };
//   KernelArgs args = to_args(GatherArgs{.table = table, .rows = 17});
//   int64_t rows = from_args<GatherArgs>(args).rows;
//   Value* table = e.pointer<&GatherArgs::table>(frame);  // in an emitter
//
// What a device derives has a struct of its own, which has the class's as its base and lists its places first; its own
// stand where the class has none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

#include "device/fields.h"
#include "device/plan.h"

namespace hone {

// In a list of places: the sizes behind it stand from `first` on. Places that no member has are 0.
struct SizesFrom {
  int first;
};

template <class Args>
concept HasPlaces = requires {
  Args::places();
};

// How a member fills places: an array element by element.
template <class Listed>
struct ListedMember;
template <class Owner, class Member>
struct ListedMember<Member Owner::*> {
  using OwnerType = Owner;
  static constexpr bool is_pointer = std::is_same_v<Member, void*>;
  static constexpr int count = 1;
  static_assert(is_pointer || std::is_same_v<Member, int64_t>, "arguments are of type void* or int64_t");
};
template <class Owner, class Element, size_t N>
struct ListedMember<std::array<Element, N> Owner::*> : ListedMember<Element Owner::*> {
  static constexpr int count = static_cast<int>(N);
};

// visit(member, its first place) in the order of the list.
template <HasPlaces Args, class Visit>
constexpr void for_each_argument(Visit&& visit) {
  int pointers = 0, sizes = 0;
  const auto one = [&](auto listed) {
    if constexpr (std::is_same_v<decltype(listed), SizesFrom>) {
      sizes = listed.first;
    } else {
      using Member = ListedMember<decltype(listed)>;
      int& place = Member::is_pointer ? pointers : sizes;
      visit(listed, place);
      place += Member::count;
    }
  };
  std::apply([&](auto... listed) { (one(listed), ...); }, Args::places());
}

template <HasPlaces Args, class Member>
constexpr int times_listed(Member member) {
  int times = 0;
  for_each_argument<Args>([&](auto other, int) {
    if constexpr (std::is_same_v<decltype(other), Member>) times += other == member;
  });
  return times;
}

// Whether the list has each member once; those of a base are one.
template <HasPlaces Args>
constexpr bool lists_every_member() {
  return std::apply(
      [](auto... listed) {
        size_t own = 0, inherited = 0;
        bool once = true;
        const auto look_at = [&](auto one) {
          if constexpr (!std::is_same_v<decltype(one), SizesFrom>) {
            const bool is_own = std::is_same_v<typename ListedMember<decltype(one)>::OwnerType, Args>;
            own += is_own, inherited += !is_own, once &= times_listed<Args>(one) == 1;
          }
        };
        (look_at(listed), ...);
        return once && own + (inherited > 0) == member_count<Args>();
      },
      Args::places());
}

// Whether each member has places of its own among those that there are.
template <HasPlaces Args>
constexpr bool fits_kernel_args() {
  std::array<bool, std::tuple_size_v<decltype(KernelArgs::pointers)>> pointers{};
  std::array<bool, std::tuple_size_v<KernelDims>> sizes{};
  bool fits = true;
  const auto take = [&](auto& taken, int first, int count) {
    for (int place = first; place < first + count; ++place) {
      fits &= place < std::ssize(taken) && !taken[static_cast<size_t>(place)];
      if (fits) taken[static_cast<size_t>(place)] = true;
    }
  };
  for_each_argument<Args>([&](auto listed, int place) {
    using Member = ListedMember<decltype(listed)>;
    if constexpr (Member::is_pointer) take(pointers, place, Member::count);
    else take(sizes, place, Member::count);
  });
  return fits;
}

template <HasPlaces Args>
constexpr void check_places() {
  static_assert(lists_every_member<Args>(), "places() lists each member once");
  static_assert(fits_kernel_args<Args>(), "a kernel takes 16 pointers and 48 sizes, each member at places of its own");
}

template <auto Member>
constexpr int find_place() {
  using Args = typename ListedMember<decltype(Member)>::OwnerType;
  check_places<Args>();
  int found = -1;
  for_each_argument<Args>([&](auto other, int place) {
    if constexpr (std::is_same_v<decltype(other), decltype(Member)>)
      if (other == Member) found = place;
  });
  return found;
}
// Of a member, or of the first element of an array: an index of KernelArgs::pointers or KernelArgs::dims.
template <auto Member>
inline constexpr int place_of = find_place<Member>();

template <class T>
std::span<T> elements_of(T& one) {
  return {&one, 1};
}
template <class T, size_t N>
std::span<T> elements_of(std::array<T, N>& all) {
  return all;
}
template <class T, size_t N>
std::span<const T> elements_of(const std::array<T, N>& all) {
  return all;
}

// visit(elements of the member, its places in args), of each member in turn. Either may be constant.
template <class Args, class KernelArguments, class Visit>
void for_each_place(Args& named, KernelArguments& args, Visit&& visit) {
  check_places<std::remove_const_t<Args>>();
  for_each_argument<std::remove_const_t<Args>>([&](auto member, int place) {
    using Member = ListedMember<decltype(member)>;
    const auto first = static_cast<size_t>(place);
    if constexpr (Member::is_pointer)
      visit(elements_of(named.*member), std::span(args.pointers).subspan(first, Member::count));
    else visit(elements_of(named.*member), std::span(args.dims).subspan(first, Member::count));
  });
}

template <HasPlaces Args>
Args from_args(const KernelArgs& args) {
  Args named;
  for_each_place(named, args, [](auto to, auto from) { std::ranges::copy(from, to.begin()); });
  return named;
}
// What the list does not name stays.
template <HasPlaces Args>
void write_args(const Args& named, KernelArgs& args) {
  for_each_place(named, args, [](auto from, auto to) { std::ranges::copy(from, to.begin()); });
}
template <HasPlaces Args>
KernelArgs to_args(const Args& named) {
  KernelArgs args;
  write_args(named, args);
  return args;
}

}  // namespace hone
