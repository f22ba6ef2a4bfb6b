#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/executor.h"
#include "base/status.h"
#include "engine/settings.h"
#include "records/metadata.h"
#include "session/same_document.h"
#include "state/index_log.h"
#include "state/state_view.h"

namespace doppel {
namespace {

absl::Status check_is_no_kafka_index(const Recovered& recovered, const std::string& directory) {
  if (!kafka::is_kafka_position(recovered.source_position)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: the snapshot of an index on Kafka, which follows its log and nothing else; copy it "
                  "with doppel rebuild --from log, or use another directory",
                  directory));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::open(SessionOptions o) {
  std::unique_ptr<Session> session(new Session);
  EngineOptions& engine = o.engine;
  const std::string& directory = o.state.directory;
  ASSIGN_OR_RETURN(session->against_, Against::open(o.against, directory, engine));
  if (!directory.empty()) {
    if (const std::optional<LastCommit> last = last_commit(directory)) take_banding(engine.rule, last->rule);
    o.state.data_scheme = engine.scheme.describe();
    o.state.rule = describe_rule(engine.rule) + session->against_->describe();
    o.state.num_perm = engine.scheme.num_perm;
    o.state.mask_words = engine.rule.banding.mask_words();
    ASSIGN_OR_RETURN(session->state_, StateDir::open(o.state, o.supports));
    session->recovered_ = session->state_->recovered();
    RETURN_IF_ERROR(check_is_no_kafka_index(session->recovered_, directory));
    take_room(engine.rule, session->recovered_.rule);
    RETURN_IF_ERROR(o.check(session->recovered_));
  } else if (o.temporary_directory) {
    ASSIGN_OR_RETURN(session->temporary_, temporary_bodies(*o.temporary_directory));
  } else {
    session->temporary_ = memory_bodies();
    session->bodies_in_memory_ = true;
  }
  const Recovered& recovered = session->recovered_;
  session->documents_ = recovered.documents;
  session->source_position_ = recovered.source_position;
  session->sink_position_ = recovered.sink_position;
  engine.initial_capacity =
      std::max<uint64_t>(1024, session->from_others() + recovered.next_seq - recovered.first_row);
  ASSIGN_OR_RETURN(session->segments_,
                   open_segments({.memory = o.memory,
                                  .directory = directory,
                                  .temporary_directory = o.temporary_directory.value_or(""),
                                  .after_others = !o.against.empty()},
                                 session->state_.get(), engine));
  session->bodies_ = &session->against_->bodies(session->own_bodies());
  session->engine_ = std::make_unique<Engine>(engine, *session->bodies_);
  RETURN_IF_ERROR(restore_engine(*session->against_, session->state_.get(), *session->engine_,
                                 all_if_zero(o.threads), o.report));
  return session;
}

absl::Status Session::commit(const Resolved& resolved, uint64_t documents,
                             std::optional<std::string> source_position,
                             std::optional<std::string> sink_position, std::optional<Seq> keep_from) {
  documents_ += documents;
  if (state_ == nullptr) return absl::OkStatus();
  if (source_position) source_position_ = *std::move(source_position);
  if (sink_position) sink_position_ = *std::move(sink_position);
  const Seq first = engine_->originals().first_own();
  Commit commit = own_commit(resolved, first);
  commit.source_position = source_position_;
  commit.sink_position = sink_position_;
  commit.clock = engine_->clock();
  commit.documents = documents_;
  if (keep_from) commit.keep_from = std::max(*keep_from, first) - first;
  return state_->commit(commit);
}

absl::Status Session::commit_outputs(std::string sink_position, std::optional<Seq> keep_from) {
  Resolved nothing;
  nothing.lowest_live = engine_->originals().lowest_live();
  return commit(nothing, 0, std::nullopt, std::move(sink_position), keep_from);
}

uint64_t Session::memory_bytes() const {
  return engine_->originals().stats().memory_bytes() + (bodies_in_memory_ ? temporary_->bytes() : 0);
}

uint64_t Session::tag(std::string_view id) const {
  std::string key(kProgramSource);
  key.push_back('\0');
  key.append(id);
  return engine_->id_tag(key);
}

absl::StatusOr<std::vector<Seq>> Session::find(std::string_view id) {
  RETURN_IF_ERROR(read_untagged());
  ASSIGN_OR_RETURN(std::vector<Seq> out, engine_->originals().find_id(tag(id)));
  if (const auto found = untagged_.find(absl_sv(id)); found != untagged_.end()) {
    for (const Seq seq : found->second)
      if (engine_->originals().live(seq)) out.push_back(seq);
  }
  std::sort(out.begin(), out.end());
  return out;
}

absl::Status Session::read_untagged() {
  if (names_read_) return absl::OkStatus();
  const Originals& index = engine_->originals();
  const Seq end = index.first_own() + recovered_.next_seq;
  std::string page;
  for (Seq seq = std::max(index.lowest_live(), index.first_own()); seq < end; ++seq) {
    if (!index.live(seq)) continue;
    ASSIGN_OR_RETURN(const Row row, index.row(seq, page));
    if (row.id_tag != 0) continue;
    ASSIGN_OR_RETURN(const std::string name_of_it, name(seq));
    untagged_[name_of_it].push_back(seq);
  }
  names_read_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Session::name(Seq seq) const {
  ASSIGN_OR_RETURN(const BodyRef at, engine_->originals().body(seq));
  std::string buffer;
  ASSIGN_OR_RETURN(const Body body, bodies_->read(at, buffer));
  Metadata metadata;
  RETURN_IF_ERROR(decode_metadata(body.metadata, metadata));
  return std::string(metadata.name());
}

}  // namespace doppel
