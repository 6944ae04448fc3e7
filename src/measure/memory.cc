#include "measure/memory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "measure/proc_file.h"

namespace hone {
namespace {

// A line such as "VmRSS:\t   12345 kB" (kB are KiB there).
int64_t field_bytes(std::string_view status, std::string_view key) {
  const size_t at = status.find(std::string("\n").append(key).append(":"));
  if (at == std::string_view::npos) fail("/proc/self/status: no line \"{}:\"; Linux 4.5 or newer is needed", key);
  std::string_view rest = trim(status.substr(at + key.size() + 2, 40));
  int64_t kibibytes = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), kibibytes);
  if (error != std::errc{} || !trim(rest.substr(static_cast<size_t>(end - rest.data()))).starts_with("kB"))
    fail("/proc/self/status: \"{}: {}\": expected a number of kB", key, split(rest, '\n')[0]);
  return kibibytes * 1024;
}

}  // namespace

MemoryUse parse_memory_use(std::string_view status) {
  return {.resident_bytes = field_bytes(status, "VmRSS"),
          .peak_bytes = field_bytes(status, "VmHWM"),
          .anonymous_bytes = field_bytes(status, "RssAnon"),
          .file_bytes = field_bytes(status, "RssFile")};
}

MemoryUse memory_use() {
  const std::string status = read_proc("/proc/self/status");
  if (status.empty()) fail("/proc/self/status can't be read: memory is counted by the kernel; mount /proc");
  return parse_memory_use(status);
}

int64_t parse_resident_bytes_of_files(std::string_view smaps, const std::vector<std::string>& paths) {
  // "7f1c2a000000-7f1c2b000000 r--p 00000000 08:01 131 /path", then lines of "Key: value" about it.
  constexpr int kFieldsBeforePath = 5;
  int64_t total = 0;
  bool counts = false;
  for (const std::string& line : split(smaps, '\n')) {
    const std::string first = line.substr(0, line.find(' '));
    if (first == "Rss:") {
      if (counts) total += field_bytes("\n" + line, "Rss");
    } else if (!first.ends_with(":")) {
      size_t at = 0;
      for (int i = 0; i < kFieldsBeforePath && at != std::string::npos; ++i)
        at = line.find_first_not_of(' ', line.find(' ', at));
      counts = at != std::string::npos && std::ranges::find(paths, line.substr(at)) != paths.end();
    }
  }
  return total;
}

int64_t resident_bytes_of_files(const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) absolute.push_back(std::filesystem::canonical(path).string());
  return parse_resident_bytes_of_files(read_proc("/proc/self/smaps"), absolute);
}

bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // 5: reset VmHWM (proc(5))
  return file.good();
}

}  // namespace hone
