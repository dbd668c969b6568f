//! Reading messages of a store that may be damaged: what can be read is read, and a hole has the form of a removed message.
//!
//! Positions are dense from 1, and a scan sees one moment of the store. So a position that is skipped in front of one that
//! is there was lost, and so was one whose record cannot be read; everything else copes with removed messages already.

use super::Engine;
use super::stored::{content_hash, decode_unsealed, encode, is_as_sealed, unsealed};
use crate::error::{Code, Error, Result};
use crate::formats::{self, FormatChoice};
use crate::key;
use crate::message::Seq;
use crate::ports::{Key, KeyPart, Query, Record, Store};
use crate::records::{MessageRecord, MessageStatus};

/// A record that fails so often, while others can be read, is damaged: a browser that loses its storage process fails a
/// few reads in a row, and a message must not be taken for lost because of that.
const READ_TRIES: u32 = 5;

impl Engine {
    /// Stored messages of a range, both ends inclusive.
    pub(super) async fn read_messages(
        &self,
        conversation_id: &str,
        from: Seq,
        to: Seq,
        limit: Option<u32>,
    ) -> Result<Vec<MessageRecord>> {
        if from > to {
            return Ok(Vec::new());
        }
        let records = self.scan_messages(conversation_id, from, to, limit.map(|limit| limit as usize)).await?;
        let until = records.last().and_then(|(key, _)| seq_of(key)).unwrap_or(0);
        Ok(self.readable(conversation_id, from, until, &records))
    }

    /// The records of a range as they are. Where the browser cannot read the range as a whole, record by record.
    pub(super) async fn scan_messages(
        &self,
        id: &str,
        from: Seq,
        to: Seq,
        limit: Option<usize>,
    ) -> Result<Vec<(Key, Record)>> {
        let mut query = Query::between(Store::Messages, key![id], from, to);
        query.limit = limit;
        match self.scan(query).await {
            Err(error) if error.code == Code::StorageUnavailable => {
                self.scan_record_by_record(id, from, to, limit, error).await
            }
            scanned => scanned,
        }
    }

    async fn scan_record_by_record(
        &self,
        id: &str,
        from: Seq,
        to: Seq,
        limit: Option<usize>,
        error: Error,
    ) -> Result<Vec<(Key, Record)>> {
        let last = self.state.borrow().conversation(id).map(|conversation| conversation.stored.value.last_seq);
        let Some(last) = last else { return Err(error) };
        let mut found = Vec::new();
        for seq in from..=to.min(last) {
            if limit.is_some_and(|limit| found.len() >= limit) {
                break;
            }
            found.extend(self.read_stubbornly(key![id, seq]).await?);
        }
        Ok(found)
    }

    /// One message's record; an empty one where it cannot be read though others can.
    async fn read_stubbornly(&self, key: Key) -> Result<Option<(Key, Record)>> {
        for _ in 0..READ_TRIES {
            match self.host.storage.get(vec![(Store::Messages, key.clone())]).await {
                Ok(mut records) => return Ok(records.pop().flatten().map(|record| (key, record))),
                // Where nothing else can be read either, it is not this record that is damaged.
                Err(failed) if failed.code == Code::StorageUnavailable => drop(self.standing_stamp().await?),
                Err(failed) => return Err(failed),
            }
        }
        Ok(Some((key, Record::default())))
    }

    /// One message for each position up to `until`: holes are noted, and filled.
    pub(super) fn readable(&self, id: &str, from: Seq, until: Seq, records: &[(Key, Record)]) -> Vec<MessageRecord> {
        let mut messages = Vec::with_capacity(records.len());
        let mut next = from;
        for (key, record) in records {
            let Some(seq) = seq_of(key) else { continue };
            while next < seq {
                self.note_missing(id, next);
                messages.push(hole(id, next));
                next += 1;
            }
            next = seq.saturating_add(1);
            match read_message(record) {
                Ok((message, is_whole)) if message.seq == seq => {
                    if !is_whole {
                        self.note_unreadable(Store::Messages, key);
                    }
                    messages.push(message);
                }
                Ok(_) | Err(_) => {
                    self.note_unreadable(Store::Messages, key);
                    messages.push(hole(id, seq));
                }
            }
        }
        for seq in next..=until {
            self.note_missing(id, seq);
            messages.push(hole(id, seq));
        }
        self.tell_losses();
        messages
    }
}

/// A message, and whether it says what was written. Where its record was changed on the disk, what is visible of it is read
/// once more out of the app's own object: if that makes the record of before, nothing is lost.
///
/// # Errors
/// `storage_corrupt`: it is no message any more.
pub(super) fn read_message(record: &Record) -> Result<(MessageRecord, bool)> {
    let message: MessageRecord = decode_unsealed(Store::Messages, record)?;
    let sum = unsealed(&record.body).map(|(_, sum)| sum);
    if is_as_sealed(&record.body) && (sum.is_some() || is_as_hashed(&message)) {
        return Ok((message, true));
    }
    if message.removed {
        return Ok((message, false));
    }
    // What cannot be read as a message would be in the way of every context that it is in.
    let parsed = formats::parse(&message.raw, FormatChoice::Exact(message.format))
        .map_err(|error| error.with_code(Code::StorageCorrupt))?
        .message;
    let mended = MessageRecord {
        role: parsed.role,
        name: parsed.name.clone(),
        text: parsed.text(),
        normalized: parsed.normalized,
        opens_group: super::append::opens_group(&parsed),
        ..message.clone()
    };
    let again = encode(&mended)?;
    let is_mended = sum.is_some() && unsealed(&again.body).map(|(_, sum)| sum) == sum;
    Ok((if is_mended { mended } else { message }, is_mended))
}

/// Whether the text is the one that was hashed. What is streaming keeps the hash of its beginning.
fn is_as_hashed(message: &MessageRecord) -> bool {
    message.removed || message.status != MessageStatus::Complete || message.content_hash == content_hash(&message.raw)
}

/// What stands for a message that cannot be read. It follows the one before it, so that the path goes on through it.
fn hole(id: &str, seq: Seq) -> MessageRecord {
    MessageRecord { parent_seq: seq.saturating_sub(1), ..MessageRecord::tombstone(id, seq) }
}

/// The position in a message's key.
pub(super) fn seq_of(key: &Key) -> Option<Seq> {
    match key.0.get(1)? {
        KeyPart::Number(number) => Seq::try_from(*number).ok(),
        KeyPart::Text(_) => None,
    }
}
