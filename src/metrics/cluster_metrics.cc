#include "metrics/cluster_metrics.h"

namespace doppel {
namespace {

double number(uint64_t value) { return static_cast<double>(value); }
double seconds(int64_t since_ms, int64_t now_ms) {
  return since_ms == 0 || now_ms < since_ms ? 0 : static_cast<double>(now_ms - since_ms) / 1e3;
}

void collect_role(Families& out, const char* role, const std::string& shards) {
  out.gauge("doppel_cluster_role", "The role of this process in an index on many machines: 1.", 1,
            {{"role", role}, {"shards", shards}});
}

}  // namespace

void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms) {
  collect_role(out, "resolver", "");
  out.gauge("doppel_cluster_wait_seconds",
            "How long a batch has been waiting for the answers of some shards; 0: it is not waiting.",
            seconds(status.waiting_since_ms, now_ms));
  out.gauge("doppel_cluster_window_originals",
            "Originals that are decided and that the matchers' answers do not cover yet.",
            number(status.window_originals));
  out.gauge("doppel_cluster_ahead_limit", "How far matchers answer beyond the last commit (cluster.ahead).",
            number(status.ahead_most));
  const char* questions =
      "Questions to the matchers: a batch without answers in time, or one document again.";
  out.counter("doppel_cluster_questions_total", questions, number(status.asked_batches),
              {{"about", "batch"}});
  out.counter("doppel_cluster_questions_total", questions, number(status.asked_documents),
              {{"about", "document"}});
  for (const ResolverStatus::Matcher& matcher : status.matchers) {
    const Labels labels{{"shards", matcher.shards}};
    out.gauge("doppel_cluster_matcher_ahead_records",
              "Records of the order that these shards have answered and that are not decided.",
              number(matcher.ahead), labels);
    out.gauge("doppel_cluster_matcher_behind_batches",
              "Batches that were decided and that the last answer of these shards does not know.",
              number(matcher.behind_batches), labels);
    out.gauge("doppel_cluster_matcher_last_answer_timestamp_seconds",
              "When the last answer of these shards came.", static_cast<double>(matcher.heard_ms) / 1e3,
              labels);
  }
}

void collect_signer(Families& out, const SignerStatus& status) {
  collect_role(out, "signer", "");
  out.counter("doppel_signer_records_total", "Records that were signed and committed.",
              number(status.records));
  out.counter("doppel_signer_rejected_total",
              "Signed records that do not contain a document that can be decided.", number(status.rejected));
  const char* bytes = "Bytes of records that were signed: of the documents, and of the signed records.";
  out.counter("doppel_signer_bytes_total", bytes, number(status.bytes), {{"of", "documents"}});
  out.counter("doppel_signer_bytes_total", bytes, number(status.signed_bytes), {{"of", "signed"}});
  out.gauge("doppel_last_commit_timestamp_seconds", "When the last batch was committed; 0: none yet.",
            static_cast<double>(status.last_commit_ms) / 1e3);
}

void collect_matcher(Families& out, const MatcherStatus& status) {
  collect_role(out, "matcher", status.shards);
  out.gauge("doppel_matcher_log_lag_records", "Records of the index log that are not applied.",
            static_cast<double>(status.log_behind));
  out.gauge("doppel_matcher_ahead_documents", "Documents that are answered and not committed.",
            number(status.ahead));
  out.gauge("doppel_cluster_ahead_limit", "How far matchers answer beyond the last commit (cluster.ahead).",
            number(status.ahead_most));
  out.counter("doppel_matcher_answered_documents_total", "Documents that were answered.",
              number(status.answered));
  out.counter("doppel_matcher_found_documents_total", "Answered documents of which something is known here.",
              number(status.found));
  out.counter("doppel_matcher_answered_again_total",
              "Documents that were answered again in the midst of a batch.", number(status.answered_again));
}

}  // namespace doppel
