#include "files/input_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

namespace doppel {

namespace {

// `name`: in lower case, without the endings of packers.
InputKind kind_of(std::string_view name, bool pipe, Layout layout) {
  switch (layout) {
    case Layout::lines:
      return InputKind::lines;
    case Layout::whole:
      return InputKind::whole;
    case Layout::signed_records:
      return InputKind::signed_records;
    case Layout::automatic:
      break;
  }
  if (pipe || name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".json"))
    return InputKind::lines;
  if (name.ends_with(".csv") || name.ends_with(".tsv")) return InputKind::csv;
  if (name.ends_with(".mbox")) return InputKind::mbox;
  return name.ends_with(".warc") ? InputKind::warc : InputKind::whole;
}

}  // namespace

InputFile describe_file(std::string path, const struct stat& info, Layout layout) {
  InputFile file;
  file.path = std::move(path);
  file.pipe = !S_ISREG(info.st_mode);
  file.size = file.pipe ? 0 : static_cast<uint64_t>(info.st_size);
  file.device = info.st_dev;
  file.inode = info.st_ino;
  std::string_view name = file.path;
  // Crawlers add this to the name of a file that they are still writing.
  constexpr std::string_view kOpen = ".open";
  if (name.ends_with(kOpen)) name.remove_suffix(kOpen.size());
  file.packing = packing_of(name);
  std::string lower(name.substr(name.size() - std::min<size_t>(name.size(), 8)));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  file.kind = kind_of(lower, file.pipe, layout);
  return file;
}

std::string name_of_pipe(const std::string& path, uint64_t judged_before) {
  return judged_before == 0 ? std::string() : fmt::format("{}~{}", path, judged_before);
}

uint64_t inode_of(uint64_t inode, const Part& part) {
  if (part.is_all()) return inode;
  const uint64_t fields[] = {inode, part.begin, part.size};
  return XXH3_64bits(fields, sizeof fields);
}

Problem make_problem(const std::string& path, uint64_t line, uint64_t offset, const std::string& cause) {
  if (line > 0)
    return {path, line, offset, fmt::format("{}: line {}, byte {}: {}", path, line, offset, cause)};
  return {path, 0, offset, fmt::format("{}: byte {}: {}", path, offset, cause)};
}

std::string system_cause() { return std::generic_category().message(errno); }

}  // namespace doppel
