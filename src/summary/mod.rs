//! Compaction: which range of old messages is folded next into the rolling summary, what the model is asked, whether its
//! answer may replace anything, and how the summary reads in a prompt.
//!
//! Pure decisions. One run of the engine: [`plan`] names a range of whole turn groups; [`pieces`] cuts its [`Entry`]s to
//! what fits the model (usually one piece); for each piece [`request`] and [`parse_and_validate`]; then [`advance`] and
//! [`node`] give the records, which are committed together or not at all. A failure anywhere leaves the old summary and
//! the cursor as they were.

mod answer;
mod descent;
mod identifiers;
mod plan;
mod render;
mod request;
mod topics;
mod transcript;

pub use answer::{AnswerLimits, parse_and_validate};
pub use descent::{Landing, descend};
pub use identifiers::{identifiers, merge_identifiers};
pub use plan::{MessageMeta, Plan, PlanInput, Reach, plan};
pub use render::{advance, node, one_line, render, render_project, render_within};
pub use request::{Task, input_tokens, request, room_tokens};
pub use topics::{is_topic_of, joined, node_hash, topic_node, topic_ranges};
pub use transcript::{Entry, pieces, trust_of};

/// The named sections in the order in which they are asked for and shown, each with its heading.
pub const SECTIONS: [(&str, &str); 8] = [
    ("goal", "Goal"),
    ("confirmed", "Confirmed facts"),
    ("decisions", "Decisions"),
    ("constraints", "Constraints"),
    ("failed", "Failed attempts"),
    ("open", "Open questions"),
    ("next", "Next steps"),
    ("identifiers", "Identifiers"),
];
