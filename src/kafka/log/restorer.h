#pragma once
// Restores an index from its log. Applies records in order to the engine and to the state directory, so that
// no record has to be read twice.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kafka/log_reader.h"
#include "state/index_log.h"
#include "state/state_dir.h"

namespace doppel {

class LogRestorer {
 public:
  // `position` is the state directory's position in the log. The references outlive the restorer.
  LogRestorer(StateDir& state, Engine& engine, uint64_t scheme, kafka::KafkaPosition& position,
              uint64_t documents);

  // Call it once the engine's tables are built. From then on restore() adds what it reads to these tables.
  void follow(int threads, CandidateIndex::Run run);

  // Reads [position.log_offset, end), advances the position and commits it to the state directory. Calls
  // `progress` with the number of records read so far. May be called repeatedly with a later end.
  absl::Status restore(kafka::LogReader& log, int64_t end, const std::function<void(uint64_t)>& progress);

  uint64_t rows() const { return rows_restored_; }
  Seq next_seq() const { return next_seq_; }
  // The last rule and the last epoch that were read.
  const std::optional<std::string>& rule() const { return rule_; }
  const std::optional<LogEpoch>& epoch() const { return epoch_; }

 private:
  absl::Status apply(const kafka::LogMessage& message);
  absl::Status row(const LogRow& row);
  absl::Status refuse_another(const LogRow& row);
  absl::Status go_to(Seq to);
  absl::Status keep_number(Seq seq, int64_t trusted_ms);
  absl::Status apply_rows(Seq lowest_live);
  absl::Status keep(const StoredRow& row, std::string_view slices);
  absl::Status flush();
  // Finds the removal markers behind `from`: the rows of these originals may have been compacted away.
  absl::Status find_removed(int64_t from);

  StateDir& state_;
  Engine& engine_;
  uint64_t scheme_;
  kafka::KafkaPosition& position_;
  uint64_t documents_;
  kafka::LogReader* log_ = nullptr;

  Seq next_seq_;
  bool fresh_;                   // nothing has been committed yet
  std::vector<StoredRow> rows_;  // not yet committed to the state directory
  std::vector<Seq> removed_;
  std::vector<Shown> shown_;
  std::vector<std::string> slices_;
  std::vector<BandMask> masks_;
  size_t pending_ = 0;
  std::optional<std::map<Seq, int64_t>> removed_later_;
  uint64_t rows_restored_ = 0;
  std::optional<std::string> rule_;
  std::optional<LogEpoch> epoch_;
  bool follows_ = false;
  ResolveHelp help_;
};

}  // namespace doppel
