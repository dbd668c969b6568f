//! Calls under way: polled in random order until they are done, their tab is gone, or nothing comes any more.

use super::asking::{Asked, ask};
use super::choosing::Errand;
use super::disk::Weather;
use super::explaining::Outcome;
use super::host::Answer as ModelAnswer;
use super::model::Change;
use super::play::{Play, TABS};
use futures_util::task::noop_waker;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use throughline::engine::{ContextRequest, Engine, RecallRequest};
use throughline::error::Result as EngineResult;
use throughline::ports::Purpose;

/// Polls without any progress after which nothing more comes.
const PATIENCE: u32 = 2_000;
/// Polls of one step after which something runs in circles.
const MOST_POLLS: u32 = 50_000;

enum Task {
    Change(usize, Change, Asked),
    Errand(usize, Pin<Box<dyn Future<Output = EngineResult<()>>>>),
}

impl Play {
    pub fn batch(&mut self) -> Result<(), String> {
        self.open()?;
        let is_stormy = self.random.happens(300);
        if is_stormy {
            self.disk.set_weather(Weather::STORM);
            if self.random.happens(100) {
                self.model.inner.then(Purpose::Summarize, ModelAnswer::Hang);
            }
        }
        let count = if self.random.happens(700) { 1 } else { 2 + self.random.below(2) };
        let mut tasks = Vec::new();
        for _ in 0..count {
            let tab = self.random.below(TABS);
            let engine = Rc::clone(&self.tabs[tab].engine);
            if self.random.happens(250) {
                let errand = self.errand();
                tasks.push(Task::Errand(tab, self.run_errand(tab, engine, errand)));
            } else {
                let change = self.change();
                self.log.push(format!("tab {}: {change:?}", self.tabs[tab].number));
                tasks.push(Task::Change(tab, change.clone(), ask(engine, self.locks.clone(), change)));
            }
        }
        let crashes = self.random.happens(80).then(|| 1 + self.random.below(40) as u32);
        let (outcomes, gone) = self.poll(tasks, crashes)?;
        for at in (0..TABS).rev().filter(|at| gone.contains(at)) {
            self.drop_tab(at);
        }
        self.disk.settle();
        self.disk.set_weather(Weather::FAIR);
        self.judge(&outcomes, is_stormy)
    }

    /// Polls all in random order until they are done. With `crashes`, a tab is gone after so many polls; a tab whose
    /// request hangs is closed by its user.
    #[allow(clippy::type_complexity)]
    fn poll(
        &mut self,
        tasks: Vec<Task>,
        crashes: Option<u32>,
    ) -> Result<(Vec<(usize, Change, Outcome)>, BTreeSet<usize>), String> {
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut open: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
        let mut outcomes: Vec<Option<(usize, Change, Outcome)>> = open.iter().map(|_| None).collect();
        let mut gone = BTreeSet::new();
        // Calls begin in their order.
        let mut begun = 0;
        let (mut polls, mut idle) = (0, 0);
        loop {
            let left: Vec<usize> = (0..open.len()).filter(|at| open[*at].is_some()).collect();
            let Some(mut at) = self.random.pick(&left).copied() else { break };
            if begun < open.len() {
                (at, begun) = (begun, begun + 1);
            }
            polls += 1;
            idle += 1;
            if polls > MOST_POLLS {
                return Err("a call never ends, though it goes on asking".into());
            }
            let victim = match crashes {
                Some(after) if polls == after => true,
                _ => idle > PATIENCE,
            };
            if victim {
                idle = 0;
                let tab = match &open[at] {
                    Some(Task::Change(tab, ..) | Task::Errand(tab, _)) => *tab,
                    None => continue,
                };
                gone.insert(tab);
                for (task, outcome) in open.iter_mut().zip(&mut outcomes) {
                    let is_its = matches!(task, Some(Task::Change(of, ..) | Task::Errand(of, _)) if *of == tab);
                    if is_its && let Some(Task::Change(tab, change, _)) = task.take() {
                        *outcome = Some((tab, change, Outcome::Unknown));
                    }
                }
                continue;
            }
            let is_done = match &mut open[at] {
                Some(Task::Change(tab, change, asked)) => match asked.as_mut().poll(&mut context) {
                    Poll::Ready(answer) => {
                        let outcome = match answer {
                            Ok((answer, durable)) => Outcome::Answered(answer, durable),
                            Err(error) => Outcome::Refused(error),
                        };
                        outcomes[at] = Some((*tab, change.clone(), outcome));
                        true
                    }
                    Poll::Pending => false,
                },
                Some(Task::Errand(_, errand)) => match errand.as_mut().poll(&mut context) {
                    Poll::Ready(Ok(())) => true,
                    Poll::Ready(Err(error)) => return Err(format!("an errand: {error}")),
                    Poll::Pending => false,
                },
                None => false,
            };
            if is_done {
                open[at] = None;
                idle = 0;
            }
            if self.random.happens(300) && self.disk.step() {
                idle = 0;
            }
        }
        Ok((outcomes.into_iter().flatten().collect(), gone))
    }

    /// What an errand answers is looked at where nothing else happens (`compare_everything`); here it is company.
    fn run_errand(
        &mut self,
        tab: usize,
        engine: Rc<Engine>,
        errand: Errand,
    ) -> Pin<Box<dyn Future<Output = EngineResult<()>>>> {
        let name = match &errand {
            Errand::Work => "works".into(),
            Errand::Compact(id, force) => format!("compacts {id}, force {force}"),
            Errand::Recall(id) => format!("recalls in {id}"),
            Errand::Context(id) => format!("builds a context of {id}"),
            Errand::History(id) => format!("reads {id}"),
            Errand::List => "lists".into(),
            Errand::Flush => "flushes".into(),
        };
        self.log.push(format!("tab {} {name}", self.tabs[tab].number));
        Box::pin(async move {
            // Storage fails and models do not answer: errors are fine here, panics are not.
            match errand {
                Errand::Work => engine.work().await,
                Errand::Compact(id, force) => drop(engine.compact(&id, force).await),
                Errand::Recall(id) => drop(engine.recall(recall("harbour port", Some(&id))).await),
                Errand::Context(id) => drop(engine.build_context(context(&id)).await),
                Errand::History(id) => drop(engine.history(&id, None, None, None).await),
                Errand::List => drop(engine.list_conversations(None, None).await),
                Errand::Flush => drop(engine.flush().await),
            }
            Ok(())
        })
    }
}

pub fn recall(query: &str, conversation_id: Option<&str>) -> RecallRequest {
    let request = serde_json::json!({ "query": query, "conversationId": conversation_id });
    serde_json::from_value(request).expect("is a search")
}

pub fn context(id: &str) -> ContextRequest {
    ContextRequest {
        conversation_id: id.to_owned(),
        question: Some("What was said about the harbour?".into()),
        ..ContextRequest::default()
    }
}

/// Polls to the end what nothing disturbs.
pub fn finish<T>(mut future: Pin<Box<dyn Future<Output = T> + '_>>) -> Result<T, String> {
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    for _ in 0..200_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Ok(value);
        }
    }
    Err("a call never ends".into())
}
