#pragma once
// Documents that come by HTTP: POST /v1/documents and PUT /v1/documents/{id}. They are a source of the
// pipeline, and a request is answered when the batch that has its documents is committed. No thread waits for
// that.
//
// A request is inserted whole or not at all, so its documents are in one batch. What waits is bounded by the
// server: by its connections, each of which has one request, and by its budget for bodies.
//
// A document with an id that comes again with the same text gets the answer that it got (state/receipts.h),
// as long as the original in it is in the index. It is not judged again. So a client that heard nothing can
// send its request once more.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/byte_stream.h"
#include "formats/decoder.h"
#include "http/server.h"
#include "pipeline/pipeline.h"
#include "records/events.h"
#include "state/receipts.h"

namespace doppel {

struct IntakeOptions {
  FormatOptions format;
  http::Access access = http::Access::token;
  bool to_disk = false;  // each commit is on disk (state.fsync: commit)
};

class Intake : public std::enable_shared_from_this<Intake> {
 public:
  explicit Intake(IntakeOptions options);

  // Adds the routes. Until open(), and after close(), the answer is 503. The routes keep this object.
  void route(http::Server& server);
  // `documents`: how many the index has judged. Events and answers name the documents by numbers from there.
  // The references live until close().
  void open(EventContext context, uint64_t documents, const Engine& engine, Receipts& receipts);
  // The requests that were not committed get 503.
  void close();

  // An eventfd: it rings for each request. Others may ring it, too, to wake the source.
  int bell() const { return bell_.get(); }
  // The documents as a source: alone, or beside `files` (which live as long, and have the same bell). Its
  // batches have documents of one kind, in turns.
  std::unique_ptr<Source> source(Source* files);
  // For Pipeline::recall: finds the documents that were answered before, and takes them out of the batch.
  absl::Status recall(const Batch& batch, Work& work);
  // What the pipeline writes to, over `inner`: keeps the answers to the batch, before its commit.
  std::unique_ptr<Sink> sink(Sink& inner);
  // For Pipeline::observe: gives the answers.
  void committed();

 private:
  class Documents;
  class Keeping;
  struct Waiting {
    Batch documents;
    http::Reply reply;
    size_t count = 0;  // of documents, once these were handed out
  };
  enum class State { starting, open, closed };

  void insert(const http::Request& request, std::optional<std::string_view> id, http::Reply reply);
  bool take(Batch& batch);
  absl::Status decided(const Decided& decided);
  std::string line(const Decided& decided, size_t i, std::vector<Receipts::Receipt>& fresh);

  const IntakeOptions options_;
  const Fd bell_;
  std::mutex mutex_;
  State state_ = State::starting;
  std::deque<Waiting> queue_;   // not read yet
  std::deque<Waiting> judged_;  // handed out, in this order
  // Set by open(); the source counts on.
  EventContext context_;
  uint64_t next_number_ = 0;
  const Engine* engine_ = nullptr;
  Receipts* receipts_ = nullptr;

  // On the pipeline's thread, about the batch that is decided.
  absl::flat_hash_map<size_t, std::string> recalled_;  // document -> its answer from before
  absl::flat_hash_map<size_t, size_t> twins_;          // document -> the same one before it
  struct Answered {
    http::Reply reply;
    http::Response response;
  };
  std::vector<Answered> answered_;  // when the batch is committed
};

}  // namespace doppel
