// Keeps a queue of files with something to read. The finder reports the files. Files of lines stay known
// (followed_logs.h) until they are gone; all others are read once (complete_files.h).

#include "files/follow/follow_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/status.h"
#include "files/follow/complete_files.h"
#include "files/follow/followed_logs.h"
#include "files/position.h"
#include "files/read/content.h"

namespace doppel {
namespace {

using Clock = std::chrono::steady_clock;
using File = FollowedLogs::File;

constexpr auto kLongestWait = std::chrono::milliseconds(100);
constexpr auto kQuiet = std::chrono::seconds(1);  // without new files, all renamed ones are found

class FollowSource final : public Source, private Finds {
 public:
  FollowSource(const FollowOptions& options, FollowPosition position)
      : options_(options.files),
        bell_(options.bell),
        finder_(options.finder, *this),
        position_(std::move(position)),
        logs_(options.finder.settle, finder_, position_, problems_,
              [this](const File& file) { enqueue(file); }),
        complete_({.options = options_,
                   .finder = finder_,
                   .position = position_,
                   .logs = logs_,
                   .counter = counter_,
                   .problem = [this](Problem found) { problem(std::move(found)); }}) {}

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
    position_.keep_replaced(true);  // until nothing more is found
    logs_.find_moved();
    finder_.find_all();
    await_renamed();
    report_lost();
    starting_ = false;
    matched_.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<bool> next(Batch& batch) override {
    batch.clear();
    const Clock::time_point deadline = Clock::now() + kLongestWait;
    for (;;) {
      if (finder_.polls()) position_.keep_replaced(true);  // each search may find files that were renamed
      finder_.notice();
      logs_.look_at_leaving();
      fill(batch, deadline);
      for (Problem& problem : problems_) batch.problems.push_back(std::move(problem));
      problems_.clear();
      if (!batch.records.empty() || !batch.problems.empty()) break;
      if (!follows_ && pipes_.empty() && queue_.empty()) return false;
      if (Clock::now() >= deadline || options_.stop()) {
        if (Clock::now() - last_queued_ > kQuiet) position_.keep_replaced(false);
        return true;
      }
      if (queue_.empty() && wait(std::min(deadline, finder_.next_look()))) return true;
    }
    complete_.seal();
    batch.position = position_.encode();
    return true;
  }

  bool live() const override { return true; }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return counter_->load(std::memory_order_relaxed); }

 private:
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
    if (starting_) {
      for (const FileKey& inside : complete_.keys_inside(path, info)) matched_.insert(inside);
    }
    if (grows && known == nullptr && info.st_size > 0 && !is_log(path, described)) grows = false;
    // A known log stays a log, whatever its name is now.
    if (grows || (known != nullptr && !described.in_parts())) {
      const absl::Status followed = logs_.follow(path);
      if (!followed.ok()) problem({path, 0, 0, std::string(std_sv(followed.message()))});
      return true;
    }
    if (growth != Growth::closed) {
      if (complete_.taken(hash, info)) return true;
      if (growth == Growth::unknown) return false;
    }
    if (queued_.insert(path).second) queue_.push_back({path, nullptr});
    last_queued_ = Clock::now();
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
    complete_.forget(hash);
    if (!for_good) return;
    seen_.erase(hash);
    seen_before_.erase(hash);
    complete_.forget_content(hash);
  }

  void all_found() override {
    logs_.look_at_paths();
    // Forgets files that the last search found and this one did not. Not while files are queued: a queued
    // file may be a forgotten one under a new name.
    if (queue_.empty() && problems_.empty()) {
      for (const uint64_t hash : seen_before_) {
        if (seen_.contains(hash)) continue;
        complete_.forget(hash);
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
      const FollowJob job = queue_.front();
      if (!(job.file != nullptr ? read_lines(job.file, batch) : take_complete(job, batch))) return;
    }
  }

  // Takes the front of the queue. Returns false if the file is too large for this batch.
  bool take_complete(const FollowJob& job, Batch& batch) {
    std::vector<FollowJob> next;
    if (job.inside != nullptr) {
      complete_.take_inside(*job.inside, next);
    } else if (complete_.take(job.path, batch, next)) {
      queued_.erase(job.path);
    } else {
      return false;
    }
    queue_.pop_front();
    queue_.insert(queue_.begin(), next.begin(), next.end());
    return true;
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

  // ---- pipes, and waiting

  absl::Status add_pipe(const std::string& path) {
    // Opened for writing, too, a named pipe does not end when its writer closes it.
    Fd fd(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.ok()) return io_error(path);
    auto file = lines_file(path, name_of_pipe(path, options_.judged_before));
    file->pipe = true;
    if (options_.layout == Layout::signed_records) file->kind = InputKind::signed_records;
    auto pipe = std::make_shared<FollowedFile>(std::move(file), path, std::move(fd), LineMark(), true);
    pipes_.push_back(pipe);
    enqueue(pipe);
    return absl::OkStatus();
  }

  // Returns whether the bell rang.
  bool wait(Clock::time_point until) {
    std::vector<pollfd> fds;
    fds.reserve(pipes_.size() + 2);
    for (const File& pipe : pipes_) fds.push_back({pipe->fd(), POLLIN, 0});
    if (finder_.fd() >= 0) fds.push_back({finder_.fd(), POLLIN, 0});
    fds.push_back({bell_, POLLIN, 0});  // poll() ignores -1
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<int64_t>(left, 0, kLongestWait.count())));
    for (size_t i = 0; i < pipes_.size(); ++i) {
      if (fds[i].revents != 0) enqueue(pipes_[i]);
    }
    eventfd_t rings = 0;
    return fds.back().revents != 0 && ::eventfd_read(bell_, &rings) == 0;
  }

  // Files of lines that an earlier run had begun and that were not found.
  std::vector<TailMark> lost() const {
    std::vector<TailMark> out;
    for (const auto& [key, tail] : position_.tails()) {
      if (!tail.mark.path.empty() && !logs_.knows(key) && !matched_.contains(key)) out.push_back(tail);
    }
    return out;
  }

  // The list of a directory may lack files that are renamed meanwhile. The system reports their new names;
  // where it does not, a second list may have them.
  void await_renamed() {
    const Clock::time_point deadline = Clock::now() + kLongestWait;
    for (finder_.notice(); !lost().empty() && Clock::now() < deadline; finder_.notice()) {
      pollfd changes{finder_.fd(), POLLIN, 0};
      ::poll(&changes, 1, static_cast<int>(kLongestWait.count()) / 5);
      if (finder_.polls()) finder_.find_all();
    }
  }

  void report_lost() {
    for (const TailMark& tail : lost()) {
      if (tail.mark.disk_length == 0) {
        problems_.push_back(make_problem(
            tail.mark.path, tail.mark.lines, tail.mark.offset,
            "the last run was interrupted here, and the file is gone or was replaced; its rest is not read"));
      }
      position_.forget_tail(FileKey(tail.mark.device, tail.mark.inode));
    }
  }

  const FilesSourceOptions options_;
  const int bell_;
  Finder finder_;
  FollowPosition position_;
  std::vector<Problem> problems_;
  FollowedLogs logs_;
  ByteCounter counter_ = std::make_shared<std::atomic<uint64_t>>(0);
  CompleteFiles complete_;
  bool starting_ = true;
  bool follows_ = false;  // there is more to follow than pipes
  std::deque<FollowJob> queue_;
  absl::flat_hash_set<std::string> queued_;  // paths of complete files in the queue
  Clock::time_point last_queued_ = Clock::now();
  std::vector<File> pipes_;
  absl::flat_hash_set<uint64_t> seen_, seen_before_;
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
