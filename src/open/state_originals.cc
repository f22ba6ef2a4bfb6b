#include "open/state_originals.h"

#include "base/status.h"

namespace doppel {
namespace {

class OriginalsOf final : public StoredOriginals {
 public:
  OriginalsOf(StateDir& state, const Engine& engine) : state_(state), engine_(engine) {}

  absl::StatusOr<Original> original(Seq seq) override {
    Original out;
    BodyRef body;
    const Seq first = engine_.originals().first_own();
    absl::StatusOr<StoredRow> stored = state_.read_row(seq - first);
    if (stored.ok()) {
      out.trusted_ms = stored->trusted_ms;
      out.removed = stored->removed;
      body = stored->row.body;
    } else if (absl::IsOutOfRange(stored.status())) {
      ASSIGN_OR_RETURN(body, engine_.originals().body(seq));  // of the current batch
    } else {
      return stored.status();
    }
    if (body.size == 0) {
      out.removed = true;  // its record was compacted away before this state was made
      return out;
    }
    ASSIGN_OR_RETURN(const Body read, state_.bodies().read(body, buffer_));
    out.metadata = read.metadata;
    return out;
  }

 private:
  StateDir& state_;
  const Engine& engine_;
  std::string buffer_;
};

class KeptOnDisk final : public KeptOriginals {
 public:
  KeptOnDisk(StateDir& state, const Engine& engine) : KeptOriginals(engine.originals()), state_(state) {}

  std::optional<BodyRef> body(Seq seq) const override {
    if (seq < lowest_live() || seq >= next_seq()) return std::nullopt;
    const absl::StatusOr<StoredRow> row = state_.read_row(seq);
    if (!row.ok()) return BodyRef();  // not readable: the reader of the body reports it
    const bool compacted_away = row->row.body.size == 0;
    return row->removed || compacted_away ? std::nullopt : std::optional(row->row.body);
  }

 private:
  StateDir& state_;
};

}  // namespace

std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine) {
  if (engine.options().elsewhere) return std::make_unique<KeptOnDisk>(state, engine);
  return std::make_unique<KeptOriginals>(engine.originals());
}

std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine) {
  return std::make_unique<OriginalsOf>(state, engine);
}

}  // namespace doppel
