//! What is asked of an engine, as futures that answer in the model's words.

use super::host::LocalLocks;
use super::model::{Answer, Change, New};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use throughline::engine::{
    AppendRequest, Appended, ConversationUpdate, EditRequest, Engine, EraseRequest, FactFilter, LeafRequest,
    NewConversation, NewFact, RemoveRequest, StreamUpdate,
};
use throughline::error::{Error, Result};

/// The answer, and whether it was said to be on disk.
pub type Asked = Pin<Box<dyn Future<Output = Result<(Answer, bool)>>>>;

fn stored(appended: Vec<Appended>) -> (Answer, bool) {
    let durable = appended.iter().all(|one| one.durable);
    (Answer::Stored(appended.into_iter().map(|one| (one.id, one.seq)).collect()), durable)
}

fn append(conversation: &str, messages: &[New]) -> AppendRequest {
    let messages = messages.iter().map(|new| new.raw.clone()).collect();
    AppendRequest { conversation_id: conversation.into(), messages, ..AppendRequest::default() }
}

/// Asks for a change.
pub fn ask(engine: Rc<Engine>, locks: LocalLocks, change: Change) -> Asked {
    Box::pin(async move {
        let done = |()| (Answer::Done, true);
        match change {
            Change::Create { conversation } => {
                // Every other one belongs to a project.
                let project_id = conversation.ends_with(['0', '2', '4']).then(|| "p".to_owned());
                let new = NewConversation { id: conversation, project_id, ..NewConversation::default() };
                engine.create_conversation(new).await.map(|_| done(()))
            }
            Change::Rename { conversation, title } => {
                let update = ConversationUpdate { id: conversation, title: Some(Some(title)), ..Default::default() };
                engine.update_conversation(update).await.map(|_| done(()))
            }
            Change::Append { conversation, messages, parent, activate, imported } => {
                let mut request = append(&conversation, &messages);
                (request.parent_id, request.imported) = (parent, imported);
                request.activate = (!activate).then_some(false);
                engine.append(request).await.map(stored)
            }
            Change::Begin { conversation, message } => {
                let mut request = append(&conversation, &[message]);
                request.streaming = true;
                engine.append(request).await.map(stored)
            }
            Change::Update { conversation, id, seq, raw, status } => {
                let update = StreamUpdate { conversation_id: conversation, id, seq, message: raw, status };
                engine.update_stream(update).await.map(|one| stored(vec![one]))
            }
            Change::Edit { conversation, id, message } => {
                let request = EditRequest {
                    conversation_id: conversation,
                    message_id: id,
                    message: message.raw,
                    ..EditRequest::default()
                };
                let edited = engine.edit(request).await?;
                Ok((Answer::Stored(vec![(edited.id, edited.seq)]), edited.durable))
            }
            Change::Leaf { conversation, id, descend } => {
                let request = LeafRequest { conversation_id: conversation, message_id: id, descend };
                engine.set_active_leaf(request).await.map(|_| done(()))
            }
            Change::Remove { conversation, id, descendants } => {
                let request = RemoveRequest { conversation_id: conversation, message_id: id, descendants };
                engine.remove(request).await.map(|_| done(()))
            }
            Change::EraseMessage { conversation, id } => {
                let request = EraseRequest {
                    conversation_id: Some(conversation),
                    message_id: Some(id),
                    ..EraseRequest::default()
                };
                engine.erase(request).await.map(|_| done(()))
            }
            Change::EraseConversation { conversation } => {
                let request = EraseRequest { conversation_id: Some(conversation), ..EraseRequest::default() };
                engine.erase(request).await.map(|_| done(()))
            }
            Change::EraseUser => {
                engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.map(|_| done(()))
            }
            Change::Import { backup, trusted, bring_back } => {
                backup.import(&engine, locks, trusted, bring_back).await.map(done)
            }
            Change::AddFact { text } => {
                engine.add_fact(NewFact { fact: text, ..NewFact::default() }).await.map(|_| done(()))
            }
            Change::DropFact { text, erase } => {
                let facts = engine.list_facts(FactFilter::default()).await?;
                let found = facts.into_iter().find(|fact| fact.fact == text);
                let id = found.ok_or_else(|| Error::not_found("the test's fact is not listed"))?.id;
                if erase {
                    engine.erase(EraseRequest { fact_id: Some(id), ..EraseRequest::default() }).await.map(|_| done(()))
                } else {
                    engine.forget_fact(&id).await.map(done)
                }
            }
        }
    })
}
