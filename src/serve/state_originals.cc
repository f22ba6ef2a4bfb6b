#include "serve/state_originals.h"

#include "base/status.h"

namespace doppel {
namespace {

class OriginalsOf final : public StoredOriginals {
 public:
  OriginalsOf(StateDir& state, const Engine& engine) : state_(state), engine_(engine) {}

  absl::StatusOr<Original> original(Seq seq) override {
    Original out;
    BodyRef body;
    absl::StatusOr<StoredRow> stored = state_.read_row(seq);
    if (stored.ok()) {
      out.trusted_ms = stored->trusted_ms;
      out.removed = stored->removed;
      body = stored->row.body;
    } else if (absl::IsOutOfRange(stored.status())) {
      body = engine_.originals().row(seq).body;  // of the batch at hand
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

}  // namespace

std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine) {
  return std::make_unique<OriginalsOf>(state, engine);
}

}  // namespace doppel
