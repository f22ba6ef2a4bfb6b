// Commits and checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/kill_point.h"
#include "base/mutation.h"
#include "base/status.h"
#include "state/state_dir_impl.h"

namespace doppel {
namespace {

constexpr uint64_t kJournalBytesMax = 64 << 20;  // of commits; then a checkpoint is due

// Sorts by number, and keeps the last copy of each cluster.
std::vector<Shown> tidy(const std::vector<Shown>& all) {
  absl::btree_map<Seq, const std::string*> last;
  for (const Shown& each : all) last[each.seq] = &each.copy;
  std::vector<Shown> out;
  out.reserve(last.size());
  for (const auto& [seq, copy] : last) out.push_back({seq, *copy});
  return out;
}

}  // namespace

// Checks the invariants of a commit, because each later start would trust a wrong one.
void StateDir::Impl::check(const Commit& commit) const {
  Seq next = state.next_seq;
  uint64_t body_end = last_body_end;
  for (const StoredRow& stored : commit.rows) {
    DOPPEL_CHECK(stored.seq == next, "the numbers of committed rows ascend without gaps", stored.seq, next);
    ++next;
    const BodyRef body = stored.row.body;
    if (body.size == 0) continue;
    DOPPEL_CHECK(body.offset >= body_end && body.offset + body.size <= bodies->bytes(),
                 "bodies have the order of their rows, within what was appended", stored.seq, body.offset,
                 body.size, body_end, bodies->bytes());
    body_end = body.offset + body.size;
  }
  DOPPEL_CHECK(commit.lowest_live >= state.lowest_live && commit.lowest_live <= next,
               "the lowest live number never goes back and is at most the next number", commit.lowest_live,
               state.lowest_live, next);
  DOPPEL_CHECK(commit.keep_from.value_or(0) <= commit.lowest_live, "rows that live are kept",
               commit.keep_from.value_or(0), commit.lowest_live);
  for (const Seq seq : commit.removed)
    DOPPEL_CHECK(seq < next, "what a commit removes was stored", seq, next);
  for (const Shown& each : commit.shown)
    DOPPEL_CHECK(each.seq < next, "the original of a better copy was stored", each.seq, next);
  DOPPEL_CHECK(commit.documents >= state.documents, "the count of judged documents never goes back",
               commit.documents, state.documents);
}

absl::Status StateDir::Impl::commit(const Commit& commit) {
  check(commit);
  if (!journal.takes_commits()) RETURN_IF_ERROR(checkpoint());
  CommitRecord next{.commits = state.commits + 1,
                    .next_seq = state.next_seq + commit.rows.size(),
                    .lowest_live = commit.lowest_live,
                    .keep_from = std::max(state.keep_from, commit.keep_from.value_or(commit.lowest_live)),
                    .documents = commit.documents,
                    .made_ms = Clock::unix_ms(),
                    .source_position = commit.source_position,
                    .sink_position = commit.sink_position,
                    .clock = commit.clock,
                    .removed = commit.removed};
  rows.clear();
  for (const StoredRow& stored : commit.rows) {
    format->append(stored, rows);
    if (stored.removed) next.removed.push_back(stored.seq);
    if (stored.row.body.size != 0) last_body_end = stored.row.body.offset + stored.row.body.size;
  }
  tidy(next.removed, next.keep_from);
  next.shown = tidy(commit.shown);
  std::erase_if(next.shown, [&](const Shown& each) { return removed.contains(each.seq); });

  RETURN_IF_ERROR(bodies->flush());
  next.bodies_end = bodies->bytes();
  next.bodies_crc = bodies->take_crc();
  kill_point("after_bodies");
  RETURN_IF_ERROR(hot.write_at(format->offset(state.next_seq), rows));
  kill_point("after_rows");
  next.hot_crc = crc32c(rows);
  DOPPEL_CHECK(rows.size() == commit.rows.size() * format->row_bytes(), "all rows have one length",
               rows.size(), commit.rows.size(), format->row_bytes());
  // A start would discard a record that does not follow the previous one, and everything behind it.
  DOPPEL_CHECK(follows(state, next), "a commit follows the one before", state.commits, next.commits,
               state.next_seq, next.next_seq, state.bodies_end, next.bodies_end, state.lowest_live,
               next.lowest_live, state.keep_from, next.keep_from);
  const bool each = options.fsync == Fsync::commit;
  if (each) RETURN_IF_ERROR(sync_columns());
  std::string record = encode_commit(next, state.source_position);
  RETURN_IF_ERROR(journal.append(record));
  kill_point("after_commit");
  if (each) RETURN_IF_ERROR(journal.sync());

  std::vector<Seq> before = std::move(state.removed);
  removed.insert(next.removed.begin(), next.removed.end());
  if (pending) pending->since.push_back(std::move(record));
  before.insert(before.end(), next.removed.begin(), next.removed.end());
  apply_shown(next);
  state = std::move(next);
  state.removed = std::move(before);
  state.shown.clear();
  if (pending) {
    const bool ready = pending->synced.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
    // Wait if there are too many commits since, rather than keeping them all in memory.
    if (!ready && journal.commit_bytes() <= 4 * kJournalBytesMax) return absl::OkStatus();
    absl::Status status = finish_checkpoint();
    checkpoints.failed += status.ok() ? 0 : 1;
    return status;
  }
  if (!checkpoint_is_due()) return absl::OkStatus();
  if (!durable()) return checkpoint();
  start_checkpoint();
  return absl::OkStatus();
}

// A cluster ends with its original.
void StateDir::Impl::apply_shown(const CommitRecord& record) {
  for (const Shown& each : record.shown) shown[each.seq] = each.copy;
  for (const Seq seq : record.removed) shown.erase(seq);
  shown.erase(shown.begin(), shown.lower_bound(record.keep_from));
}

CommitRecord StateDir::Impl::whole_state() const {
  CommitRecord out = state;
  out.shown.reserve(shown.size());
  for (const auto& [seq, copy] : shown) out.shown.push_back({seq, copy});
  return out;
}

bool StateDir::Impl::checkpoint_is_due() const {
  const bool late =
      options.checkpoint_interval_ms > 0 &&
      Clock::now() - checkpoint_time >= std::chrono::milliseconds(options.checkpoint_interval_ms);
  return late || state.next_seq - checkpoint_seq >= options.checkpoint_documents ||
         journal.commit_bytes() > kJournalBytesMax;
}

absl::Status StateDir::Impl::sync_columns() {
  if (mutated(Mutation::columns_are_not_synced)) return absl::OkStatus();
  RETURN_IF_ERROR(bodies->file().sync());
  return hot.sync();
}

// Syncs the columns in the background. This takes time for the rows and bodies that came since the last
// checkpoint.
void StateDir::Impl::start_checkpoint() {
  tidy(state.removed, state.keep_from);
  pending.emplace();
  pending->record = whole_state();
  pending->start = Clock::now();
  pending->synced = std::async(options.sync_on, [this] { return sync_columns(); });
}

absl::Status StateDir::Impl::finish_checkpoint() {
  Pending done = *std::exchange(pending, std::nullopt);
  RETURN_IF_ERROR(done.synced.get());
  if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
  return begin_journal(std::move(done.record), done.since, done.start);
}

absl::Status StateDir::Impl::begin_journal(CommitRecord checkpoint, const std::vector<std::string>& since,
                                           Clock::time_point start) {
  // A checkpoint without new commits would only displace an older one.
  const bool news = checkpoint.commits != checkpoint_commits;
  DOPPEL_CHECK(checkpoint.commits >= checkpoint_commits && checkpoint.next_seq >= checkpoint_seq,
               "a checkpoint is never older than the one before", checkpoint.commits, checkpoint_commits,
               checkpoint.next_seq, checkpoint_seq);
  DOPPEL_CHECK(checkpoint.commits + since.size() == state.commits,
               "a checkpoint and the commits since are all commits", checkpoint.commits, since.size(),
               state.commits);
  const int kept = news ? std::max(1, options.snapshots) - 1 : static_cast<int>(kept_from.size());
  checkpoint.hot_crc = checkpoint.bodies_crc = 0;
  checkpoint.made_ms = Clock::unix_ms();
  if (news || kept_from.empty()) {
    kept_from.insert(kept_from.begin(), checkpoint.keep_from);
    kept_from.resize(std::min(kept_from.size(), static_cast<size_t>(kept) + 1));
  }
  ASSIGN_OR_RETURN(journal, JournalWriter::begin(options.directory, epoch, identity, checkpoint, since,
                                                 news ? kept : -1, durable()));
  checkpoint_seq = checkpoint.next_seq;
  checkpoint_commits = checkpoint.commits;
  checkpoint_time = Clock::now();
  ++checkpoints.made;
  checkpoints.last_ms = checkpoint.made_ms;
  checkpoints.last_s = std::chrono::duration<double>(checkpoint_time - start).count();
  give_back();
  return absl::OkStatus();
}

absl::Status StateDir::Impl::checkpoint() {
  if (pending) {
    const bool whole = pending->since.empty();
    RETURN_IF_ERROR(finish_checkpoint());
    if (whole) return absl::OkStatus();
  }
  const Clock::time_point start = Clock::now();
  if (durable()) {
    if (options.sync_outputs) RETURN_IF_ERROR(options.sync_outputs());
    RETURN_IF_ERROR(sync_columns());
  }
  tidy(state.removed, state.keep_from);
  return begin_journal(whole_state(), {}, start);
}

// Frees the space of rows that no kept checkpoint needs. Best effort: if it fails, the files are only
// larger than necessary.
void StateDir::Impl::give_back() {
  const Seq lowest = *std::min_element(kept_from.begin(), kept_from.end());
  if (lowest <= punched) return;
  DOPPEL_CHECK(lowest <= state.keep_from && lowest <= state.next_seq,
               "the space of rows that are kept is not given back", lowest, state.keep_from, state.next_seq);
  hot.punch(kFileHeaderBytes, format->offset(lowest));
  punched = lowest;
  if (lowest == state.next_seq) {
    bodies->give_back_below(state.bodies_end);
    return;
  }
  // Bodies are in the order of rows, so the next row with a body tells where to stop.
  PodVector<char> bytes(format->row_bytes());
  for (Seq seq = lowest; seq < std::min(lowest + 1000, state.next_seq); ++seq) {
    StoredRow stored;
    if (!hot.read_at(format->offset(seq), bytes.data(), bytes.size()).ok() ||
        !format->decode(seq, bytes.data(), stored)) {
      return;
    }
    if (stored.row.body.size == 0) continue;
    bodies->give_back_below(stored.row.body.offset);
    return;
  }
}

}  // namespace doppel
