/** The table of each store. */
export const TABLES: Readonly<Record<string, string>> = {
  meta: "memory_meta",
  conversations: "conversations",
  messages: "conversation_messages",
  message_ids: "conversation_message_ids",
  summaries: "conversation_summaries",
  summary_heads: "conversation_summary_heads",
  facts: "user_memories",
  fact_sources: "memory_sources",
  episodes: "episodes",
  notes: "notes",
  embeddings: "message_embeddings",
  segments: "index_segments",
  segment_chunks: "index_segment_chunks",
  jobs: "jobs",
  audit: "audit",
  changes: "changes",
};
