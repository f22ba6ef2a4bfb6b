#include "state/segment_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/faults.h"
#include "base/status.h"
#include "index/segment_format.h"
#include "state/file.h"

namespace doppel {
namespace {

// So much is handed to the disk at once: a sync of many gigabytes would stop all other writes.
constexpr uint64_t kWriteBehind = uint64_t{64} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentFile>> SegmentFile::open(const std::string& path, bool direct) {
  ASSIGN_OR_RETURN(File file, File::open(path, O_RDONLY));
  (void)::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
  auto out = std::unique_ptr<SegmentFile>(new SegmentFile(std::move(file)));
  if (direct) {
    ASSIGN_OR_RETURN(out->pages_, File::open(path, O_RDONLY | O_DIRECT));
  }
  return out;
}

absl::Status SegmentFile::read_at(uint64_t offset, void* out, size_t bytes) const {
  RETURN_IF_ERROR(file_.read_at(offset, out, bytes));
  // Filters and merges read much, once.
  constexpr size_t kLarge = size_t{64} << 10;
  if (bytes >= kLarge) file_.forget(offset, offset + bytes);
  return absl::OkStatus();
}

void SegmentFile::discard() const { ::unlink(file_.path().c_str()); }

absl::Status SegmentFile::read_page_at(uint64_t offset, uint8_t* out) const {
  return (pages_.fd() < 0 ? file_ : pages_).read_at(offset, out, kSegmentPage);
}

absl::StatusOr<SegmentFileWriter> SegmentFileWriter::create(const std::string& path) {
  ASSIGN_OR_RETURN(File file, File::open(path + ".tmp", O_RDWR | O_CREAT | O_TRUNC));
  return SegmentFileWriter(std::move(file), path);
}

SegmentFileWriter::~SegmentFileWriter() {
  if (!finished_ && file_.fd() >= 0) ::unlink(file_.path().c_str());
}

absl::Status SegmentFileWriter::write_at(uint64_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(file_.write_at(offset, bytes));
  unsynced_ += bytes.size();
  if (unsynced_ < kWriteBehind) return absl::OkStatus();
  unsynced_ = 0;
  RETURN_IF_ERROR(file_.sync());
  file_.forget(0, 0);
  return absl::OkStatus();
}

absl::Status SegmentFileWriter::finish() {
  RETURN_IF_ERROR(file_.sync());
  file_.forget(0, 0);
  kill_point("segment_written");
  RETURN_IF_ERROR(file_.rename_to(path_));
  finished_ = true;
  const size_t slash = path_.rfind('/');
  RETURN_IF_ERROR(sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash)));
  kill_point("segment_renamed");
  return absl::OkStatus();
}

namespace {

absl::Status read_one(const PageRead& read) {
  return static_cast<const SegmentFile*>(read.source)->read_page_at(read.offset, read.out);
}

class ThreadedPageReader final : public PageReader {
 public:
  explicit ThreadedPageReader(int threads) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
  }
  ~ThreadedPageReader() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status read(std::span<const PageRead> reads) const override {
    if (reads.size() <= 1) return reads.empty() ? absl::OkStatus() : read_one(reads.front());
    Job job{.reads = reads, .status = {}};
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
    }
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    while (job.next < reads.size()) do_one(job, lock);
    done_.wait(lock, [&] { return job.done == reads.size(); });
    return job.status;
  }

 private:
  struct Job {
    std::span<const PageRead> reads;
    size_t next = 0, done = 0;
    absl::Status status;
  };

  // Takes the next read of a job. `lock` is held before and after.
  void do_one(Job& job, std::unique_lock<std::mutex>& lock) const {
    const PageRead& read = job.reads[job.next++];
    if (job.next == job.reads.size()) std::erase(jobs_, &job);
    lock.unlock();
    absl::Status status = read_one(read);
    lock.lock();
    if (!status.ok() && job.status.ok()) job.status = std::move(status);
    if (++job.done == job.reads.size()) done_.notify_all();
  }

  void work() const {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      do_one(*jobs_.front(), lock);
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_, done_;
  mutable std::deque<Job*> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<PageReader> threaded_page_reader(int threads) {
  return std::make_unique<ThreadedPageReader>(threads);
}

// io_uring by system calls, because liburing is one more dependency for three of them.

namespace {

constexpr uint32_t kDepth = 128;

class Ring {
 public:
  static std::unique_ptr<Ring> make() {
    auto ring = std::unique_ptr<Ring>(new Ring());
    return ring->set_up() ? std::move(ring) : nullptr;
  }
  ~Ring() {
    if (entries_ != MAP_FAILED) munmap(entries_, entries_bytes_);
    if (ring_ != MAP_FAILED) munmap(ring_, ring_bytes_);
    if (fd_ >= 0) ::close(fd_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  absl::Status read(std::span<const PageRead> reads) {
    absl::Status status;
    size_t begun = 0;
    size_t done = 0;
    while (done < reads.size()) {
      const auto submit =
          static_cast<uint32_t>(std::min<size_t>(reads.size() - begun, kDepth - (begun - done)));
      for (uint32_t i = 0; i < submit; ++i, ++begun) put(reads[begun], begun);
      uint32_t left = submit;
      do {
        const long n = ::syscall(__NR_io_uring_enter, fd_, left, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
        if (n < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) return io_error("io_uring_enter");
        if (n > 0) left -= static_cast<uint32_t>(n);
      } while (left > 0);
      done += take(reads, status);
    }
    return status;
  }

 private:
  Ring() = default;

  bool set_up() {
    io_uring_params params{};
    fd_ = static_cast<int>(::syscall(__NR_io_uring_setup, kDepth, &params));
    if (fd_ < 0 || (params.features & IORING_FEAT_SINGLE_MMAP) == 0) return false;
    ring_bytes_ = std::max<size_t>(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                                   params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    ring_ = mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                 IORING_OFF_SQ_RING);
    entries_bytes_ = params.sq_entries * sizeof(io_uring_sqe);
    entries_ = mmap(nullptr, entries_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                    IORING_OFF_SQES);
    if (ring_ == MAP_FAILED || entries_ == MAP_FAILED) return false;
    auto* base = static_cast<char*>(ring_);
    const auto word = [&](uint32_t offset) { return reinterpret_cast<uint32_t*>(base + offset); };
    sq_tail_ = word(params.sq_off.tail);
    sq_mask_ = *word(params.sq_off.ring_mask);
    sq_array_ = word(params.sq_off.array);
    cq_head_ = word(params.cq_off.head);
    cq_tail_ = word(params.cq_off.tail);
    cq_mask_ = *word(params.cq_off.ring_mask);
    cqes_ = reinterpret_cast<io_uring_cqe*>(base + params.cq_off.cqes);
    return true;
  }

  void put(const PageRead& read, uint64_t number) {
    const uint32_t tail = *sq_tail_;
    const uint32_t at = tail & sq_mask_;
    io_uring_sqe& entry = static_cast<io_uring_sqe*>(entries_)[at];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = IORING_OP_READ;
    entry.fd = static_cast<const SegmentFile*>(read.source)->page_fd();
    entry.addr = reinterpret_cast<uint64_t>(read.out);
    entry.len = kSegmentPage;
    entry.off = read.offset;
    entry.user_data = number;
    sq_array_[at] = at;
    std::atomic_ref(*sq_tail_).store(tail + 1, std::memory_order_release);
  }

  // Takes what has completed. A short read is repeated in a simpler way, which names the error.
  size_t take(std::span<const PageRead> reads, absl::Status& status) {
    uint32_t head = *cq_head_;
    const uint32_t tail = std::atomic_ref(*cq_tail_).load(std::memory_order_acquire);
    size_t n = 0;
    for (; head != tail; ++head, ++n) {
      const io_uring_cqe& completed = cqes_[head & cq_mask_];
      if (completed.res == static_cast<int>(kSegmentPage)) continue;
      const PageRead& read = reads[completed.user_data];
      absl::Status again = read.source->read_at(read.offset, read.out, kSegmentPage);
      if (!again.ok() && status.ok()) status = std::move(again);
    }
    std::atomic_ref(*cq_head_).store(head, std::memory_order_release);
    return n;
  }

  int fd_ = -1;
  void* ring_ = MAP_FAILED;
  void* entries_ = MAP_FAILED;
  size_t ring_bytes_ = 0, entries_bytes_ = 0;
  uint32_t* sq_tail_ = nullptr;
  uint32_t* sq_array_ = nullptr;
  uint32_t* cq_head_ = nullptr;
  uint32_t* cq_tail_ = nullptr;
  uint32_t sq_mask_ = 0, cq_mask_ = 0;
  io_uring_cqe* cqes_ = nullptr;
};

// A ring belongs to one call at a time.
class RingPageReader final : public PageReader {
 public:
  explicit RingPageReader(std::unique_ptr<Ring> first) { free_.push_back(std::move(first)); }

  absl::Status read(std::span<const PageRead> reads) const override {
    std::unique_ptr<Ring> ring = take();
    if (ring == nullptr) return PageReader::read(reads);
    absl::Status status = ring->read(reads);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(ring));
    return status;
  }

 private:
  std::unique_ptr<Ring> take() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return Ring::make();
    std::unique_ptr<Ring> ring = std::move(free_.back());
    free_.pop_back();
    return ring;
  }
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Ring>> free_;
};

}  // namespace

std::unique_ptr<PageReader> ring_page_reader() {
  std::unique_ptr<Ring> ring = Ring::make();
  return ring == nullptr ? nullptr : std::make_unique<RingPageReader>(std::move(ring));
}

namespace {

namespace fs = std::filesystem;

// Threads that wait for pages if the system has no io_uring.
constexpr int kReaders = 16;

std::optional<SegmentName> parse_name(const std::string& name) {
  SegmentName out;
  char* end = nullptr;
  out.first = std::strtoull(name.c_str(), &end, 10);
  if (end == name.c_str() || *end != '-') return std::nullopt;
  const char* second = end + 1;
  out.end = std::strtoull(second, &end, 10);
  if (end == second || *end != '\0' || out.end <= out.first) return std::nullopt;
  return out;
}

class Writing final : public SegmentBeingWritten {
 public:
  explicit Writing(SegmentFileWriter file) : file_(std::move(file)) {}
  absl::Status write_at(uint64_t offset, std::string_view bytes) override {
    return file_.write_at(offset, bytes);
  }
  absl::Status finish() override { return file_.finish(); }

 private:
  SegmentFileWriter file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentDirectory>> SegmentDirectory::open(const std::string& path, Seq end) {
  std::error_code error;
  RETURN_IF_ERROR(make_directories(path));
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::optional<SegmentName> segment = parse_name(entry.path().filename().string());
    const bool newer = segment && segment->end > end && !mutated(Mutation::newer_segments_stay);
    if (!segment || newer) fs::remove(entry.path(), error);
  }
  return std::unique_ptr<SegmentDirectory>(new SegmentDirectory(path, false));
}

absl::StatusOr<std::unique_ptr<SegmentDirectory>> SegmentDirectory::temporary(const std::string& place) {
  std::string path = join(temporary_place(place), "doppel-segments-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return io_error(fmt::format("{}: cannot create", path));
  return std::unique_ptr<SegmentDirectory>(new SegmentDirectory(path, true));
}

void SegmentDirectory::remove_others(const std::string& state_directory,
                                     const std::vector<std::string>& except) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(state_directory, error)) {
    const std::string found = entry.path().filename().string();
    if (found.starts_with(kFolder) && std::find(except.begin(), except.end(), found) == except.end())
      fs::remove_all(entry.path(), error);
  }
}

uint64_t SegmentDirectory::bytes_of(const std::string& state_directory) {
  std::error_code error;
  uint64_t bytes = 0;
  for (const fs::directory_entry& folder : fs::directory_iterator(state_directory, error)) {
    if (!folder.path().filename().string().starts_with(kFolder)) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path(), error)) {
      const uint64_t size = file.file_size(error);
      if (!error) bytes += size;  // it may just have been removed
    }
  }
  return bytes;
}

SegmentDirectory::SegmentDirectory(std::string path, bool temporary)
    : path_(std::move(path)), temporary_(temporary), reader_(ring_page_reader()) {
  if (reader_ == nullptr) reader_ = threaded_page_reader(kReaders);
}

SegmentDirectory::~SegmentDirectory() {
  std::error_code none;
  if (temporary_) fs::remove_all(path_, none);
}

std::string SegmentDirectory::path_of(const SegmentName& name) const {
  return join(path_, fmt::format("{}-{}", name.first, name.end));
}

std::vector<SegmentName> SegmentDirectory::list() const {
  std::vector<SegmentName> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    if (const auto name = parse_name(entry.path().filename().string())) out.push_back(*name);
  }
  return out;
}

absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> SegmentDirectory::create(const SegmentName& name) {
  ASSIGN_OR_RETURN(SegmentFileWriter file, SegmentFileWriter::create(path_of(name)));
  return std::make_unique<Writing>(std::move(file));
}

absl::StatusOr<std::unique_ptr<SegmentSource>> SegmentDirectory::open(const SegmentName& name) {
  return SegmentFile::open(path_of(name), false);
}

void SegmentDirectory::remove(const SegmentName& name) { ::unlink(path_of(name).c_str()); }

namespace {

// How many originals of each share stay in memory.
uint64_t young_of_each(const SegmentSettings& o, const EngineOptions& engine, size_t shares) {
  const double half = static_cast<double>(o.memory) / 2;
  const double original_bytes = bytes_each(index_options(engine)).sum() * static_cast<double>(shares);
  return std::max<uint64_t>(2, static_cast<uint64_t>(half / original_bytes));
}

std::vector<std::string> folders_of(const std::string& epoch, size_t shares) {
  std::vector<std::string> out;
  for (size_t share = 0; share < shares; ++share) {
    const std::string which = shares == 1 ? "" : fmt::format("-{}of{}", share, shares);
    out.push_back(fmt::format("{}{}{}", SegmentDirectory::kFolder, epoch, which));
  }
  return out;
}

}  // namespace

absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& o, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on) {
  engine.segments.clear();
  const std::vector<ShardSet> shares = o.memory == 0 ? std::vector<ShardSet>() : shares_of(engine);
  std::vector<std::string> folders;
  if (state != nullptr) {
    folders = folders_of(state->recovered().epoch, shares.size());
    SegmentDirectory::remove_others(o.directory, folders);
  }
  SegmentStores stores;
  for (size_t share = 0; share < shares.size(); ++share) {
    std::unique_ptr<SegmentStore> store;
    if (state == nullptr) {
      ASSIGN_OR_RETURN(store, SegmentDirectory::temporary(o.temporary_directory));
    } else {
      // Which numbers originals have depends on the indexes that are only read, so nothing remains of those.
      const Seq end = !o.after_others ? shares[share].local(state->recovered().next_seq) : 0;
      ASSIGN_OR_RETURN(store, SegmentDirectory::open(join(o.directory, folders[share]), end));
    }
    engine.segments.push_back(
        {.store = store.get(), .young = young_of_each(o, engine, shares.size()), .merge_on = merge_on});
    stores.push_back(std::move(store));
  }
  for (const SegmentOptions& segments : engine.segments)
    engine.initial_capacity = std::min(engine.initial_capacity, segments.young * shares.size());
  return stores;
}

}  // namespace doppel
