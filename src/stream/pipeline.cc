#include "stream/pipeline.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/status.h"
#include "stream/metadata.h"
#include "stream/read_ahead.h"

namespace doppel {
namespace {

constexpr size_t kSignGrain = 16;   // documents that one thread takes at a time
constexpr size_t kMatchGrain = 64;  // enough to hide memory latency

// What one thread needs to sign.
struct Tools {
  Signer signer;
  std::unique_ptr<Decoder> decoder;
};

// A batch and the work on it. There are two, so that one is signed while the other is resolved.
struct Lane {
  Batch batch;
  Work work;
};

void sign_pieces(const Record& record, Signer& signer, SignedDocument& out, uint8_t* slices) {
  signer.begin({});
  absl::Status status;
  while (true) {
    absl::StatusOr<std::string_view> piece = record.pieces->next();
    if (!piece.ok()) status = piece.status();
    if (!piece.ok() || piece->empty()) break;
    signer.update(*piece);
  }
  signer.end(out, slices);
  if (!status.ok()) {
    out.content = Content::rejected;
    out.reason = std_sv(status.message());
  }
}

// SIGN for one record: decode, extract, normalise, shingle, sketch.
void sign_record(const Record& record, Tools& tools, SignedDocument& out, uint8_t* slices) {
  Document document;
  out.action = SignedDocument::Action::judge;
  out.reason.clear();
  out.tops.clear();
  out.set_left_out = false;
  if (record.pieces != nullptr) {
    sign_pieces(record, tools.signer, out, slices);
  } else if (absl::Status status = tools.decoder->decode(record, document); !status.ok()) {
    out.content = Content::rejected;
    out.reason = std_sv(status.message());
    document = {};
  } else if (document.id.size() + document.url.size() > kMaxMetadata) {
    out.content = Content::rejected;
    out.reason = "id and url together are longer than 65536 bytes";
    document = {};
  } else {
    tools.signer.sign(document.text, document.scope, out, slices);
  }
  if (record.timestamp_ms >= 0) document.timestamp_ms = record.timestamp_ms;
  out.timestamp_ms = document.timestamp_ms.value_or(kNoTime);
  encode_metadata(metadata_of(record, document), out.metadata);
}

void count(const Lane& lane, Counters& counters) {
  counters.problems += lane.batch.problems.size();
  counters.records += lane.batch.records.size();
  counters.bytes += lane.batch.bytes;
  counters.listings_capped += lane.work.resolved.listings_capped;
  for (size_t i = 0; i < lane.batch.records.size(); ++i) {
    const Outcome& outcome = lane.work.resolved.outcomes[i];
    switch (outcome.verdict) {
      case Verdict::unique:
        ++counters.unique;
        break;
      case Verdict::duplicate:
        ++(outcome.kind == Kind::exact ? counters.exact : counters.near);
        counters.duplicate_bytes += lane.batch.records[i].value.size();
        break;
      case Verdict::unscored:
        ++counters.unscored;
        break;
      case Verdict::rejected:
        ++counters.rejected;
        break;
      case Verdict::removal:
        break;
    }
  }
}

// MATCH for a whole batch, on all threads.
absl::Status match_all(Engine& engine, Executor& executor, Work& work, MatchCounters& total) {
  std::mutex mutex;
  absl::Status first_error;
  executor.run(work.sign.documents.size(), kMatchGrain, [&](int, size_t begin, size_t end) {
    MatchCounters counters;
    absl::Status status = engine.match(work, begin, end, counters);
    std::lock_guard lock(mutex);
    if (!status.ok() && first_error.ok()) first_error = status;
    total.candidates += counters.candidates;
    total.checks += counters.checks;
    total.checks_capped += counters.checks_capped;
  });
  return first_error;
}

}  // namespace

absl::StatusOr<Counters> run_pipeline(Pipeline& p) {
  Executor executor(p.threads);
  std::vector<Tools> tools;
  tools.reserve(static_cast<size_t>(executor.threads()));
  for (int i = 0; i < executor.threads(); ++i)
    tools.push_back({p.engine.make_signer(), make_decoder(p.format)});
  ReadAhead reader(p.source, /*in_background=*/executor.threads() > 1);

  Counters counters;
  Lane lanes[2];
  Lane* now = &lanes[0];
  Lane* next = &lanes[1];
  Executor::Job signing;

  // Reads a batch into a lane and lets the workers begin to SIGN it.
  auto begin_next = [&](Lane& lane) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(bool more, reader.next(lane.batch));
    if (!more) return false;
    lane.work.resize(lane.batch.records.size(), p.engine.options());
    executor.start(signing, lane.batch.records.size(), kSignGrain, [&](int worker, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        sign_record(lane.batch.records[i], tools[worker], lane.work.sign.documents[i],
                    lane.work.sign.slices.data() + i * p.engine.options().scheme.num_perm);
      }
    });
    return true;
  };

  ASSIGN_OR_RETURN(bool more, begin_next(*now));
  executor.wait(signing);
  while (more) {
    RETURN_IF_ERROR(match_all(p.engine, executor, now->work, counters.match));

    // The next batch is signed while this one is resolved: SIGN does not look at the index.
    absl::StatusOr<bool> next_read = p.stop() ? false : begin_next(*next);
    absl::Status status = p.engine.resolve(now->work);
    if (status.ok()) status = p.sink.write({now->batch, now->work});
    if (status.ok() && p.journal != nullptr) {
      status = p.journal->commit(now->batch, now->work.resolved, p.sink.position());
    }
    executor.wait(signing);
    RETURN_IF_ERROR(status);

    count(*now, counters);
    p.progress(counters);
    if (!next_read.ok()) return next_read.status();
    more = *next_read;
    std::swap(now, next);
  }
  return counters;
}

}  // namespace doppel
