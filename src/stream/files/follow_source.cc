// A queue of files with something to read. The finder tells what is there; files of lines stay known as
// FollowedFiles until they are gone, all others are taken once.

#include "stream/files/follow_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "base/status.h"
#include "stream/files/follow_position.h"
#include "stream/files/followed_file.h"
#include "stream/files/resume.h"
#include "stream/files/whole_file.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;
using File = std::shared_ptr<FollowedFile>;

constexpr auto kLongestWait = std::chrono::milliseconds(100);

bool is_at(const std::string& path, const FileKey& key) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && FileKey(info.st_dev, info.st_ino) == key;
}

// A file as it was when it was last taken.
uint64_t signature(const struct stat& info) {
  const uint64_t fields[] = {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
                             static_cast<uint64_t>(info.st_mtim.tv_sec),
                             static_cast<uint64_t>(info.st_mtim.tv_nsec)};
  return XXH3_64bits(fields, sizeof fields);
}

class FollowSource final : public Source, private Finds {
 public:
  FollowSource(const FollowOptions& options, FollowPosition position)
      : options_(options.files),
        settle_(options.finder.settle),
        finder_(options.finder, *this),
        position_(std::move(position)),
        filling_(options_.buffer_bytes) {}

  absl::Status start() {
    for (const std::string& path : options_.paths) {
      struct stat info = {};
      const bool there = path != "-" && ::stat(path.c_str(), &info) == 0;
      if (path == "-" || (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
        RETURN_IF_ERROR(add_pipe(path));
      } else {
        RETURN_IF_ERROR(finder_.add(path));
        follows_ = true;
      }
    }
    if (options_.paths.empty()) return invalid("nothing to follow");
    find_moved();
    finder_.find_all();
    for (const TailMark& tail : unmatched()) tell_lost(tail);
    matched_.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    batch.records.clear();
    batch.problems.clear();
    batch.memory.clear();
    batch.position.clear();
    batch.bytes = 0;
    const Clock::time_point deadline = Clock::now() + kLongestWait;
    for (;;) {
      finder_.notice();
      look_at_leaving();
      fill(batch, deadline);
      for (Problem& problem : problems_) batch.problems.push_back(std::move(problem));
      problems_.clear();
      if (!batch.records.empty() || !batch.problems.empty()) break;
      if (!follows_ && pipes_.empty() && queue_.empty()) return false;
      if (Clock::now() >= deadline || options_.stop()) return true;
      if (queue_.empty()) wait(std::min(deadline, finder_.next_look()));
    }
    filling_.seal();
    batch.position = position_.encode();
    return true;
  }

  bool live() const override { return true; }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return counter_->load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::string path;  // a file to be taken as a whole, or
    File file;         // one of lines
  };

  // ---- what the finder tells

  bool found(const std::string& path, const struct stat& info, Growth growth) override {
    const FileKey key(info.st_dev, info.st_ino);
    if (auto it = files_.find(key); it != files_.end()) {
      const File file = it->second;
      if (file->path() != path || file->leaving) move(file, path);
      if (file->may_differ()) enqueue(file);
      return true;
    }
    const uint64_t hash = FollowPosition::path_hash(path);
    seen_.insert(hash);
    const InputFile described = describe_file(path, info, options_.layout);
    const bool grows = described.lines && !described.warc && described.packing == Packing::none &&
                       (finder_.is_named(path) || !path.ends_with(".json") || options_.layout == "lines");
    const TailMark* known = position_.tail(key);
    if (known != nullptr) matched_.insert(key);
    // A log that was renamed keeps being one, whatever its name is now.
    if (grows || (known != nullptr && !described.lines)) {
      follow(path, known);
      return true;
    }
    if (growth != Growth::closed) {
      auto taken = taken_.find(hash);
      if (taken != taken_.end() && taken->second == signature(info)) return true;
      if (growth == Growth::unknown) return false;
    }
    if (queued_.insert(path).second) queue_.push_back({path, nullptr});
    return true;
  }

  void gone(const std::string& path, bool for_good) override {
    if (auto it = at_.find(path); it != at_.end()) {
      // It may be an older file that went, and the next one is there already.
      const File file = it->second;
      if (!is_at(path, file->key())) leave(file);
      return;
    }
    const uint64_t hash = FollowPosition::path_hash(path);
    taken_.erase(hash);
    if (!for_good) return;
    seen_.erase(hash);
    seen_before_.erase(hash);
    position_.forget_whole(hash);
    if (auto it = complete_at_.find(hash); it != complete_at_.end()) {
      if (!files_.contains(it->second)) position_.forget_tail(it->second);
      complete_at_.erase(it);
    }
  }

  void all_found() override {
    std::vector<File> missing;
    for (const auto& [path, file] : at_) {
      if (!is_at(path, file->key())) missing.push_back(file);
    }
    for (const File& file : missing) leave(file);
    // What was here at the last search and is not now. Not while something may be read under a new name.
    if (queue_.empty() && problems_.empty()) {
      for (const uint64_t hash : seen_before_) {
        if (seen_.contains(hash)) continue;
        taken_.erase(hash);
        position_.forget_whole(hash);
      }
      std::swap(seen_before_, seen_);
    }
    seen_.clear();
  }

  void problem(Problem problem) override {
    // A directory that cannot be read is found again and again.
    if (told_.insert(problem.message).second) problems_.push_back(std::move(problem));
  }

  // ---- files of lines

  void enqueue(const File& file) {
    if (file->queued || file->waits) return;
    file->queued = true;
    queue_.push_back({"", file});
  }

  // What events call the file that is followed under this path now.
  std::string name_at(const std::string& path) const {
    const uint64_t before = position_.count(path);
    return before == 0 ? path : fmt::format("{}~{}", path, before);
  }
  void count_another(const std::string& path) { position_.set_count(path, position_.count(path) + 1); }

  static std::shared_ptr<InputFile> lines_file(const std::string& path, std::string name) {
    auto file = std::make_shared<InputFile>();
    file->path = path;
    file->name = std::move(name);
    file->lines = true;
    return file;
  }

  // A file that is not followed yet.
  void follow(const std::string& path, const TailMark* known) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) return problem({path, 0, 0, fmt::format("{}: {}", path, system_cause())});
    LineMark mark = mark_of(fd.get());
    const FileKey key(mark.device, mark.inode);
    if (files_.contains(key)) return;
    File before;
    if (auto it = at_.find(path); it != at_.end()) {
      before = it->second;
      leave(before);
    } else if (auto left = left_.find(path); left != left_.end()) {
      before = left->second;
    }
    if (before != nullptr && !finder_.is_named(path)) count_another(path);
    std::string name;
    if (known != nullptr && is_file_of(fd.get(), Packing::none, known->mark)) {
      mark = known->mark;
      name = known->name.empty() ? path : known->name;
    } else {
      if (known != nullptr) {
        problems_.push_back(cut(path, known->mark));
        count_another(path);
      }
      name = name_at(path);
    }
    auto file =
        std::make_shared<FollowedFile>(lines_file(path, std::move(name)), path, std::move(fd), mark, true);
    if (known != nullptr) position_.set_tail(file->mark());
    files_[key] = file;
    at_[path] = file;
    wait_for(before, file);
    enqueue(file);
  }

  // What is left of a log's earlier file comes before the later one.
  static void wait_for(const File& before, const File& file) {
    if (before == nullptr || !(before->queued || before->waits) || file->queued || file->waits) return;
    before->successor = file;
    file->waits = true;
  }

  static Problem cut(const std::string& path, const LineMark& mark) {
    return make_problem(path, mark.lines, mark.offset,
                        "the file was cut or overwritten; it is read again from its start, as a new one");
  }

  void move(const File& file, const std::string& path) {
    if (auto it = at_.find(file->path()); it != at_.end() && it->second == file) at_.erase(it);
    if (auto it = left_.find(file->path()); it != left_.end() && it->second == file) left_.erase(it);
    if (auto it = at_.find(path); it != at_.end()) leave(File(it->second));
    // Its events keep the old name, so no other file may have that.
    if (!finder_.is_named(file->path()) || !file->leaving) count_another(file->path());
    file->moved_to(path);
    file->leaving = false;
    std::erase(leaving_, file);
    at_[path] = file;
  }

  // Not under its path any more: it is read to its end, until nothing comes for a while.
  void leave(const File& file, bool counts = true) {
    if (auto it = at_.find(file->path()); it != at_.end() && it->second == file) at_.erase(it);
    if (file->leaving) return;
    file->leaving = true;
    file->quiet_since = Clock::now();
    leaving_.push_back(file);
    wait_for(std::exchange(left_[file->path()], file), file);
    if (counts && finder_.is_named(file->path())) count_another(file->path());
    enqueue(file);
  }

  void look_at_leaving() {
    const Clock::time_point now = Clock::now();
    for (size_t i = 0; i < leaving_.size();) {
      const File file = leaving_[i++];
      if (file->queued || file->waits) continue;
      if (file->has_more()) {
        file->quiet_since = now;
        enqueue(file);
      } else if (now - file->quiet_since >= settle_) {
        --i;
        leaving_.erase(leaving_.begin() + static_cast<ptrdiff_t>(i));
        file->finish();
        if (file->has_open_line()) {
          enqueue(file);
        } else {
          drop(file);
        }
      }
    }
  }

  void drop(const File& file) {
    if (auto it = left_.find(file->path()); it != left_.end() && it->second == file) left_.erase(it);
    if (auto it = at_.find(file->path()); it != at_.end() && it->second == file) at_.erase(it);
    files_.erase(file->key());
    position_.forget_tail(file->key());
  }

  // ---- reading

  bool has_room(const Batch& batch) const {
    return batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records &&
           batch.bytes < options_.batch_bytes;
  }

  void fill(Batch& batch, Clock::time_point deadline) {
    while (has_room(batch) && !queue_.empty()) {
      if (batch.records.empty() && Clock::now() >= deadline) return;
      const Job job = queue_.front();
      if (!(job.file != nullptr ? read_lines(job.file, batch) : take_complete(job.path, batch))) return;
    }
  }

  // The front of the queue. False: the batch has no room for more.
  bool read_lines(File file, Batch& batch) {
    queue_.pop_front();
    if (file->live() && file->was_cut()) {
      const TailMark before = file->mark();
      problems_.push_back(cut(file->path(), before.mark));
      count_another(file->path());
      auto anew =
          std::make_shared<FollowedFile>(lines_file(file->path(), name_at(file->path())), file->path(),
                                         Fd(::dup(file->fd())), mark_of(file->fd()), true);
      anew->successor = std::move(file->successor);
      anew->leaving = file->leaving;
      anew->queued = true;
      files_[file->key()] = anew;
      for (auto* places : {&at_, &left_}) {
        if (auto it = places->find(file->path()); it != places->end() && it->second == file)
          it->second = anew;
      }
      std::replace(leaving_.begin(), leaving_.end(), file, anew);
      file = anew;
      position_.set_tail(file->mark());
    }
    const LineReader::State state = file->take(options_, counter_, batch);
    if (file->file().pipe) {
      file->queued = false;
      if (state == LineReader::State::full) enqueue(file);
      if (state == LineReader::State::ended) std::erase(pipes_, file);
      return state != LineReader::State::full;
    }
    const TailMark mark = file->mark();
    if (mark.mark.offset > 0 || position_.tail(file->key()) != nullptr) position_.set_tail(mark);
    if (state == LineReader::State::full) {
      queue_.push_back({"", file});  // others have their turn
      return false;
    }
    file->queued = false;
    file->quiet_since = Clock::now();
    if (state == LineReader::State::ended) end(file);
    if (File next = std::exchange(file->successor, nullptr)) {
      next->waits = false;
      enqueue(next);
    }
    return true;
  }

  // Taken as a whole, read to its end after it left, or damaged.
  void end(const File& file) {
    if (file->leaving) return drop(file);
    if (auto it = at_.find(file->path()); it != at_.end() && it->second == file) at_.erase(it);
    files_.erase(file->key());
  }

  // The front of the queue, if it is not too large for this batch.
  bool take_complete(const std::string& path, Batch& batch) {
    struct stat info = {};
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0) {
      if (errno != ENOENT) problem({path, 0, 0, fmt::format("{}: {}", path, system_cause())});
      return take_off(path);
    }
    InputFile file = describe_file(path, info, options_.layout);
    if (!batch.records.empty() && file.packing == Packing::none &&
        batch.bytes + file.size > options_.batch_bytes) {
      return false;
    }
    take_off(path);
    const uint64_t hash = FollowPosition::path_hash(path);
    taken_[hash] = signature(info);
    if (file.lines) {
      take_complete_lines(path, std::move(fd), std::move(file), info);
      return true;
    }
    const uint64_t is = whole_mark_of(fd.get(), info);
    if (position_.knows_whole(is)) {
      position_.set_whole(hash, is);  // it may have been renamed
      return true;
    }
    if (position_.whole_at(hash) != 0) count_another(path);
    file.name = name_at(path);
    auto kept = std::make_shared<const InputFile>(std::move(file));
    uint64_t mark = 0;
    batch.memory.push_back(kept);
    read_whole_file(options_, filling_, *kept, std::move(fd), counter_, batch, mark);
    if (mark != 0) position_.set_whole(hash, mark);
    return true;
  }

  // Goes on behind what was read of it earlier, as far as it is still the same.
  void take_complete_lines(const std::string& path, Fd fd, InputFile file, const struct stat& info) {
    LineMark mark = mark_of(fd.get());
    const TailMark* known = position_.tail(FileKey(info.st_dev, info.st_ino));
    if (known != nullptr && is_file_of(fd.get(), file.packing, known->mark)) {
      complete_at_[FollowPosition::path_hash(path)] = FileKey(info.st_dev, info.st_ino);
      mark = known->mark;
      file.name = known->name;
      if (mark.path != path && !mark.path.empty()) {
        if (file.name.empty()) file.name = mark.path;
        count_another(mark.path);
        mark.path = path;
        position_.set_tail({mark, file.name});
      }
      if (mark.disk_length == file.size) return;
    } else {
      if (known != nullptr && known->mark.path == path) count_another(path);
      file.name = name_at(path);
    }
    auto lines = std::make_shared<FollowedFile>(std::make_shared<const InputFile>(std::move(file)), path,
                                                std::move(fd), mark, false);
    files_[lines->key()] = lines;
    complete_at_[FollowPosition::path_hash(path)] = lines->key();
    lines->queued = true;
    queue_.push_front({"", lines});
  }

  bool take_off(const std::string& path) {
    queued_.erase(path);
    queue_.pop_front();
    return true;
  }

  static uint64_t whole_mark_of(int fd, const struct stat& info) {
    std::array<char, kHeadBytes> head;
    const ssize_t got = ::pread(fd, head.data(), head.size(), 0);
    const auto size = static_cast<uint64_t>(info.st_size);
    return whole_mark(info.st_dev, info.st_ino, size,
                      {head.data(), std::min<size_t>(got < 0 ? 0 : static_cast<size_t>(got), size)});
  }

  // ---- pipes, and waiting

  absl::Status add_pipe(const std::string& path) {
    // A named pipe has no end: the next writer goes on.
    Fd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.ok()) return io_error(path);
    auto file = lines_file(path, "");
    file->pipe = true;
    auto pipe = std::make_shared<FollowedFile>(std::move(file), path, std::move(fd), LineMark(), true);
    pipes_.push_back(pipe);
    enqueue(pipe);
    return absl::OkStatus();
  }

  void wait(Clock::time_point until) {
    std::vector<pollfd> fds;
    fds.reserve(pipes_.size() + 1);
    for (const File& pipe : pipes_) fds.push_back({pipe->fd(), POLLIN, 0});
    if (finder_.fd() >= 0) fds.push_back({finder_.fd(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<int64_t>(left, 0, kLongestWait.count())));
    for (size_t i = 0; i < pipes_.size(); ++i) {
      if (fds[i].revents != 0) enqueue(pipes_[i]);
    }
  }

  // ---- what an earlier run knew

  // Files that were rotated while nobody looked, and have a name now that is not followed: their rest comes
  // first.
  void find_moved() {
    std::vector<TailMark> moved;
    for (const auto& [key, tail] : position_.tails()) {
      if (!tail.mark.path.empty() && !is_at(tail.mark.path, FileKey(tail.mark.device, tail.mark.inode)))
        moved.push_back(tail);
    }
    // The earliest of a log first; each had a later name: log, log~1, log~10.
    std::sort(moved.begin(), moved.end(), [](const TailMark& a, const TailMark& b) {
      return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
    });
    for (const TailMark& tail : moved) {
      count_another(tail.mark.path);
      const std::string directory = directory_of(tail.mark.path);
      std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
      while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        if (entry->d_ino != tail.mark.inode) continue;
        const std::string path = directory + "/" + entry->d_name;
        Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (finder_.wants(path) || !fd.ok() || !is_file_of(fd.get(), packing_at(tail.mark.path), tail.mark))
          continue;
        auto file = std::make_shared<FollowedFile>(lines_file(tail.mark.path, tail.name), tail.mark.path,
                                                   std::move(fd), tail.mark, true);
        files_[file->key()] = file;
        leave(file, false);
        break;
      }
    }
  }

  static Packing packing_at(std::string_view path) { return packing_of(path); }

  // Files of lines that were not found again.
  std::vector<TailMark> unmatched() const {
    std::vector<TailMark> out;
    for (const auto& [key, tail] : position_.tails()) {
      if (!tail.mark.path.empty() && !files_.contains(key) && !matched_.contains(key)) out.push_back(tail);
    }
    return out;
  }

  void tell_lost(const TailMark& tail) {
    if (tail.mark.disk_length == 0) {
      problems_.push_back(make_problem(
          tail.mark.path, tail.mark.lines, tail.mark.offset,
          "the last run was interrupted here, and the file is gone or was replaced; its rest is not read"));
    }
    position_.forget_tail(FileKey(tail.mark.device, tail.mark.inode));
  }

  const FilesSourceOptions options_;
  const std::chrono::milliseconds settle_;
  Finder finder_;
  FollowPosition position_;
  Filling filling_;
  ByteCounter counter_ = std::make_shared<std::atomic<uint64_t>>(0);
  bool follows_ = false;  // more than pipes
  std::deque<Job> queue_;
  absl::flat_hash_set<std::string> queued_;      // paths of it
  absl::flat_hash_map<FileKey, File> files_;     // of lines
  absl::flat_hash_map<std::string, File> at_;    // the same by path, while they are there
  absl::flat_hash_map<std::string, File> left_;  // the last that left a path and is not done
  std::vector<File> leaving_;
  std::vector<File> pipes_;
  absl::flat_hash_map<uint64_t, uint64_t> taken_;  // hash of a path -> signature
  absl::flat_hash_set<uint64_t> seen_, seen_before_;
  absl::flat_hash_map<uint64_t, FileKey>
      complete_at_;                       // hash of a path -> its file of lines that was taken whole
  absl::flat_hash_set<FileKey> matched_;  // at the start: known to the position, and found
  absl::flat_hash_set<std::string> told_;
  std::vector<Problem> problems_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> open_follow_source(const FollowOptions& options,
                                                           std::string_view position) {
  ASSIGN_OR_RETURN(FollowPosition known, FollowPosition::parse(position));
  auto source = std::make_unique<FollowSource>(options, std::move(known));
  RETURN_IF_ERROR(source->start());
  return source;
}

}  // namespace doppel
