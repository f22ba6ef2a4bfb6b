#include "files/read/resume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>

#include "files/read/content.h"
#include "files/warc/wacz.h"

namespace doppel {
namespace {

struct Head {
  std::array<char, kHeadBytes> bytes;
  size_t length = 0;
  std::string_view first(size_t n) const { return {bytes.data(), std::min(length, n)}; }
};

bool read_head(int fd, const Part& part, struct stat& info, Head& head) {
  if (::fstat(fd, &info) != 0) return false;
  size_t most = head.bytes.size();
  if (!part.is_all()) {
    info.st_ino = inode_of(info.st_ino, part);
    info.st_size = static_cast<off_t>(part.size);
    most = std::min<uint64_t>(most, part.size);
  }
  ssize_t got = ::pread(fd, head.bytes.data(), most, static_cast<off_t>(part.begin));
  head.length = got < 0 ? 0 : static_cast<size_t>(got);
  return got >= 0;
}

bool matches(const LineMark& mark, const struct stat& info, const Head& head, bool as_stored) {
  auto size = static_cast<uint64_t>(info.st_size);
  uint64_t least = std::max(mark.disk_length, as_stored ? mark.offset : 0);
  return mark.device == info.st_dev && mark.inode == info.st_ino &&
         size >= std::max(least, mark.head_length) && head.length >= mark.head_length &&
         hash_of_head(head.first(mark.head_length)) == mark.head_hash;
}

}  // namespace

bool is_file_of(int fd, bool as_stored, const LineMark& mark, const Part& part) {
  struct stat info = {};
  Head head;
  return read_head(fd, part, info, head) && matches(mark, info, head, as_stored);
}

LineMark mark_of(int fd, const Part& part) {
  struct stat info = {};
  Head head;
  LineMark mark;
  if (!read_head(fd, part, info, head)) return mark;
  mark.device = info.st_dev;
  mark.inode = info.st_ino;
  mark.head_length = head.length;
  mark.head_hash = hash_of_head(head.first(head.length));
  return mark;
}

Resume find_resume_points(const FilesSourceOptions& options, Listing& listing, const Position& position,
                          PositionWriter& writer, std::vector<Problem>& problems) {
  Resume resume;
  resume.skip.resize(listing.files.size());
  std::unordered_map<uint64_t, size_t> wholes;  // and the number of files with this mark
  for (uint64_t mark : position.wholes) {
    ++wholes[mark];
    writer.add_whole(mark);
  }
  std::multimap<std::pair<uint64_t, uint64_t>, size_t> by_inode;
  for (size_t i = 0; i < position.lines.size(); ++i) {
    by_inode.emplace(std::pair(position.lines[i].device, position.lines[i].inode), i);
  }
  enum class Fate : char { unseen, found, replaced };
  std::vector<Fate> fates(position.lines.size(), Fate::unseen);
  std::vector<size_t> grown;

  for (size_t f = 0; f < listing.files.size(); ++f) {
    InputFile& file = listing.files[f];
    if (file.pipe) continue;
    auto [mark, last] = by_inode.equal_range(std::pair(file.device, file.inode));
    if (mark == last && wholes.empty()) continue;
    Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info = {};
    Head head;
    if (!fd.ok() || !read_head(fd.get(), file.part, info, head)) continue;  // reported when the file is read
    look_inside(fd.get(), options, file);
    auto size = static_cast<uint64_t>(info.st_size);
    if (!file.in_parts()) {
      auto known = wholes.find(whole_mark(info.st_dev, info.st_ino, size, head.first(size)));
      if (known == wholes.end() || known->second == 0) continue;
      --known->second;
      resume.skip[f] = true;
      continue;
    }
    for (; mark != last; ++mark) {
      const LineMark& known = position.lines[mark->second];
      Fate& fate = fates[mark->second];
      if (fate == Fate::found) continue;
      if (!matches(known, info, head, file.as_stored())) {
        fate = Fate::replaced;
        continue;
      }
      fate = Fate::found;
      if (known.disk_length == size) {
        resume.skip[f] = true;
        writer.add_done(known);
      } else {
        resume.from.emplace(f, known);
        grown.push_back(mark->second);
      }
      break;
    }
  }
  for (size_t i : grown) writer.add_pending(position.lines[i]);

  for (size_t i = 0; i < position.lines.size(); ++i) {
    const LineMark& mark = position.lines[i];
    if (fates[i] == Fate::found) continue;
    bool unfinished = mark.disk_length == 0;
    struct stat info = {};
    bool gone =
        fates[i] == Fate::replaced ||
        (unfinished && !is_in_wacz(mark.path, mark.device, mark.inode) &&
         (::stat(mark.path.c_str(), &info) != 0 || info.st_dev != mark.device || info.st_ino != mark.inode));
    if (!gone) {
      writer.add_done(mark);  // not among the paths of this run
    } else if (unfinished) {
      problems.push_back(
          make_problem(mark.path, mark.lines, mark.offset,
                       "the last run was interrupted here, and the file is gone or was replaced"));
    }
  }
  return resume;
}

}  // namespace doppel
