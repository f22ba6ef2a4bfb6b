// Reads the central directory of a ZIP archive (APPNOTE.TXT, 4.3.6 on), including ZIP64. Everything is
// checked against the size of the file before it is used.

#include "files/warc/wacz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "files/byte_stream.h"

namespace doppel {
namespace {

constexpr size_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kEntryBytes = 46, kLocalBytes = 30;
constexpr size_t kMostComment = 65535;
constexpr uint64_t kMostDirectory = 256 << 20;
constexpr std::string_view kFolder = "archive/";

struct Entry {
  std::string_view name;
  uint16_t flags = 0, method = 0;
  uint64_t packed = 0, size = 0, local = 0;  // `local`: offset of its local header
};

struct Directory {
  uint64_t begin = 0, size = 0, entries = 0;
};

absl::Status damaged(std::string_view what) { return absl::DataLossError(absl_sv(what)); }

absl::StatusOr<std::string> read_at(int fd, uint64_t offset, uint64_t size, uint64_t file_size) {
  if (size > file_size || offset > file_size - size)
    return damaged("an offset points beyond the end of the archive");
  std::string out(size, '\0');
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return damaged(system_cause());
    if (got == 0) return damaged("it has become shorter");
    done += static_cast<size_t>(got);
  }
  return out;
}

template <typename T>
T at(std::string_view bytes, size_t offset) {
  return load<T>(bytes.data() + offset);
}

absl::StatusOr<Directory> find_directory(int fd, uint64_t file_size) {
  const uint64_t tail_size = std::min<uint64_t>(file_size, kEndBytes + kMostComment);
  ASSIGN_OR_RETURN(const std::string tail, read_at(fd, file_size - tail_size, tail_size, file_size));
  size_t end = tail.rfind("PK\x05\x06");
  while (end != std::string::npos &&
         (tail.size() - end < kEndBytes || at<uint16_t>(tail, end + 20) > tail.size() - end - kEndBytes)) {
    end = end == 0 ? std::string::npos : tail.rfind("PK\x05\x06", end - 1);
  }
  if (end == std::string::npos) return damaged("its central directory is missing: the file is truncated");
  const std::string_view record = std::string_view(tail).substr(end);
  Directory out{at<uint32_t>(record, 16), at<uint32_t>(record, 12), at<uint16_t>(record, 10)};
  if (out.begin == UINT32_MAX || out.size == UINT32_MAX || out.entries == UINT16_MAX) {
    if (end < kLocatorBytes || tail.compare(end - kLocatorBytes, 4, "PK\x06\x07") != 0)
      return damaged("the offset of its central directory is missing");
    const auto place = at<uint64_t>(tail, end - kLocatorBytes + 8);
    ASSIGN_OR_RETURN(const std::string end64, read_at(fd, place, kEnd64Bytes, file_size));
    if (!end64.starts_with("PK\x06\x06")) return damaged("the offset of its central directory is wrong");
    out = {at<uint64_t>(end64, 48), at<uint64_t>(end64, 40), at<uint64_t>(end64, 32)};
  }
  if (out.size > kMostDirectory) return damaged("its central directory is larger than 256 MiB");
  return out;
}

// Takes from the extra fields (ZIP64) what did not fit into the entry.
void take_large(std::string_view extra, Entry& entry) {
  while (extra.size() >= 4) {
    const auto id = at<uint16_t>(extra, 0);
    const size_t size = std::min<size_t>(at<uint16_t>(extra, 2), extra.size() - 4);
    std::string_view values = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != 1) continue;
    for (uint64_t* value : {&entry.size, &entry.packed, &entry.local}) {
      if (*value != UINT32_MAX || values.size() < 8) continue;
      *value = at<uint64_t>(values, 0);
      values.remove_prefix(8);
    }
  }
}

absl::StatusOr<std::vector<Entry>> entries_of(std::string_view directory, uint64_t count) {
  std::vector<Entry> out;
  for (; count > 0; --count) {
    if (directory.size() < kEntryBytes || !directory.starts_with("PK\x01\x02"))
      return damaged("its central directory ends too early");
    const size_t name = at<uint16_t>(directory, 28), extra = at<uint16_t>(directory, 30);
    const size_t whole = kEntryBytes + name + extra + at<uint16_t>(directory, 32);
    if (directory.size() < whole) return damaged("its central directory ends within an entry");
    Entry entry{.name = directory.substr(kEntryBytes, name),
                .flags = at<uint16_t>(directory, 8),
                .method = at<uint16_t>(directory, 10),
                .packed = at<uint32_t>(directory, 20),
                .size = at<uint32_t>(directory, 24),
                .local = at<uint32_t>(directory, 42)};
    take_large(directory.substr(kEntryBytes + name, extra), entry);
    out.push_back(entry);
    directory.remove_prefix(whole);
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool is_warc_entry(std::string_view name) {
  const std::string lowered = lower(name);
  std::string_view end = lowered;
  packing_of(end);
  return name.starts_with(kFolder) && end.ends_with(".warc");
}

// Names become parts of paths where unique records are kept.
bool is_safe(std::string_view name) {
  return name.find("/../") == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

// The byte range of the entry's data.
absl::StatusOr<Part> part_of(int fd, const Entry& entry, uint64_t file_size) {
  if (!is_safe(entry.name)) return damaged("its name leads out of the archive");
  if ((entry.flags & 1) != 0)
    return damaged("it is encrypted; unpack the archive and give its archive/*.warc.gz");
  if (entry.method != 0 || entry.packed != entry.size) {
    return damaged(
        "it is packed a second time by the ZIP archive, where a WACZ file stores WARC files as they are; "
        "unpack the archive and give its archive/*.warc.gz");
  }
  ASSIGN_OR_RETURN(const std::string local, read_at(fd, entry.local, kLocalBytes, file_size));
  if (!local.starts_with("PK\x03\x04"))
    return damaged("the archive's central directory points to something else");
  const uint64_t begin = entry.local + kLocalBytes + at<uint16_t>(local, 26) + at<uint16_t>(local, 28);
  if (entry.size > file_size || begin > file_size - entry.size)
    return damaged("it extends beyond the end of the archive");
  return Part{begin, entry.size};
}

// Byte ranges that do not overlap: end -> begin.
using Ranges = std::map<uint64_t, uint64_t>;

// Adds a range. Returns false if it overlaps another one: a small archive could have any number of large
// members otherwise.
bool take(const Part& part, Ranges& taken) {
  if (part.size == 0) return true;
  const auto next = taken.upper_bound(part.begin);
  if (next != taken.end() && next->second < part.begin + part.size) return false;
  taken.emplace(part.begin + part.size, part.begin);
  return true;
}

// The bytes of a member that is stored or deflated.
absl::StatusOr<std::string> bytes_of(int fd, const Entry& entry, uint64_t file_size) {
  if (entry.size > kMostDirectory) return damaged("it is larger than 256 MiB");
  ASSIGN_OR_RETURN(const std::string local, read_at(fd, entry.local, kLocalBytes, file_size));
  if (!local.starts_with("PK\x03\x04") || (entry.flags & 1) != 0)
    return damaged("it is encrypted, or the central directory points to something else");
  const uint64_t begin = entry.local + kLocalBytes + at<uint16_t>(local, 26) + at<uint16_t>(local, 28);
  ASSIGN_OR_RETURN(std::string packed, read_at(fd, begin, entry.packed, file_size));
  if (entry.method == 0) return packed;
  if (entry.method != 8) return damaged("its compression is unknown");
  std::string out(entry.size, '\0');
  z_stream z = {};
  z.next_in = reinterpret_cast<Bytef*>(packed.data());
  z.avail_in = static_cast<uInt>(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const bool ready = inflateInit2(&z, -MAX_WBITS) == Z_OK;
  const int result = ready ? inflate(&z, Z_FINISH) : Z_MEM_ERROR;
  if (ready) inflateEnd(&z);
  if (result != Z_STREAM_END || z.avail_out != 0) return damaged("its packed bytes are damaged");
  return out;
}

absl::Status of_wacz(const std::string& path, const absl::Status& status) {
  return absl::DataLossError(fmt::format(
      "{}: this WACZ file cannot be read: {}; unpack its archive/*.warc.gz and give those files instead",
      path, std_sv(status.message())));
}

}  // namespace

bool is_wacz_name(std::string_view path) {
  const std::string end = lower(path.substr(path.size() - std::min<size_t>(path.size(), 5)));
  return end == ".wacz" || end.ends_with(".zip");
}

absl::StatusOr<WaczContents> contents_of_wacz(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!fd.ok() || ::fstat(fd.get(), &info) != 0) return io_error(path);
  const auto size = static_cast<uint64_t>(info.st_size);
  WaczContents out;
  const absl::Status read = [&] {
    ASSIGN_OR_RETURN(const Directory directory, find_directory(fd.get(), size));
    ASSIGN_OR_RETURN(const std::string bytes, read_at(fd.get(), directory.begin, directory.size, size));
    ASSIGN_OR_RETURN(const std::vector<Entry> entries, entries_of(bytes, directory.entries));
    for (const Entry& entry : entries) {
      if (is_warc_entry(entry.name)) out.warc_members.emplace_back(entry.name);
      if (entry.name.starts_with(kFolder) || entry.name.starts_with("indexes/") ||
          entry.name.ends_with('/') || entry.name == "datapackage-digest.json" || !is_safe(entry.name))
        continue;
      absl::StatusOr<std::string> member = bytes_of(fd.get(), entry, size);
      if (!member.ok()) return damaged(fmt::format("{}: {}", entry.name, std_sv(member.status().message())));
      if (entry.name == "datapackage.json") {
        out.datapackage = *std::move(member);
      } else {
        out.others.push_back({std::string(entry.name), *std::move(member)});
      }
    }
    return absl::OkStatus();
  }();
  if (!read.ok()) return of_wacz(path, read);
  return out;
}

absl::StatusOr<Wacz> look_into_wacz(int fd, const std::string& path, const struct stat& info) {
  Wacz out;
  const bool promised = lower(path).ends_with(".wacz");
  const auto size = static_cast<uint64_t>(info.st_size);
  const absl::StatusOr<std::string> magic = read_at(fd, 0, 4, size);
  if (!magic.ok() || (*magic != "PK\x03\x04" && *magic != "PK\x05\x06")) {
    if (promised) return of_wacz(path, damaged("it is not a ZIP archive"));
    return out;
  }
  const absl::StatusOr<Directory> directory = find_directory(fd, size);
  absl::Status status = directory.status();
  std::string bytes;
  std::vector<Entry> entries;
  if (status.ok()) {
    absl::StatusOr<std::string> read = read_at(fd, directory->begin, directory->size, size);
    status = read.status();
    if (read.ok()) bytes = *std::move(read);
  }
  if (status.ok()) {
    absl::StatusOr<std::vector<Entry>> found = entries_of(bytes, directory->entries);
    status = found.status();
    if (found.ok()) entries = *std::move(found);
  }
  if (!status.ok()) {
    // The content check refuses any other ZIP archive.
    if (promised) return of_wacz(path, status);
    return out;
  }
  std::erase_if(entries, [](const Entry& entry) { return !is_warc_entry(entry.name); });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  Ranges taken;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    absl::StatusOr<Part> part = part_of(fd, entry, size);
    if (i > 0 && entry.name == entries[i - 1].name) part = damaged("there are two members of that name");
    if (part.ok() && !take(*part, taken)) part = damaged("it shares bytes with another member");
    std::string name = fmt::format("{}/{}", path, entry.name);
    if (!part.ok()) {
      out.problems.push_back({path, 0, 0, fmt::format("{}: {}", name, std_sv(part.status().message()))});
      continue;
    }
    if (part->size == 0) continue;
    InputFile file = describe_file(std::move(name), info, Layout::automatic);
    file.name = std::exchange(file.path, path);
    file.kind = InputKind::warc;
    file.member = entry.name;
    file.part = *part;
    file.size = part->size;
    file.inode = inode_of(info.st_ino, *part);
    out.files.push_back(std::move(file));
  }
  if (promised && out.files.empty() && out.problems.empty())
    return of_wacz(path, damaged("there is no archive/*.warc or archive/*.warc.gz in it"));
  return out;
}

std::string wacz_of(const std::string& path) {
  const size_t folder = path.rfind("/archive/");
  return folder == std::string::npos ? std::string() : path.substr(0, folder);
}

bool is_in_wacz(const std::string& path, uint64_t device, uint64_t inode) {
  const std::string wacz = wacz_of(path);
  struct stat info = {};
  if (wacz.empty() || ::stat(wacz.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_dev != device)
    return false;
  const Fd fd(::open(wacz.c_str(), O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<Wacz> inside = look_into_wacz(fd.get(), wacz, info);
  return inside.ok() && std::any_of(inside->files.begin(), inside->files.end(),
                                    [&](const InputFile& file) { return file.inode == inode; });
}

}  // namespace doppel
