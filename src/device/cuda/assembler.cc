#include "device/cuda/assembler.h"

#include <charconv>
#include <cstring>

#include "base/printable.h"

namespace hone {

using namespace cuda;

namespace {

constexpr size_t kLogBytes = 8192;

struct Log {
  std::string text = std::string(kLogBytes, '\0');
  std::string_view read() const { return {text.data(), ::strnlen(text.data(), text.size())}; }
};

// A link in the driver, which goes with it.
struct Link {
  explicit Link(const CudaCalls& with) : calls(with) {}
  ~Link() {
    if (handle) calls->cuLinkDestroy(handle);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  const CudaCalls& calls;
  Handle handle = nullptr;
};

void* as_value(size_t number) { return reinterpret_cast<void*>(number); }  // as the driver takes numbers of options

// 10 * major + minor of ".version 7.8"; 0 where the text has none.
int ptx_version(std::string_view text) {
  constexpr std::string_view kWord = ".version ";
  const size_t at = text.find(kWord);
  if (at == text.npos) return 0;
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data() + at + kWord.size(), end, major);
  if (first != std::errc() || dot == end || *dot != '.' || major < 0 || major > 99) return 0;
  const auto [behind, second] = std::from_chars(dot + 1, end, minor);
  return second != std::errc() || minor < 0 || minor > 9 ? 0 : 10 * major + minor;
}

void refuse_newer(std::string_view text, const Driver& driver, const std::string& symbol) {
  const int needed = ptx_version(text), newest = newest_ptx(driver.version());
  if (needed <= newest) return;
  fail(
      "CUDA: {} needs PTX {}.{}, and this driver, for CUDA {}, reads PTX up to {}.{}. Update NVIDIA's driver to one "
      "for "
      "CUDA {}.{} or newer, or use --device cpu",
      symbol, needed / 10, needed % 10, version_text(driver.version()), newest / 10, newest % 10, needed / 10 + 4,
      needed % 10);
}

}  // namespace

bool tells_of_spills(std::string_view log) {
  for (std::string_view word : {" bytes spill stores", " bytes spill loads"})
    for (size_t at = log.find(word); at != log.npos; at = log.find(word, at + 1)) {
      const size_t before = log.find_last_not_of("0123456789", at - 1) + 1;  // npos + 1 is 0
      if (log.substr(before, at - before).find_first_not_of('0') != log.npos) return true;
    }
  return false;
}

namespace {

Assembled assembled(CudaContext& context, std::string text, const std::string& symbol) {
  Log info, error;
  int options[] = {kInfoLog, kInfoLogBytes, kErrorLog, kErrorLogBytes, kVerboseLog};
  void* values[] = {info.text.data(), as_value(kLogBytes), error.text.data(), as_value(kLogBytes), as_value(1)};
  const CudaCalls calls(context);
  Link link(calls);
  const auto check = [&](int result) {
    const std::string said = printable(error.read());
    calls.check(result, said.empty() ? symbol : fmt::format("{}: {}", symbol, said));
  };
  check(calls->cuLinkCreate_v2(std::size(options), options, values, &link.handle));
  check(calls->cuLinkAddData_v2(link.handle, kInputPtx, text.data(), text.size() + 1, symbol.c_str(), 0, nullptr,
                                nullptr));
  void* image = nullptr;
  size_t bytes = 0;
  check(calls->cuLinkComplete(link.handle, &image, &bytes));
  const auto* const begin = static_cast<const std::byte*>(image);
  return {.image = {begin, begin + bytes}, .spills = tells_of_spills(info.read())};
}

// The text of a kernel that asks for no more than one block at a time; "" where it says nothing of its blocks.
std::string for_one_block(const std::string& text) {
  const size_t at = text.find("\n.maxntid "), end = at == text.npos ? at : text.find('\n', at + 1);
  if (end == text.npos || text.find(".minnctapersm") != text.npos) return "";
  return text.substr(0, end) + "\n.minnctapersm 1" + text.substr(end);
}

}  // namespace

// NVIDIA's compiler prefers a few spilled registers to one block less on a multiprocessor. Told that one is enough, it
// takes what it needs.
Assembled assemble_ptx(CudaContext& context, std::span<const std::byte> ptx, const std::string& symbol) {
  const std::string text(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  refuse_newer(text, context.driver(), symbol);
  Assembled first = assembled(context, text, symbol);
  const std::string other = first.spills ? for_one_block(text) : "";
  if (other.empty()) return first;
  Assembled second = assembled(context, other, symbol);
  return second.spills ? std::move(first) : std::move(second);
}

}  // namespace hone
