// Schemas from a registry: the meaning of each answer, and how the stream waits. A small server stands for
// the registry here; tests/kafka/avro_test.cc has a real one.

#include "fetch/schema_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>

#include "base/status.h"
#include "fetch/nginx.h"
#include "http/server.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kSchema =
    R"({\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"text\",\"type\":\"string\"}]})";

std::string message_of(const absl::Status& status) { return std::string(std_sv(status.message())); }

std::string json_of(const RecordSchema& schema, std::string_view bytes) {
  std::string out;
  const absl::Status status = schema.to_json(bytes, out);
  return status.ok() ? out : message_of(status);
}

// ---- the client

class RegistryServer {
 public:
  RegistryServer() {
    auto started = http::Server::start({.listen = "127.0.0.1:0"});
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void answer(const std::string& path, const std::string& body, int status = 200) {
    server_->route("GET", path, [this, body, status](const http::Request& request) {
      credentials = std::string(request.header("Authorization").value_or(""));
      return http::Response{.status = status, .body = body};
    });
  }
  absl::StatusOr<std::shared_ptr<const RecordSchema>> ask(uint32_t id, RegistryOptions options = {}) {
    if (options.urls.empty()) options.urls = {server_->url() + "/"};
    return make_http_registry(options, nullptr)->schema(id);
  }
  std::string url() const { return server_->url(); }

  std::string credentials;  // of the last request

 private:
  std::unique_ptr<http::Server> server_;
};

TEST(HttpRegistry, ASchemaAndWhatItRefersTo) {
  RegistryServer server;
  server.answer("/schemas/ids/1", fmt::format(R"({{"schema":"{}"}})", kSchema));
  auto one = server.ask(1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(json_of(**one, "\x02x"), R"({"text":"x"})");

  server.answer("/schemas/ids/2",
                R"({"schemaType":"AVRO","references":[{"name":"R","subject":"a b","version":3}],
      "schema":"{\"type\":\"record\",\"name\":\"S\",\"fields\":[{\"name\":\"r\",\"type\":\"R\"}]}"})");
  EXPECT_TRUE(absl::IsUnavailable(server.ask(2).status()));  // the server does not know the id
  server.answer("/subjects/a%20b/versions/3", R"({"error_code":40401,"message":"Subject not found"})", 404);
  server.answer("/subjects/{subject}/versions/3", fmt::format(R"({{"schema":"{}","id":1}})", kSchema));
  auto two = server.ask(2);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(json_of(**two, "\x02x"), R"({"r":{"text":"x"}})");
}

TEST(HttpRegistry, AnswersThatBlameTheRecord) {
  RegistryServer server;
  server.answer("/schemas/ids/1", R"({"error_code":40403,"message":"Schema 1 not found"})", 404);
  server.answer("/schemas/ids/2", R"({"schema":"syntax = \"proto3\";","schemaType":"PROTOBUF"})");
  server.answer("/schemas/ids/3", R"({"schema":"{\"type\":\"record\"}"})");
  EXPECT_TRUE(absl::IsNotFound(server.ask(1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(server.ask(2).status()));
  EXPECT_EQ(message_of(server.ask(2).status()), "schema 2 is PROTOBUF, not AVRO");
  EXPECT_TRUE(absl::IsInvalidArgument(server.ask(3).status()));
  EXPECT_EQ(message_of(server.ask(3).status()), "schema 3: a record, enum or fixed has no \"name\"");
}

TEST(HttpRegistry, AnswersThatDoNot) {
  RegistryServer server;
  server.answer("/schemas/ids/2", "{}", 500);
  server.answer("/schemas/ids/3", "<html>please log in</html>");
  server.answer("/schemas/ids/4", "{}", 302);
  EXPECT_THAT(message_of(server.ask(1).status()), AllOf(HasSubstr("/schemas/ids/1: HTTP status 404"),
                                                        HasSubstr("is schema_registry.url the address")));
  for (const uint32_t id : {1, 2, 3, 4}) EXPECT_TRUE(absl::IsUnavailable(server.ask(id).status())) << id;
  const auto away = server.ask(1, {.urls = {fmt::format("http://127.0.0.1:{}", free_port())}});
  EXPECT_TRUE(absl::IsUnavailable(away.status()));
  // The second address answers.
  server.answer("/schemas/ids/5", fmt::format(R"({{"schema":"{}"}})", kSchema));
  EXPECT_TRUE(server.ask(5, {.urls = {fmt::format("http://127.0.0.1:{}", free_port()), server.url()}}).ok());
}

TEST(HttpRegistry, Credentials) {
  const TemporaryDirectory dir;
  RegistryServer server;
  server.answer("/schemas/ids/1", R"({"error_code":401,"message":"who are you?"})", 401);
  EXPECT_TRUE(absl::IsPermissionDenied(server.ask(1).status()));
  EXPECT_THAT(message_of(server.ask(1).status()),
              AllOf(HasSubstr("who are you?"), HasSubstr("set schema_registry.credentials_file")));
  const std::string file = dir / "credentials";
  EXPECT_THAT(message_of(server.ask(1, {.credentials_file = file}).status()),
              HasSubstr("schema_registry.credentials_file: " + file));
  std::ofstream(file) << "nobody";
  EXPECT_THAT(message_of(server.ask(1, {.credentials_file = file}).status()), HasSubstr("not user:password"));
  std::ofstream(file) << "me:a:b\n";
  EXPECT_THAT(message_of(server.ask(1, {.credentials_file = file}).status()),
              HasSubstr("names a user without"));
  EXPECT_EQ(server.credentials, "Basic bWU6YTpi");
}

// ---- the stream

// Gives the answers that the test scripts, when the test releases them.
class ScriptedRegistry final : public SchemaRegistry {
 public:
  struct Script {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<uint32_t, absl::Status> failures;  // other ids have a schema
    std::map<uint32_t, int> asked;

    void await(uint32_t id, int times) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return asked[id] >= times; });
    }
    void fail(uint32_t id, const absl::Status& status) {
      const std::lock_guard lock(mutex);
      failures[id] = status;
    }
    int times(uint32_t id) {
      const std::lock_guard lock(mutex);
      return asked[id];
    }
  };
  explicit ScriptedRegistry(Script& script) : script_(script) {}

  absl::StatusOr<std::shared_ptr<const RecordSchema>> schema(uint32_t id) override {
    const std::lock_guard lock(script_.mutex);
    ++script_.asked[id];
    script_.changed.notify_all();
    if (const absl::Status& failure = script_.failures[id]; !failure.ok()) return failure;
    return refused_schema(fmt::format("schema {}", id));
  }
  absl::StatusOr<std::string> reach() override { return ""; }

 private:
  Script& script_;
};

// Returns the batches of a test.
class BatchSource final : public Source {
 public:
  // An id for each record; nullopt: a value without a frame.
  void add(const std::vector<std::optional<uint32_t>>& ids) {
    Batch& batch = batches_.emplace_back();
    for (const auto& id : ids) {
      std::string& value = values_.emplace_back(id ? std::string(6, '\0') : "{}");
      for (int i = 0; id && i < 4; ++i)
        value[1 + static_cast<size_t>(i)] = static_cast<char>(*id >> (24 - 8 * i));
      batch.records.push_back({.value = value});
    }
    batch.position = std::to_string(batches_.size());
  }
  absl::StatusOr<bool> next(Batch& batch) override {
    if (next_ == batches_.size()) return false;
    batch = batches_[next_++];
    return true;
  }
  uint64_t bytes_total() const override { return 0; }
  uint64_t bytes_read() const override { return 0; }

 private:
  std::deque<std::string> values_;
  std::vector<Batch> batches_;
  size_t next_ = 0;
};

struct Schemas {
  explicit Schemas(const SchemaSourceOptions& options = {.pause_ms = 1}) {
    source = make_schema_source(inner, std::make_unique<ScriptedRegistry>(script),
                                std::make_shared<std::atomic<bool>>(false), options);
  }
  // The next batch with records.
  Batch next() {
    Batch batch;
    while (batch.records.empty()) {
      const auto more = source->next(batch);
      EXPECT_TRUE(more.ok() && *more);
      if (!more.ok() || !*more) break;
    }
    return batch;
  }
  ScriptedRegistry::Script script;
  BatchSource inner;
  std::unique_ptr<SchemaSource> source;
};

std::string schema_said(const Record& record) {
  return record.schema == nullptr ? "none" : json_of(*record.schema, "");
}

TEST(SchemaSource, EachIdIsAskedForOnce) {
  Schemas run;
  run.inner.add({7, 7, 300'000, std::nullopt, 7});
  run.inner.add({300'000, 0xffffffff});
  const Batch first = run.next(), second = run.next();
  ASSERT_EQ(first.records.size(), 5U);
  EXPECT_EQ(first.position, "1");
  EXPECT_EQ(schema_said(first.records[0]), "schema 7");
  EXPECT_EQ(schema_said(first.records[2]), "schema 300000");
  EXPECT_EQ(schema_said(first.records[3]), "none");
  EXPECT_EQ(schema_said(first.records[4]), "schema 7");
  EXPECT_EQ(schema_said(second.records[1]), "schema 4294967295");
  for (const uint32_t id : {7U, 300'000U, 0xffffffffU}) EXPECT_EQ(run.script.times(id), 1) << id;
  EXPECT_EQ(run.source->stats()->found, 3U);
  Batch end;
  EXPECT_FALSE(*run.source->next(end));
}

TEST(SchemaSource, TheStreamWaitsForARegistryThatIsAway) {
  Schemas run;
  run.script.fail(7, absl::UnavailableError("away"));
  run.inner.add({1, 7});
  Batch batch;
  do {  // nothing comes while the registry does not answer
    ASSERT_TRUE(*run.source->next(batch));
    ASSERT_TRUE(batch.records.empty());
  } while (run.script.times(7) < 3);
  EXPECT_TRUE(run.source->stats()->waiting);
  run.script.fail(7, absl::OkStatus());
  batch = run.next();
  EXPECT_EQ(schema_said(batch.records[1]), "schema 7");
  EXPECT_FALSE(run.source->stats()->waiting);
  EXPECT_GE(run.source->stats()->failed, 3U);
}

TEST(SchemaSource, AWaitingSourceEndsAtOnce) {
  Schemas run(SchemaSourceOptions{.pause_ms = 10'000});
  run.script.fail(7, absl::PermissionDeniedError("no"));
  run.inner.add({7});
  Batch batch;
  ASSERT_TRUE(*run.source->next(batch));
  run.script.await(7, 1);
  run.source.reset();
}

TEST(SchemaSource, WhatTheRegistryDoesNotHaveIsRefusedForAWhile) {
  Schemas run(SchemaSourceOptions{.pause_ms = 1, .remembered_unknown_ms = 3'600'000});
  run.script.fail(7, absl::NotFoundError("none"));
  run.script.fail(8, invalid("schema 8 is JSON, not AVRO"));
  run.inner.add({7, 8, 9});
  run.inner.add({7});
  const Batch first = run.next(), second = run.next();
  EXPECT_EQ(schema_said(first.records[0]), "schema_unknown: the registry has no schema 7");
  EXPECT_EQ(schema_said(first.records[1]), "schema_unusable: schema 8 is JSON, not AVRO");
  EXPECT_EQ(schema_said(first.records[2]), "schema 9");
  EXPECT_EQ(schema_said(second.records[0]), "schema_unknown: the registry has no schema 7");
  EXPECT_EQ(run.script.times(7), 1);
  EXPECT_EQ(run.source->stats()->unknown, 1U);
  EXPECT_EQ(run.source->stats()->unusable, 1U);
}

}  // namespace
}  // namespace doppel
