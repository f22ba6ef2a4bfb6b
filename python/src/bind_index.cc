// Binds MemoryIndex as doppel_dedup._core.Index. Calls release the GIL and run one at a time, in one
// process.
#include <unistd.h>

#include <mutex>

#include "bind.h"
#include "columns.h"
#include "errors.h"
#include "fmt/format.h"
#include "memory_index.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "watch.h"

namespace doppel::python {
namespace {

RepeatedIds repeated_ids_of(const std::string& name) {
  if (name.empty()) return RepeatedIds::stored;
  if (name == "error") return RepeatedIds::refuse;
  if (name == "allow") return RepeatedIds::allow;
  if (name == "replace") return RepeatedIds::replace;
  throw nb::value_error(
      fmt::format("repeated_ids: \"{}\" is not one of error, allow, replace", name).c_str());
}

class BoundIndex {
 public:
  BoundIndex(const std::string& config_file, std::vector<std::pair<std::string, std::string>> sets,
             const std::string& hash_key, const std::string& repeated_ids)
      : last_(std::make_shared<const Verdicts>()) {
    IndexSettings settings{.config_file = config_file,
                           .sets = std::move(sets),
                           .hash_key = hash_key,
                           .repeated_ids = repeated_ids_of(repeated_ids)};
    absl::StatusOr<std::unique_ptr<MemoryIndex>> index;
    {
      const nb::gil_scoped_release release;
      index = MemoryIndex::open(settings);
    }
    index_ = value_or_raise(std::move(index));
  }
  BoundIndex(const BoundIndex&) = delete;
  BoundIndex& operator=(const BoundIndex&) = delete;
  ~BoundIndex() {
    // A child of fork() must not touch the files that it shares with its parent.
    if (::getpid() != process_) (void)index_.release();
  }

  Columns add(nb::handle texts, nb::handle ids, nb::handle dates, nb::handle progress) {
    return judge(texts, ids, dates, progress,
                 [](MemoryIndex& index, auto&&... given) { return index.add(given...); });
  }

  Columns add_table(nb::handle texts, nb::handle ids, nb::handle progress) {
    return judge(texts, ids, nb::none(), progress,
                 [](MemoryIndex& index, auto&&... given) { return index.add_table(given...); });
  }

  // Returns (number of the pass, first rows of the files, messages, None or (file, first row, verdicts)).
  nb::tuple begin_files(const std::vector<std::string>& paths, bool resume) {
    PassBegun begun;
    call(false, [&](MemoryIndex& index) {
      absl::StatusOr<PassBegun> result = index.begin_files(paths, resume);
      if (result.ok()) begun = *std::move(result);
      return result.status();
    });
    nb::object handed = nb::none();
    if (begun.handed) {
      handed = nb::make_tuple(begun.handed_file, begun.handed->first_row,
                              Columns{std::make_shared<Verdicts>(std::move(begun.handed->verdicts))});
    }
    return nb::make_tuple(begun.pass, begun.first_rows, begun.problems, handed);
  }
  void begin_file(uint64_t pass, size_t file) {
    call(false, [&](MemoryIndex& index) { return index.begin_file(pass, file); });
  }
  Columns add_rows(uint64_t pass, uint64_t first_row, nb::handle texts, nb::handle ids, nb::handle progress) {
    return judge(texts, ids, nb::none(), progress, [&](MemoryIndex& index, auto&&... given) {
      return index.add_rows(pass, first_row, given...);
    });
  }
  void end_file(uint64_t pass) {
    call(true, [&](MemoryIndex& index) { return index.end_file(pass); });
  }
  void end_files(uint64_t pass) {
    call(true, [&](MemoryIndex& index) { return index.end_files(pass); });
  }

  Columns add_signed(nb::handle records, nb::handle progress) {
    const TextColumn record = text_column(records, "records");
    auto verdicts = std::make_shared<Verdicts>();
    Watch watch(progress);
    call(true, [&](MemoryIndex& index) {
      last_ = verdicts;
      return index.add_signed(record.values, [&](uint64_t done) { return watch.go_on(done); }, *verdicts);
    });
    watch.finish(verdicts->size());
    return {verdicts};
  }

  // Returns (records, next number or None).
  nb::tuple originals(uint64_t from, size_t most) {
    auto records = std::make_shared<TextBuffer>();
    std::optional<Seq> next;
    call(false, [&](MemoryIndex& index) {
      auto result = index.originals(from, most, *records);
      if (result.ok()) next = *result;
      return result.status();
    });
    return nb::make_tuple(Records{std::move(records)}, next ? nb::object(nb::int_(*next)) : nb::none());
  }

  Columns query(nb::handle texts, nb::handle progress) {
    const TextColumn text = text_column(texts, "texts");
    auto verdicts = std::make_shared<Verdicts>();
    Watch watch(progress);
    call(false, [&](MemoryIndex& index) {
      return index.query(text.values, [&](uint64_t done) { return watch.go_on(done); }, *verdicts);
    });
    watch.finish(verdicts->size());
    return {verdicts};
  }

  // For each text a list of (id, similarity).
  nb::list nearest(nb::handle texts, size_t most, nb::handle progress) {
    const TextColumn text = text_column(texts, "texts");
    std::vector<std::vector<MemoryIndex::Near>> found;
    Watch watch(progress);
    call(false, [&](MemoryIndex& index) {
      return index.nearest(text.values, most, [&](uint64_t done) { return watch.go_on(done); }, found);
    });
    watch.finish(found.size());
    nb::list out;
    for (const auto& originals : found) {
      nb::list of_one;
      for (const auto& [id, similarity] : originals) of_one.append(nb::make_tuple(id, similarity));
      out.append(std::move(of_one));
    }
    return out;
  }

  uint64_t remove(nb::handle ids) {
    const TextColumn id = id_column(ids, "ids");
    uint64_t removed = 0;
    call(true, [&](MemoryIndex& index) {
      absl::StatusOr<uint64_t> result = index.remove(id.values);
      if (result.ok()) removed = *result;
      return result.status();
    });
    return removed;
  }

  bool contains(nb::handle id) {
    if (id.is_none()) throw nb::type_error("id: None; give str, bytes or a whole number");
    nb::list one;
    one.append(id);
    const TextColumn ids = id_column(one, "id");
    bool found = false;
    call(false, [&](MemoryIndex& index) {
      absl::StatusOr<bool> result = index.contains(ids.values[0]);
      if (result.ok()) found = *result;
      return result.status();
    });
    return found;
  }

  template <typename T>
  T ask(T (MemoryIndex::*question)() const) {
    T answer{};
    call(false, [&](MemoryIndex& index) {
      answer = (index.*question)();
      return absl::OkStatus();
    });
    return answer;
  }
  uint64_t size() { return ask(&MemoryIndex::size); }
  uint64_t documents() { return ask(&MemoryIndex::documents); }
  uint64_t memory_bytes() { return ask(&MemoryIndex::memory_bytes); }
  uint64_t disk_bytes() { return ask(&MemoryIndex::disk_bytes); }

  std::string hash_key() {
    std::string out;
    call(false, [&](MemoryIndex& index) {
      const HashKey& key = index.hash_key();
      out = fmt::format("{:016x}{:016x}", key.high, key.low);
      return absl::OkStatus();
    });
    return out;
  }

  std::vector<std::pair<std::string, std::string>> settings() {
    std::vector<std::pair<std::string, std::string>> out;
    call(false, [&](MemoryIndex& index) {
      out = index.settings();
      return absl::OkStatus();
    });
    return out;
  }

  std::vector<std::string> notes() {
    std::vector<std::string> out;
    call(false, [&](MemoryIndex& index) {
      out = index.notes();
      return absl::OkStatus();
    });
    return out;
  }

  void checkpoint() {
    call(true, [](MemoryIndex& index) { return index.checkpoint(); });
  }

  // May be called twice.
  void close() {
    if (::getpid() != process_) return;
    absl::Status status;
    {
      const nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      if (index_ != nullptr && failed_.empty()) status = index_->checkpoint();
      index_.reset();
    }
    raise_if_error(status);
  }

  Columns last() {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return {last_};
  }

 private:
  template <typename Add>
  Columns judge(nb::handle texts, nb::handle ids, nb::handle dates, nb::handle progress, const Add& add) {
    const TextColumn text = text_column(texts, "texts");
    TextColumn id;
    std::vector<int64_t> times;
    if (!ids.is_none()) id = id_column(ids, "ids");
    if (!dates.is_none()) times = time_column(dates, "dates");
    check_lengths(text.values.size(), ids.is_none() ? nullptr : &id, dates.is_none() ? nullptr : &times);
    auto verdicts = std::make_shared<Verdicts>();
    Watch watch(progress);
    call(true, [&](MemoryIndex& index) {
      last_ = verdicts;
      return add(
          index, Given{text.values, id.values, times}, [&](uint64_t done) { return watch.go_on(done); },
          *verdicts);
    });
    watch.finish(verdicts->size());
    return {verdicts};
  }

  // `changes`: an error leaves the index unusable.
  template <typename Work>
  void call(bool changes, const Work& work) {
    if (::getpid() != process_) {
      raise_if_error(
          absl::FailedPreconditionError(fmt::format("the index was opened by process {}, and this is its "
                                                    "child {}; open one in the process that uses it",
                                                    process_, ::getpid())));
    }
    absl::Status status;
    {
      const nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      if (index_ == nullptr) {
        status = absl::InvalidArgumentError("the index is closed");
      } else if (!failed_.empty()) {
        status = absl::InternalError(
            fmt::format("the index failed before: {}; close it and open it again", failed_));
      } else {
        status = work(*index_);
        if (changes && !status.ok() && !absl::IsInvalidArgument(status))
          failed_ = std::string(status.message());
      }
    }
    raise_if_error(status);
  }

  const pid_t process_ = ::getpid();
  std::mutex mutex_;  // locked only without the GIL
  std::unique_ptr<MemoryIndex> index_;
  std::string failed_;
  std::shared_ptr<const Verdicts> last_;
};

}  // namespace

void bind_index(nb::module_& m) {
  nb::class_<BoundIndex>(m, "Index", "See doppel_dedup.Index.")
      .def(nb::init<const std::string&, std::vector<std::pair<std::string, std::string>>, const std::string&,
                    const std::string&>(),
           nb::arg("config_file"), nb::arg("sets"), nb::arg("hash_key"), nb::arg("repeated_ids"))
      .def("add", &BoundIndex::add, nb::arg("texts").none(), nb::arg("ids").none(), nb::arg("dates").none(),
           nb::arg("progress").none())
      .def("add_table", &BoundIndex::add_table, nb::arg("texts").none(), nb::arg("ids").none(),
           nb::arg("progress").none())
      .def("begin_files", &BoundIndex::begin_files, nb::arg("paths"), nb::arg("resume"))
      .def("begin_file", &BoundIndex::begin_file, nb::arg("pass_"), nb::arg("file"))
      .def("add_rows", &BoundIndex::add_rows, nb::arg("pass_"), nb::arg("first_row"), nb::arg("texts").none(),
           nb::arg("ids").none(), nb::arg("progress").none())
      .def("end_file", &BoundIndex::end_file, nb::arg("pass_"))
      .def("end_files", &BoundIndex::end_files, nb::arg("pass_"))
      .def("add_signed", &BoundIndex::add_signed, nb::arg("records").none(), nb::arg("progress").none())
      .def("originals", &BoundIndex::originals, nb::arg("from_"), nb::arg("most"))
      .def("query", &BoundIndex::query, nb::arg("texts").none(), nb::arg("progress").none())
      .def("nearest", &BoundIndex::nearest, nb::arg("texts").none(), nb::arg("most"),
           nb::arg("progress").none())
      .def("remove", &BoundIndex::remove, nb::arg("ids").none())
      .def("contains", &BoundIndex::contains, nb::arg("id").none())
      .def("checkpoint", &BoundIndex::checkpoint)
      .def("close", &BoundIndex::close)
      .def("last", &BoundIndex::last)
      .def("hash_key", &BoundIndex::hash_key)
      .def("settings", &BoundIndex::settings)
      .def("notes", &BoundIndex::notes)
      .def_prop_ro("size", &BoundIndex::size)
      .def_prop_ro("documents", &BoundIndex::documents)
      .def_prop_ro("memory_bytes", &BoundIndex::memory_bytes)
      .def_prop_ro("disk_bytes", &BoundIndex::disk_bytes);
}

}  // namespace doppel::python
