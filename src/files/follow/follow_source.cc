// Keeps a queue of files with something to read. The finder reports the files. Files of lines stay known
// (followed_logs.h) until they are gone; all others are read once.

#include "files/follow/follow_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "base/status.h"
#include "files/follow/followed_logs.h"
#include "files/follow_position.h"
#include "files/read/content.h"
#include "files/read/resume.h"
#include "files/read/whole_file.h"
#include "files/warc/wacz.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;
using File = FollowedLogs::File;

constexpr auto kLongestWait = std::chrono::milliseconds(100);

// Tells whether a file has changed since it was last taken.
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
        finder_(options.finder, *this),
        position_(std::move(position)),
        logs_(options.finder.settle, finder_, position_, problems_,
              [this](const File& file) { enqueue(file); }),
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
    logs_.find_moved();
    finder_.find_all();
    report_lost();
    starting_ = false;
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
      logs_.look_at_leaving();
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
    std::string path;                                   // a complete file, or
    File file;                                          // a file of lines, or
    std::shared_ptr<const InputFile> inside = nullptr;  // a file in the WACZ file `path`
  };

  // ---- reports of the finder

  bool found(const std::string& path, const struct stat& info, Growth growth) override {
    const FileKey key(info.st_dev, info.st_ino);
    if (logs_.found(key, path)) return true;
    const uint64_t hash = FollowPosition::path_hash(path);
    seen_.insert(hash);
    const InputFile described = describe_file(path, info, options_.layout);
    bool grows = described.kind == InputKind::lines && described.packing == Packing::none &&
                 (finder_.is_named(path) || !path.ends_with(".json") || options_.layout == Layout::lines);
    const TailMark* known = position_.tail(key);
    if (known != nullptr) matched_.insert(key);
    if (starting_) match_wacz(path, info);
    if (grows && known == nullptr && info.st_size > 0 && !is_log(path, described)) grows = false;
    // A known log stays a log, whatever its name is now.
    if (grows || (known != nullptr && !described.in_parts())) {
      const absl::Status followed = logs_.follow(path, known);
      if (!followed.ok()) problem({path, 0, 0, std::string(std_sv(followed.message()))});
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

  // Whether the content is the log that the name promises.
  bool is_log(const std::string& path, InputFile file) const {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.ok()) look_inside(fd.get(), options_, file);
    return file.refused.empty() && file.kind == InputKind::lines && file.packing == Packing::none;
  }

  void gone(const std::string& path, bool for_good) override {
    if (logs_.gone(path)) return;
    const uint64_t hash = FollowPosition::path_hash(path);
    taken_.erase(hash);
    if (!for_good) return;
    seen_.erase(hash);
    seen_before_.erase(hash);
    position_.forget_whole(hash);
    if (auto it = complete_at_.find(hash); it != complete_at_.end()) {
      for (const FileKey& key : it->second) {
        if (!logs_.knows(key)) position_.forget_tail(key);
      }
      complete_at_.erase(it);
    }
  }

  void all_found() override {
    logs_.look_at_paths();
    // Forgets files that the last search found and this one did not. Not while files are queued: a queued
    // file may be a forgotten one under a new name.
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
    // Each search reports an unreadable directory.
    if (told_.insert(problem.message).second) problems_.push_back(std::move(problem));
  }

  // ---- files of lines

  void enqueue(const File& file) {
    if (file->queued || file->waits) return;
    file->queued = true;
    queue_.push_back({"", file});
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
      if (job.inside != nullptr) {
        take_inside(*job.inside);
      } else if (!(job.file != nullptr ? read_lines(job.file, batch) : take_complete(job.path, batch))) {
        return;
      }
    }
  }

  // Takes the front of the queue. Returns false if the batch has no more room.
  bool read_lines(File file, Batch& batch) {
    queue_.pop_front();
    if (file->live() && file->was_cut()) file = logs_.read_anew(file);
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
      queue_.push_back({"", file});  // let the others have their turn
      return false;
    }
    file->queued = false;
    file->quiet_since = Clock::now();
    if (state == LineReader::State::ended) logs_.done(file);
    if (File next = std::exchange(file->successor, nullptr)) {
      next->waits = false;
      enqueue(next);
    }
    return true;
  }

  // Takes the front of the queue. Returns false if the file is too large for this batch.
  bool take_complete(const std::string& path, Batch& batch) {
    struct stat info = {};
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0) {
      if (errno != ENOENT) problem({path, 0, 0, fmt::format("{}: {}", path, system_cause())});
      return take_off(path);
    }
    if (take_wacz(path, fd.get(), info)) return true;
    InputFile file = describe_file(path, info, options_.layout);
    look_inside(fd.get(), options_, file);
    const std::string_view by_name =
        options_.layout == Layout::automatic ? refusal(path) : std::string_view();
    if (const std::string_view why = by_name.empty() ? file.refused : by_name; !why.empty()) {
      problem({path, 0, 0, fmt::format("{}: {}", path, why)});
      taken_[FollowPosition::path_hash(path)] = signature(info);
      return take_off(path);
    }
    if (!batch.records.empty() && file.packing == Packing::none &&
        batch.bytes + file.size > options_.batch_bytes) {
      return false;
    }
    take_off(path);
    const uint64_t hash = FollowPosition::path_hash(path);
    taken_[hash] = signature(info);
    if (file.in_parts()) {
      take_complete_lines(path, std::move(fd), std::move(file));
      return true;
    }
    const uint64_t is = whole_mark_of(fd.get(), info);
    if (position_.knows_whole(is)) {
      position_.set_whole(hash, is);  // it may have been renamed
      return true;
    }
    if (position_.whole_at(hash) != 0) position_.count_another(path);
    file.name = position_.name_at(path);
    auto kept = std::make_shared<const InputFile>(std::move(file));
    uint64_t mark = 0;
    batch.memory.push_back(kept);
    read_whole_file(options_, filling_, *kept, std::move(fd), counter_, batch, mark);
    if (mark != 0) position_.set_whole(hash, mark);
    return true;
  }

  // Continues behind what was read earlier, if the file still begins the same.
  void take_complete_lines(const std::string& on_disk, Fd fd, InputFile file) {
    const std::string path = file.shown();
    const FileKey key(file.device, file.inode);
    std::vector<FileKey>& keys = complete_at_[FollowPosition::path_hash(on_disk)];
    if (file.member.empty()) keys.clear();
    keys.push_back(key);
    LineMark mark = mark_of(fd.get(), file.part);
    const TailMark* known = position_.tail(key);
    if (known != nullptr && is_file_of(fd.get(), file.as_stored(), known->mark, file.part)) {
      mark = known->mark;
      file.name = known->name;
      if (mark.path != path && !mark.path.empty()) {
        if (file.name.empty()) file.name = mark.path;
        position_.count_another(mark.path);
        mark.path = path;
        position_.set_tail({mark, file.name});
      }
      if (mark.disk_length == file.size) return;
    } else {
      if (known != nullptr && known->mark.path == path) position_.count_another(path);
      file.name = position_.name_at(path);
    }
    auto lines = std::make_shared<FollowedFile>(std::make_shared<const InputFile>(std::move(file)), path,
                                                std::move(fd), mark, false);
    logs_.add_complete(lines);
    lines->queued = true;
    queue_.push_front({"", lines});
  }

  // Takes the front of the queue. Returns false if it is not a WACZ file.
  bool take_wacz(const std::string& path, int fd, const struct stat& info) {
    if (options_.layout != Layout::automatic || (!is_wacz_name(path) && !finder_.is_named(path)))
      return false;
    absl::StatusOr<Wacz> inside = look_into_wacz(fd, path, info);
    if (inside.ok() && inside->files.empty() && inside->problems.empty()) return false;
    const uint64_t hash = FollowPosition::path_hash(path);
    taken_[hash] = signature(info);
    complete_at_.erase(hash);
    take_off(path);
    if (!inside.ok()) {
      problem({path, 0, 0, std::string(std_sv(inside.status().message()))});
      return true;
    }
    for (Problem& found : inside->problems) problem(std::move(found));
    for (auto file = inside->files.rbegin(); file != inside->files.rend(); ++file)
      queue_.push_front({path, nullptr, std::make_shared<const InputFile>(std::move(*file))});
    return true;
  }

  // Takes the front of the queue; the caller keeps `file` alive.
  void take_inside(const InputFile& file) {
    queue_.pop_front();
    struct stat info = {};
    Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0 || inode_of(info.st_ino, file.part) != file.inode) {
      problem({file.path, 0, 0, fmt::format("{}: the WACZ file is gone or was replaced", file.shown())});
      return;
    }
    InputFile seen = file;
    look_inside(fd.get(), options_, seen);
    if (!seen.refused.empty()) {
      problem({seen.path, 0, 0, fmt::format("{}: {}", seen.shown(), seen.refused)});
      return;
    }
    take_complete_lines(file.path, std::move(fd), std::move(seen));
  }

  // Marks the files inside a WACZ file as found, for report_lost().
  void match_wacz(const std::string& path, const struct stat& info) {
    if (!is_wacz_name(path) && !finder_.is_named(path)) return;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const absl::StatusOr<Wacz> inside = look_into_wacz(fd.get(), path, info);
    if (!inside.ok()) return;
    for (const InputFile& file : inside->files) matched_.insert(FileKey(file.device, file.inode));
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
    // Opened for writing, too, a named pipe does not end when its writer closes it.
    Fd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.ok()) return io_error(path);
    auto file = lines_file(path, "");
    file->pipe = true;
    if (options_.layout == Layout::signed_records) file->kind = InputKind::signed_records;
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

  // Reports files of lines that an earlier run had begun and that were not found.
  void report_lost() {
    std::vector<TailMark> lost;
    for (const auto& [key, tail] : position_.tails()) {
      if (!tail.mark.path.empty() && !logs_.knows(key) && !matched_.contains(key)) lost.push_back(tail);
    }
    for (const TailMark& tail : lost) {
      if (tail.mark.disk_length == 0) {
        problems_.push_back(make_problem(
            tail.mark.path, tail.mark.lines, tail.mark.offset,
            "the last run was interrupted here, and the file is gone or was replaced; its rest is not read"));
      }
      position_.forget_tail(FileKey(tail.mark.device, tail.mark.inode));
    }
  }

  const FilesSourceOptions options_;
  Finder finder_;
  FollowPosition position_;
  std::vector<Problem> problems_;
  FollowedLogs logs_;
  Filling filling_;
  ByteCounter counter_ = std::make_shared<std::atomic<uint64_t>>(0);
  bool starting_ = true;
  bool follows_ = false;  // there is more to follow than pipes
  std::deque<Job> queue_;
  absl::flat_hash_set<std::string> queued_;  // paths of complete files in the queue
  std::vector<File> pipes_;
  absl::flat_hash_map<uint64_t, uint64_t> taken_;  // hash of a path -> signature
  absl::flat_hash_set<uint64_t> seen_, seen_before_;
  // hash of a path -> the complete files of lines under it
  absl::flat_hash_map<uint64_t, std::vector<FileKey>> complete_at_;
  absl::flat_hash_set<FileKey> matched_;  // during the start: known to the position, and found
  absl::flat_hash_set<std::string> told_;
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
