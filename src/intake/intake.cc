#include "intake/intake.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/status.h"
#include "intake/body.h"
#include "records/metadata.h"

namespace doppel {
namespace {

using http::Request;
using http::Response;

constexpr int kLongestWaitMs = 100;
constexpr size_t kBatchRecords = 1024, kBatchBytes = 12 << 20;  // of several requests together

void skip_as_repeated(SignedDocument& document) {
  document.content = Content::skipped;
  document.payload = {};
  document.reason = message_of(Reason::repeated);
}

// What the documents of an id are told apart by. A document without text has no digest.
Digest digest_of(const SignedDocument& document) {
  return document.content == Content::empty ? Digest() : document.digest;
}

}  // namespace

class Intake::Documents final : public Source {
 public:
  Documents(Intake& intake, Source* files) : intake_(intake), files_(files) {}

  absl::StatusOr<bool> next(Batch& batch) override {
    batch.clear();
    if (files_ != nullptr) return next_beside_files(batch);
    if (intake_.take(batch)) return true;
    pollfd waiting{intake_.bell(), POLLIN, 0};
    eventfd_t rings = 0;
    if (::poll(&waiting, 1, kLongestWaitMs) > 0) ::eventfd_read(intake_.bell(), &rings);
    intake_.take(batch);
    return true;
  }
  bool live() const override { return true; }
  void ask_before_closing(const std::function<bool()>& wanted) override {
    if (files_ != nullptr) files_->ask_before_closing(wanted);
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return files_ != nullptr ? files_->bytes_read() : 0; }

 private:
  absl::StatusOr<bool> next_beside_files(Batch& batch) {
    if (!files_next_ && intake_.take(batch)) return files_next_ = true;
    // Files have their turn, and wait only if nothing else does.
    if (std::exchange(files_next_, false)) ::eventfd_write(intake_.bell(), 1);
    ASSIGN_OR_RETURN(const bool more, files_->next(batch));
    intake_.next_number_ += batch.records.size();
    if (more && batch.records.empty() && batch.problems.empty()) intake_.take(batch);
    return more;
  }

  Intake& intake_;
  Source* const files_;
  bool files_next_ = false;
};

std::unique_ptr<Source> Intake::source(Source* files) { return std::make_unique<Documents>(*this, files); }

class Intake::Keeping final : public Sink {
 public:
  Keeping(Intake& intake, Sink& inner) : intake_(intake), inner_(inner) {}
  absl::Status write(const Decided& decided) override {
    RETURN_IF_ERROR(intake_.decided(decided));
    return inner_.write(decided);
  }
  absl::Status settle() override { return inner_.settle(); }
  absl::Status idle() override { return inner_.idle(); }
  std::string position() const override { return inner_.position(); }

 private:
  Intake& intake_;
  Sink& inner_;
};

std::unique_ptr<Sink> Intake::sink(Sink& inner) { return std::make_unique<Keeping>(*this, inner); }

// Bodies and answers of megabytes go back to the system when they are freed. By itself the library raises
// both limits as they come, and the process kept three times the memory.
Intake::Intake(IntakeOptions options)
    : options_(std::move(options)), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 32 << 20);
}

void Intake::route(http::Server& server) {
  route_inserts(
      server, options_.access,
      [self = shared_from_this()](const Request& request, std::optional<std::string_view> id,
                                  http::Reply reply) { self->insert(request, id, std::move(reply)); });
}

void Intake::open(EventContext context, uint64_t documents, const Engine& engine, Receipts& receipts) {
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
  next_number_ = documents;
  engine_ = &engine;
  receipts_ = &receipts;
  state_ = State::open;
}

void Intake::close() {
  std::deque<Waiting> left;
  {
    const std::lock_guard lock(mutex_);
    state_ = State::closed;
    left = std::move(judged_);
    left.insert(left.end(), std::move_iterator(queue_.begin()), std::move_iterator(queue_.end()));
    judged_.clear();
    queue_.clear();
  }
  for (Answered& answered : answered_) left.emplace_back().reply = std::move(answered.reply);
  answered_.clear();
  for (const Waiting& waiting : left)
    waiting.reply(
        http::try_again(503, "the daemon stops, and these documents were not committed; send them again"));
}

void Intake::insert(const Request& request, std::optional<std::string_view> id, http::Reply reply) {
  if (is_from_a_page(request))
    return reply(http::error(403, "pages of other sites may not insert documents"));
  if (const auto durability = request.query_value("durability"); durability) {
    if (*durability != "disk" && *durability != "commit")
      return reply(http::error(400, "durability is commit (as state.fsync says) or disk"));
    if (*durability == "disk" && !options_.to_disk) {
      return reply(
          http::error(400, "durability=disk needs state.fsync: commit, and this daemon has another"));
    }
  }
  const auto state = [&] {
    const std::lock_guard lock(mutex_);
    return state_;
  }();
  if (state == State::starting) return reply(http::try_again(503, "the daemon starts; try again"));
  Waiting waiting;
  if (std::optional<Response> refusal = read_body(request, options_.format, id, waiting.documents))
    return reply(*std::move(refusal));
  waiting.reply = std::move(reply);
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::open) {
      queue_.push_back(std::move(waiting));
      ::eventfd_write(bell_.get(), 1);
      return;
    }
  }
  waiting.reply(http::try_again(503, "the daemon stops; try again"));
}

// On the source's thread. Returns false if nothing waits.
bool Intake::take(Batch& batch) {
  const std::lock_guard lock(mutex_);
  while (!queue_.empty()) {
    Waiting& first = queue_.front();
    Batch& documents = first.documents;
    if (!batch.records.empty() && (batch.records.size() + documents.records.size() > kBatchRecords ||
                                   batch.bytes + documents.bytes > kBatchBytes))
      break;
    first.count = documents.records.size();
    for (Record& record : documents.records) {
      record.offset = next_number_++;
      batch.records.push_back(std::move(record));
    }
    std::move(documents.memory.begin(), documents.memory.end(), std::back_inserter(batch.memory));
    batch.bytes += documents.bytes;
    documents = {};
    judged_.push_back(std::move(first));
    queue_.pop_front();
  }
  return !batch.records.empty();
}

absl::Status Intake::recall(const Batch& batch, Work& work) {
  recalled_.clear();
  twins_.clear();
  absl::flat_hash_map<std::string, size_t> firsts;
  const Originals& originals = engine_->originals();
  for (size_t i = 0; i < batch.records.size(); ++i) {
    SignedDocument& document = work.sign.documents[i];
    if (batch.records[i].sender == nullptr || document.content > Content::empty) continue;
    Metadata metadata;
    RETURN_IF_ERROR(decode_metadata(document.metadata, metadata));
    if (metadata.id.empty()) continue;
    const Digest digest = digest_of(document);
    std::string key(metadata.id);
    put_digest(key, digest);
    if (const auto [first, fresh] = firsts.try_emplace(std::move(key), i); !fresh) {
      twins_[i] = first->second;
      skip_as_repeated(document);
      continue;
    }
    const absl::StatusOr<std::optional<Receipts::Receipt>> found = receipts_->find(metadata.id, digest);
    if (!found.ok()) {
      log::warn("an earlier answer cannot be read; the document is judged again",
                {{"id", metadata.id}, {"error", std_sv(found.status().message())}});
      continue;
    }
    if (!*found) continue;
    const std::optional<Seq> original = (*found)->original;
    if (original && !originals.live(*original + originals.first_own())) continue;
    recalled_[i] = (*found)->text;
    skip_as_repeated(document);
  }
  return absl::OkStatus();
}

// The answer to a document. What `fresh` gets is without its text.
std::string Intake::line(const Decided& decided, size_t i, std::vector<Receipts::Receipt>& fresh) {
  if (const auto before = recalled_.find(i); before != recalled_.end()) return std::move(before->second);
  const Record& record = decided.batch.records[i];
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  const SignedDocument& document = decided.work.sign.documents[i];
  std::string out;
  if (outcome.verdict == Verdict::rejected) return rejected_line(record.line, document.reason);
  Metadata metadata, original;
  const bool read =
      decode_metadata(document.metadata, metadata).ok() &&
      (outcome.verdict != Verdict::duplicate || decode_metadata(outcome.original, original).ok());
  DOPPEL_CHECK(read, "the metadata of a judged document can be read", record.offset);
  append_any_verdict(out, context_, metadata, original, outcome, document.reason);
  if (metadata.id.empty() || document.content > Content::empty) return out;
  const Seq first = engine_->originals().first_own();
  const bool names_original = outcome.verdict != Verdict::unscored && outcome.seq >= first;
  fresh.push_back({.number = record.offset,
                   .original = names_original ? std::optional(outcome.seq - first) : std::nullopt,
                   .id = metadata.id,
                   .digest = digest_of(document)});
  return out;
}

absl::Status Intake::decided(const Decided& decided) {
  const std::vector<Record>& records = decided.batch.records;
  std::vector<std::string> lines(records.size());
  std::vector<Receipts::Receipt> fresh;
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].sender == nullptr) continue;
    const size_t before = fresh.size();
    const auto twin = twins_.find(i);
    lines[i] = twin != twins_.end() ? lines[twin->second] : line(decided, i, fresh);
    if (fresh.size() > before) fresh.back().text = lines[i];
  }
  RETURN_IF_ERROR(receipts_->add(fresh, options_.to_disk));
  for (size_t i = 0; i < records.size();) {
    if (records[i].sender == nullptr) {
      ++i;
      continue;
    }
    Waiting request;
    {
      const std::lock_guard lock(mutex_);
      DOPPEL_CHECK(!judged_.empty() && judged_.front().count <= records.size() - i,
                   "the documents of a request are judged in one batch, in order", i, records.size());
      request = std::move(judged_.front());
      judged_.pop_front();
    }
    const std::span<const std::string> of_request = std::span(lines).subspan(i, request.count);
    size_t rejected = 0;
    for (const size_t end = i + request.count; i < end; ++i)
      rejected += decided.work.resolved.outcomes[i].verdict == Verdict::rejected ? 1 : 0;
    answered_.push_back({std::move(request.reply), answer_of(of_request, rejected)});
  }
  return absl::OkStatus();
}

void Intake::committed() {
  for (Answered& answered : answered_) answered.reply(std::move(answered.response));
  answered_.clear();
}

}  // namespace doppel
