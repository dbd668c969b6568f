//! Every threshold, cap, weight and opt-in, with its default. The wire form is camelCase; every field may be left out.
//!
//! Defaults without another source are those of the articles that the project implements: section caps, the compaction
//! mark of 8,000 tokens, rerank weights .45/.25/.15/.15, groups of two messages before and two after.

use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::records::Trust;
use crate::vector::Tiers;
use serde::Serialize;

/// The policy of one memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Section caps of a context.
    pub budget: BudgetPolicy,
    /// The recent window.
    pub recent: RecentPolicy,
    /// When and how old messages are retrieved.
    pub retrieval: RetrievalPolicy,
    /// When and how old messages are folded into the rolling summary.
    pub compaction: CompactionPolicy,
    /// Summaries of sessions.
    pub episodes: EpisodePolicy,
    /// What is remembered about the user.
    pub facts: FactPolicy,
    /// How long results of tools stay whole.
    pub tool_results: ToolResultPolicy,
    /// Limits of what is accepted, and of waiting.
    pub limits: LimitPolicy,
    /// Which index answers vector queries.
    pub vector_index: VectorIndexChoice,
    /// Whether messages are on disk before they are acknowledged.
    pub durability: Durability,
}

impl FromFields for Policy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            budget: fields.take_or("budget", default.budget),
            recent: fields.take_or("recent", default.recent),
            retrieval: fields.take_or("retrieval", default.retrieval),
            compaction: fields.take_or("compaction", default.compaction),
            episodes: fields.take_or("episodes", default.episodes),
            facts: fields.take_or("facts", default.facts),
            tool_results: fields.take_or("toolResults", default.tool_results),
            limits: fields.take_or("limits", default.limits),
            vector_index: fields.take_or("vectorIndex", default.vector_index),
            durability: fields.take_or("durability", default.durability),
        }
    }
}

/// Most tokens per section. Where the window is too small for all of them, they shrink in proportion.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetPolicy {
    /// Reported for the system prompt; a longer prompt is sent whole all the same.
    pub system_tokens: u32,
    /// What is remembered about the user.
    pub memory_tokens: u32,
    /// The rolling summary.
    pub summary_tokens: u32,
    /// Retrieved message groups.
    pub retrieved_tokens: u32,
    /// The app's own documents.
    pub documents_tokens: u32,
    /// The notes of the conversation.
    pub notes_tokens: u32,
    /// What is known from other sessions: the project's summary, the last episodes.
    pub episodes_tokens: u32,
    /// The recent window.
    pub recent_tokens: u32,
    /// Room kept for the answer where the call names none.
    pub reserve_tokens: u32,
    /// Context window assumed where the call names none.
    pub window_tokens: u32,
}

impl FromFields for BudgetPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            system_tokens: fields.take_or("systemTokens", default.system_tokens),
            memory_tokens: fields.take_or("memoryTokens", default.memory_tokens),
            summary_tokens: fields.take_or("summaryTokens", default.summary_tokens),
            retrieved_tokens: fields.take_or("retrievedTokens", default.retrieved_tokens),
            documents_tokens: fields.take_or("documentsTokens", default.documents_tokens),
            notes_tokens: fields.take_or("notesTokens", default.notes_tokens),
            episodes_tokens: fields.take_or("episodesTokens", default.episodes_tokens),
            recent_tokens: fields.take_or("recentTokens", default.recent_tokens),
            reserve_tokens: fields.take_or("reserveTokens", default.reserve_tokens),
            window_tokens: fields.take_or("windowTokens", default.window_tokens),
        }
    }
}

impl Default for BudgetPolicy {
    fn default() -> Self {
        Self {
            system_tokens: 2_000,
            memory_tokens: 1_000,
            summary_tokens: 2_000,
            retrieved_tokens: 3_000,
            documents_tokens: 3_000,
            notes_tokens: 1_000,
            episodes_tokens: 1_000,
            recent_tokens: 6_000,
            reserve_tokens: 4_000,
            window_tokens: 16_000,
        }
    }
}

/// How much of the newest conversation stays as it was said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentPolicy {
    /// By number of messages instead of by tokens, where given.
    pub max_messages: Option<u32>,
    /// When the window overflows, its start moves forward until this share of its room is used, so that the prefix
    /// then stays as it is for many turns. 0.1 to 1.
    pub keep_ratio: f64,
}

impl FromFields for RecentPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            max_messages: fields.take_or("maxMessages", default.max_messages),
            keep_ratio: fields.take_or("keepRatio", default.keep_ratio),
        }
    }
}

impl Default for RecentPolicy {
    fn default() -> Self {
        Self { max_messages: None, keep_ratio: 0.5 }
    }
}

/// Where retrieval looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Every remembered conversation of the user; the current one counts more.
    #[default]
    User,
    /// The current conversation only.
    Conversation,
}

/// How found messages are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RankingChoice {
    /// Signals made of many figures, by weights fitted on real conversations.
    #[default]
    Fitted,
    /// The plain reading of the weights: scaled cosine, BM25 of the message, age always, what the question names.
    Seeds,
}

crate::json_reader::json_names!(RankingChoice { Fitted: "fitted", Seeds: "seeds" });

crate::json_reader::json_names!(Scope { User: "user", Conversation: "conversation" });

/// Retrieval of old messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrievalPolicy {
    /// Where it looks.
    pub scope: Scope,
    /// Messages before a hit that go with it.
    pub before: u32,
    /// Messages after a hit that go with it.
    pub after: u32,
    /// Most hits considered for one context.
    pub top_k: u32,
    /// Hits below this final score (0 to 1) are left out: nothing relevant is better than something irrelevant. The best
    /// hit's score is the search's confidence, so this is a floor on both that and a hit's share of the best. .25 costs
    /// half a point of recall by words and none with MiniLM vectors (BENCHMARKS.md has the curve).
    pub min_score: f64,
    /// How the signals of the rerank are computed.
    pub ranking: RankingChoice,
    /// Weights of the rerank.
    pub weights: RerankWeights,
    /// Half-life of the recency signal, in days.
    pub recency_half_life_days: f64,
    /// Factor on hits of other conversations, 0 to 1.
    pub other_conversation_factor: f64,
}

impl FromFields for RetrievalPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            scope: fields.take_or("scope", default.scope),
            before: fields.take_or("before", default.before),
            after: fields.take_or("after", default.after),
            top_k: fields.take_or("topK", default.top_k),
            min_score: fields.take_or("minScore", default.min_score),
            ranking: fields.take_or("ranking", default.ranking),
            weights: fields.take_or("weights", default.weights),
            recency_half_life_days: fields.take_or("recencyHalfLifeDays", default.recency_half_life_days),
            other_conversation_factor: fields.take_or("otherConversationFactor", default.other_conversation_factor),
        }
    }
}

impl Default for RetrievalPolicy {
    fn default() -> Self {
        Self {
            scope: Scope::User,
            before: 2,
            after: 2,
            top_k: 64,
            min_score: 0.25,
            ranking: RankingChoice::Fitted,
            weights: RerankWeights::default(),
            recency_half_life_days: 30.0,
            other_conversation_factor: 0.6,
        }
    }
}

/// Weights of the rerank signals; each signal is in 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RerankWeights {
    /// Vector similarity.
    pub semantic: f64,
    /// BM25 at message, window and session level.
    pub keyword: f64,
    /// Age.
    pub recency: f64,
    /// The question names something of the message: an identifier, a quoted phrase, a speaker.
    pub reference: f64,
}

impl FromFields for RerankWeights {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            semantic: fields.take_or("semantic", default.semantic),
            keyword: fields.take_or("keyword", default.keyword),
            recency: fields.take_or("recency", default.recency),
            reference: fields.take_or("reference", default.reference),
        }
    }
}

impl Default for RerankWeights {
    fn default() -> Self {
        Self { semantic: 0.45, keyword: 0.25, recency: 0.15, reference: 0.15 }
    }
}

/// Compaction marks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPolicy {
    /// False: never by itself; `compact()` still works.
    pub automatic: bool,
    /// Compaction starts when the tokens that are neither summarised nor in the recent window pass this mark.
    pub high_water_tokens: u32,
    /// It leaves this share of the high mark uncompacted.
    pub low_water_ratio: f64,
    /// Longest summary.
    pub max_summary_tokens: u32,
    /// How long the provider keeps the start of a prompt in its cache after it was last used, in milliseconds. Five minutes
    /// is what Anthropic keeps it for by default, and about what others do.
    pub cache_ttl_ms: f64,
    /// Once nothing was asked for that long, the next prompt is paid in full whatever it begins with, so compaction starts
    /// from this share of the high mark already. 1: only at the mark.
    pub cold_ratio: f64,
    /// What the app's users need kept, added to the instructions of the summarising model.
    pub instructions: Option<String>,
    /// In place of the built-in task of the summarising model. What the answer must look like, and that the transcript is
    /// data, is always said.
    pub prompt: Option<String>,
}

impl FromFields for CompactionPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            automatic: fields.take_or("automatic", default.automatic),
            high_water_tokens: fields.take_or("highWaterTokens", default.high_water_tokens),
            low_water_ratio: fields.take_or("lowWaterRatio", default.low_water_ratio),
            max_summary_tokens: fields.take_or("maxSummaryTokens", default.max_summary_tokens),
            cache_ttl_ms: fields.take_or("cacheTtlMs", default.cache_ttl_ms),
            cold_ratio: fields.take_or("coldRatio", default.cold_ratio),
            instructions: fields.take("instructions"),
            prompt: fields.take("prompt"),
        }
    }
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            automatic: true,
            high_water_tokens: 8_000,
            low_water_ratio: 0.25,
            max_summary_tokens: 1_500,
            cache_ttl_ms: 300_000.0,
            cold_ratio: 0.5,
            instructions: None,
            prompt: None,
        }
    }
}

/// Episodes: what happened in a session, for the next conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodePolicy {
    /// False: never by itself; `episodes.end()` still works.
    pub automatic: bool,
    /// A session is over when nothing was said for this long, in milliseconds.
    pub idle_ms: f64,
    /// A session that ended longer ago than this is left alone, in milliseconds: so old chats cost nothing.
    pub max_age_ms: f64,
    /// Sessions of fewer messages are left alone.
    pub min_messages: u32,
    /// Longest episode.
    pub max_tokens: u32,
    /// Most episodes in a new conversation's context.
    pub shown: u32,
    /// Episodes of lower trust are in no context and no project's summary. By default those whose sessions held results
    /// of tools or imported messages, which anybody can have written.
    pub min_trust: Trust,
}

impl FromFields for EpisodePolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            automatic: fields.take_or("automatic", default.automatic),
            idle_ms: fields.take_or("idleMs", default.idle_ms),
            max_age_ms: fields.take_or("maxAgeMs", default.max_age_ms),
            min_messages: fields.take_or("minMessages", default.min_messages),
            max_tokens: fields.take_or("maxTokens", default.max_tokens),
            shown: fields.take_or("shown", default.shown),
            min_trust: fields.take_or("minTrust", default.min_trust),
        }
    }
}

impl Default for EpisodePolicy {
    fn default() -> Self {
        Self {
            automatic: true,
            idle_ms: 1_800_000.0,
            max_age_ms: 604_800_000.0,
            min_messages: 4,
            max_tokens: 300,
            shown: 3,
            min_trust: Trust::AssistantInferred,
        }
    }
}

/// Long-term facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactPolicy {
    /// False: facts come only from explicit writes.
    pub extract: bool,
    /// Categories that may be remembered without an explicit write. The special categories of personal data are not among
    /// them, whatever stands here: the user agrees to each ([`crate::engine::Engine::consent`]).
    pub categories: Vec<String>,
    /// True: an extracted fact waits for approval before it is used.
    pub review: bool,
    /// Facts below this confidence are not kept.
    pub min_confidence: f64,
    /// Similar existing facts shown to the judge for each candidate.
    pub judge_neighbours: u32,
    /// Extraction waits until this many new user messages are there, until the conversation is idle, until the user speaks in
    /// another one, or for [`crate::engine::Engine::all_settled`].
    pub batch_messages: u32,
    /// A conversation in which nothing was said for this long is idle, in milliseconds.
    pub idle_ms: f64,
    /// Where not all facts fit into a context, those below this score are left out, 0 to 1.
    pub min_score: f64,
    /// What is remembered is looked through for mistakes every so many days; 0: never by itself.
    pub audit_days: f64,
}

impl FromFields for FactPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            extract: fields.take_or("extract", default.extract),
            categories: fields.take_or("categories", default.categories),
            review: fields.take_or("review", default.review),
            min_confidence: fields.take_or("minConfidence", default.min_confidence),
            judge_neighbours: fields.take_or("judgeNeighbours", default.judge_neighbours),
            batch_messages: fields.take_or("batchMessages", default.batch_messages),
            idle_ms: fields.take_or("idleMs", default.idle_ms),
            min_score: fields.take_or("minScore", default.min_score),
            audit_days: fields.take_or("auditDays", default.audit_days),
        }
    }
}

impl Default for FactPolicy {
    fn default() -> Self {
        Self {
            extract: true,
            categories: ["preference", "identity", "project", "constraint", "style", "decision"]
                .map(str::to_owned)
                .to_vec(),
            review: false,
            min_confidence: 0.5,
            judge_neighbours: 5,
            batch_messages: 4,
            idle_ms: 60_000.0,
            min_score: 0.1,
            audit_days: 7.0,
        }
    }
}

/// How long results of tools stay whole in a context. What is stored, searched and summarised is always whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultPolicy {
    /// Results of turns older than this many are shortened, in steps of this many turns, at least ten: a boundary that
    /// moved with every turn would change the prefix of the prompt each time. 0: only those of the newest turn are whole.
    /// Those of a turn that takes more than half of the recent window's room are shortened at once.
    /// `None` (null, or Infinity in JavaScript): never shortened.
    pub full_turns: Option<u32>,
    /// What is kept of each, in tokens: its start, and how long it was.
    pub shrunk_tokens: u32,
}

impl FromFields for ToolResultPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            full_turns: fields.take_or("fullTurns", default.full_turns),
            shrunk_tokens: fields.take_or("shrunkTokens", default.shrunk_tokens),
        }
    }
}

impl Default for ToolResultPolicy {
    fn default() -> Self {
        Self { full_turns: Some(12), shrunk_tokens: 200 }
    }
}

/// A message is one record with its raw and its visible text: where all is quotation marks, three characters for each byte,
/// and six bytes where one character is outside Latin-1. So it takes at most 101 MB. A record of Chromium's SQLite may have
/// 133 MB, one of WebKitGTK 128 (measured).
const MOST_MESSAGE_BYTES: u32 = 16 * 1024 * 1024;

/// Limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitPolicy {
    /// Longest raw message, in bytes of its JSON text: 1 to 16 MiB, the default.
    pub message_bytes: u32,
    /// Longest id, in UTF-8 bytes.
    pub id_bytes: u32,
    /// A callback that has not answered by then has failed (`timeout`).
    pub callback_timeout_ms: f64,
    /// The embedder has so long for a question; then the search goes on by words alone. A person waits for it, so it is
    /// far shorter than for background work.
    pub query_embedding_timeout_ms: f64,
    /// A failed job waits this long, then twice as long each time, an hour at most.
    pub job_retry_ms: f64,
    /// A job is given up after this many failures until the next append.
    pub job_attempts: u32,
}

impl FromFields for LimitPolicy {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        let default = Self::default();
        Self {
            message_bytes: fields.take_or("messageBytes", default.message_bytes),
            id_bytes: fields.take_or("idBytes", default.id_bytes),
            callback_timeout_ms: fields.take_or("callbackTimeoutMs", default.callback_timeout_ms),
            query_embedding_timeout_ms: fields.take_or("queryEmbeddingTimeoutMs", default.query_embedding_timeout_ms),
            job_retry_ms: fields.take_or("jobRetryMs", default.job_retry_ms),
            job_attempts: fields.take_or("jobAttempts", default.job_attempts),
        }
    }
}

impl Default for LimitPolicy {
    fn default() -> Self {
        Self {
            message_bytes: MOST_MESSAGE_BYTES,
            id_bytes: 512,
            callback_timeout_ms: 120_000.0,
            query_embedding_timeout_ms: 2_000.0,
            job_retry_ms: 1_000.0,
            job_attempts: 5,
        }
    }
}

/// Which index answers vector queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorIndexChoice {
    /// By the number of rows that the query may see; see BENCHMARKS.md for where the ways cross.
    #[default]
    Auto,
    /// Always a scan.
    Exact,
    /// Always the graph.
    Hnsw,
}

impl VectorIndexChoice {
    /// How an index is to choose its way.
    #[must_use]
    pub fn tiers(self) -> Tiers {
        match self {
            Self::Auto => Tiers::AUTO,
            Self::Exact => Tiers::EXACT,
            Self::Hnsw => Tiers::HNSW,
        }
    }
}

crate::json_reader::json_names!(VectorIndexChoice { Auto: "auto", Exact: "exact", Hnsw: "hnsw" });

/// Whether messages are on disk before they are acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Yes: `append`, `edit` and the end of a stream wait for the disk.
    #[default]
    Strict,
    /// No: a crash of the browser takes nothing, a power cut what came after the last barrier. The host calls
    /// [`crate::engine::Engine::flush`] while [`crate::engine::Engine::unsynced`] is not 0.
    Relaxed,
}

crate::json_reader::json_names!(Durability { Strict: "strict", Relaxed: "relaxed" });

impl Policy {
    /// Refuses values that cannot work, naming the field.
    pub fn validate(&self) -> Result<()> {
        let ratio = |name: &str, value: f64, low: f64, high: f64| {
            if value.is_finite() && (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(Error::new(
                    Code::InvalidConfig,
                    format!("policy.{name} is {value}; give a number from {low} to {high}"),
                ))
            }
        };
        ratio("recent.keepRatio", self.recent.keep_ratio, 0.1, 1.0)?;
        ratio("retrieval.minScore", self.retrieval.min_score, 0.0, 1.0)?;
        ratio("retrieval.recencyHalfLifeDays", self.retrieval.recency_half_life_days, 0.001, 1e6)?;
        ratio("retrieval.otherConversationFactor", self.retrieval.other_conversation_factor, 0.0, 1.0)?;
        let weights = &self.retrieval.weights;
        ratio("retrieval.weights.semantic", weights.semantic, 0.0, 1.0)?;
        ratio("retrieval.weights.keyword", weights.keyword, 0.0, 1.0)?;
        ratio("retrieval.weights.recency", weights.recency, 0.0, 1.0)?;
        ratio("retrieval.weights.reference", weights.reference, 0.0, 1.0)?;
        ratio("compaction.lowWaterRatio", self.compaction.low_water_ratio, 0.0, 1.0)?;
        ratio("compaction.coldRatio", self.compaction.cold_ratio, 0.1, 1.0)?;
        ratio("compaction.cacheTtlMs", self.compaction.cache_ttl_ms, 0.0, 86_400_000.0)?;
        ratio("episodes.idleMs", self.episodes.idle_ms, 1_000.0, 1e10)?;
        ratio("episodes.maxAgeMs", self.episodes.max_age_ms, 0.0, 1e12)?;
        ratio("facts.minConfidence", self.facts.min_confidence, 0.0, 1.0)?;
        ratio("facts.idleMs", self.facts.idle_ms, 0.0, 86_400_000.0)?;
        ratio("facts.minScore", self.facts.min_score, 0.0, 1.0)?;
        ratio("facts.auditDays", self.facts.audit_days, 0.0, 3_650.0)?;
        ratio("limits.callbackTimeoutMs", self.limits.callback_timeout_ms, 1.0, 86_400_000.0)?;
        let query_ms = self.limits.query_embedding_timeout_ms;
        ratio("limits.queryEmbeddingTimeoutMs", query_ms, 1.0, 86_400_000.0)?;
        ratio("limits.messageBytes", f64::from(self.limits.message_bytes), 1.0, f64::from(MOST_MESSAGE_BYTES))?;
        ratio("limits.jobRetryMs", self.limits.job_retry_ms, 0.0, 3_600_000.0)?;
        ratio("toolResults.shrunkTokens", f64::from(self.tool_results.shrunk_tokens), 16.0, 1e6)?;
        if self.recent.max_messages == Some(0) {
            return Err(Error::new(
                Code::InvalidConfig,
                "policy.recent.maxMessages is 0; give 1 or more, or leave it out",
            ));
        }
        Ok(())
    }
}

crate::json_reader::deserialize_as_json!(
    Policy,
    BudgetPolicy,
    RecentPolicy,
    Scope,
    RetrievalPolicy,
    RerankWeights,
    CompactionPolicy,
    EpisodePolicy,
    FactPolicy,
    ToolResultPolicy,
    LimitPolicy,
    VectorIndexChoice,
    Durability
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_every_field_may_be_left_out() {
        let policy: Policy = serde_json::from_str("{}").unwrap();
        assert_eq!(policy, Policy::default());
        policy.validate().unwrap();
    }

    #[test]
    fn bad_values_are_named() {
        let policy: Policy = serde_json::from_str(r#"{"recent":{"keepRatio":7}}"#).unwrap();
        let error = policy.validate().unwrap_err();
        assert_eq!(error.code, Code::InvalidConfig);
        assert!(error.message.contains("recent.keepRatio"));
        let policy: Policy = serde_json::from_str(r#"{"limits":{"messageBytes":16777217}}"#).unwrap();
        assert!(policy.validate().unwrap_err().message.contains("limits.messageBytes"));
        assert!(serde_json::from_str::<Policy>(r#"{"recnt":{}}"#).is_err());
    }
}
