#include "state/restore.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "engine/settings.h"
#include "fmt/format.h"
#include "state/file.h"
#include "state/journal.h"
#include "state/scheme.h"
#include "state/state_view.h"

namespace doppel {

absl::Status load_rows_into(StateDir& state, Engine& engine, const ReportProgress& report) {
  constexpr uint64_t kReportEvery = 1 << 16;
  const Seq from = std::max(state.recovered().first_row, engine.first_to_restore());
  const uint64_t total = state.recovered().next_seq - from;
  uint64_t done = 0;
  report({"loading the snapshot", 0, total});
  absl::Status taken;
  RETURN_IF_ERROR(state.load_rows(
      [&](const StoredRow& row) {
        if (!taken.ok()) return;
        StoredRow numbered = row;
        numbered.seq += engine.originals().first_own();
        taken = engine.restore(numbered);
        if (row.seq >= from && ++done % kReportEvery == 0) report({"loading the snapshot", done, total});
      },
      from));
  return taken;
}

absl::Status restore_engine(StateDir& state, Engine& engine, int threads, const ReportProgress& report) {
  const Recovered& recovered = state.recovered();
  RETURN_IF_ERROR(engine.start_restore(recovered.first_row, recovered.lowest_live, recovered.clock));
  RETURN_IF_ERROR(load_rows_into(state, engine, report));
  engine.finish_restore(threads);
  return absl::OkStatus();
}

namespace {

constexpr uint64_t kPlaces = uint64_t{1} << 40;  // range of offsets of bodies

struct OneIndex {
  std::string directory;
  File lock;
  std::unique_ptr<StateView> view;
  uint64_t first_place = 0;  // where its bodies begin in the common range
};

// The bodies of the run, at their own offsets, and of the indexes, at the upper end of the range.
class AllBodies final : public Bodies {
 public:
  AllBodies(Bodies& own, const std::vector<OneIndex>& indexes) : own_(own), indexes_(indexes) {}

  absl::StatusOr<BodyRef> append(const Body& body) override {
    ASSIGN_OR_RETURN(const BodyRef ref, own_.append(body));
    if (ref.offset + ref.size > indexes_.front().first_place)
      return absl::ResourceExhaustedError("no place left for bodies beside those of against");
    return ref;
  }
  absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const override {
    if (ref.offset < indexes_.front().first_place) return own_.read(ref, buffer);
    const auto behind =
        std::upper_bound(indexes_.begin(), indexes_.end(), ref.offset,
                         [](uint64_t offset, const OneIndex& index) { return offset < index.first_place; });
    const OneIndex& index = *std::prev(behind);
    return index.view->bodies().read({.offset = ref.offset - index.first_place, .size = ref.size}, buffer);
  }
  absl::Status flush() override { return own_.flush(); }
  uint64_t bytes() const override { return own_.bytes(); }
  uint64_t reads() const override {
    return std::accumulate(
        indexes_.begin(), indexes_.end(), own_.reads(),
        [](uint64_t sum, const OneIndex& index) { return sum + index.view->bodies().reads(); });
  }

 private:
  Bodies& own_;
  const std::vector<OneIndex>& indexes_;
};

absl::Status refuse_other_settings(const OneIndex& index, const EngineOptions& engine) {
  const Identity& identity = index.view->identity();
  std::vector<std::string> differences = scheme_differences(identity.data_scheme, engine.scheme.describe());
  // Of the rule, only what stored rows and bodies depend on.
  const SchemeValues theirs = scheme_values(identity.rule);
  const std::string described = describe_rule(engine.rule);
  const SchemeValues ours = scheme_values(described);
  for (const std::string_view name : {"bands", "rows", "verify"}) {
    const auto was = theirs.find(name);
    if (was == theirs.end() || was->second == ours.at(name)) continue;
    differences.push_back(
        fmt::format("{}: the index was made with {}, now {}", name, was->second, ours.at(name)));
  }
  return refuse_differences(
      fmt::format("against: {}: this index was made with other settings; use those", index.directory),
      differences);
}

absl::StatusOr<OneIndex> open_one(const std::string& directory) {
  OneIndex out{.directory = directory};
  if (journal_paths(directory).empty())
    return invalid(fmt::format("against: {}: there is no index in it", directory));
  ASSIGN_OR_RETURN(out.lock, lock_to_read(directory));
  ASSIGN_OR_RETURN(out.view, StateView::open(directory));
  if (!out.view->damage().empty()) {
    const Damage& damage = out.view->damage().front();
    return absl::DataLossError(
        fmt::format("against: {}: damaged at {}: {}", damage.file, damage.offset, damage.what));
  }
  return out;
}

}  // namespace

struct Against::Impl {
  std::vector<OneIndex> indexes;
  std::unique_ptr<AllBodies> bodies;
  uint64_t originals = 0;
};

Against::Against(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Against::~Against() = default;

absl::StatusOr<std::unique_ptr<Against>> Against::open(const std::vector<std::string>& directories,
                                                       const std::string& own_directory,
                                                       EngineOptions& engine) {
  auto impl = std::make_unique<Impl>();
  if (directories.empty()) return std::unique_ptr<Against>(new Against(std::move(impl)));
  if (engine.rule.expire_after_ms != 0 || engine.rule.max_documents != 0) {
    return invalid(
        "against: not with expire_after, max_documents or max_memory: an index that is only read keeps what "
        "it has");
  }
  for (const std::string& directory : directories) {
    if (std::error_code none; std::filesystem::equivalent(directory, own_directory, none))
      return invalid(fmt::format("against: {}: that is the index itself", directory));
    ASSIGN_OR_RETURN(OneIndex index, open_one(directory));
    impl->indexes.push_back(std::move(index));
  }
  const std::optional<LastCommit> own = own_directory.empty() ? std::nullopt : last_commit(own_directory);
  take_banding(engine.rule, own ? own->rule : impl->indexes.front().view->identity().rule);
  uint64_t place = kPlaces;
  for (size_t i = impl->indexes.size(); i-- > 0;) {
    OneIndex& index = impl->indexes[i];
    RETURN_IF_ERROR(refuse_other_settings(index, engine));
    const CommitRecord& last = index.view->last();
    if (last.bodies_end > place) return absl::ResourceExhaustedError("against: more than 1 TB of bodies");
    place = index.first_place = place - last.bodies_end;
    impl->originals += last.next_seq - std::max(last.keep_from, last.lowest_live) -
                       static_cast<uint64_t>(std::count_if(last.removed.begin(), last.removed.end(),
                                                           [&](Seq seq) { return seq >= last.lowest_live; }));
  }
  return std::unique_ptr<Against>(new Against(std::move(impl)));
}

absl::StatusOr<std::optional<HashKey>> Against::hash_key(const std::vector<std::string>& directories) {
  std::error_code none;
  if (directories.empty() || !std::filesystem::exists(directories.front() + "/hash.key", none))
    return std::nullopt;
  return hash_key_of(directories.front(), nullptr);
}

uint64_t Against::originals() const { return impl_->originals; }

std::string Against::describe() const {
  std::string out;
  for (const OneIndex& index : impl_->indexes)
    out += (out.empty() ? "against=" : ",") + epoch_string(index.view->epoch());
  return out.empty() ? out : out + "\n";
}

Bodies& Against::bodies(Bodies& own) {
  if (impl_->indexes.empty()) return own;
  impl_->bodies = std::make_unique<AllBodies>(own, impl_->indexes);
  return *impl_->bodies;
}

// Call it before anything else is restored, after start_restore(0, 0, ...).
absl::Status Against::restore_into(Engine& engine) const {
  Seq next = 0;
  for (const OneIndex& index : impl_->indexes) {
    RETURN_IF_ERROR(index.view->live_rows([&](StoredRow& row) {
      row.seq = next++;
      row.row.id_tag = 0;
      if (row.row.body.size != 0) row.row.body.offset += index.first_place;
      return engine.restore(row);
    }));
  }
  engine.begin_own();
  return absl::OkStatus();
}

Commit own_commit(const Resolved& resolved, Seq first_own) {
  const auto stored = [first_own](Seq seq) { return seq < first_own ? 0 : seq - first_own; };
  Commit out{.rows = resolved.rows,
             .removed = resolved.removed_numbers(),
             .shown = resolved.shown(),
             .lowest_live = stored(resolved.lowest_live)};
  for (StoredRow& row : out.rows) row.seq = stored(row.seq);
  for (Seq& seq : out.removed) seq = stored(seq);
  for (Shown& shown : out.shown) shown.seq = stored(shown.seq);
  return out;
}

absl::Status restore_engine(const Against& against, StateDir* state, Engine& engine, int threads,
                            const ReportProgress& report) {
  const bool fresh = state == nullptr || state->recovered().fresh;
  if (against.impl_->indexes.empty())
    return fresh ? absl::OkStatus() : restore_engine(*state, engine, threads, report);
  if (!fresh && (state->recovered().first_row != 0 || state->recovered().lowest_live != 0)) {
    return absl::FailedPreconditionError(
        "against: not with an index from which originals have expired, or were removed to make room");
  }
  RETURN_IF_ERROR(engine.start_restore(0, 0, fresh ? "" : state->recovered().clock));
  RETURN_IF_ERROR(against.restore_into(engine));
  if (!fresh) RETURN_IF_ERROR(load_rows_into(*state, engine, report));
  engine.finish_restore(threads);
  return absl::OkStatus();
}

}  // namespace doppel
