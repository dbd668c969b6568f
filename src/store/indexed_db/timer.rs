//! A timer that works in every global scope, and ends with its owner.

use futures_util::future::{Either, select};
use js_sys::{Function, Reflect};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};

/// What a future gets beyond its limit. A page that slept or was busy finds its timer due before the events that came
/// meanwhile; they arrive within this.
const GRACE_MS: f64 = 100.0;

/// What a future brings, or `None` when it takes longer than `limit_ms`.
pub(super) async fn within<T>(limit_ms: f64, mut future: impl Future<Output = T> + Unpin) -> Option<T> {
    for ms in [limit_ms, GRACE_MS] {
        if let Either::Left((output, _)) = select(&mut future, Timer::new(ms)).await {
            return Some(output);
        }
    }
    None
}

/// Waits.
pub(super) async fn sleep(ms: f64) {
    Timer::new(ms).await;
}

/// Resolves after its time; stops the platform's timer when dropped.
///
/// Not a promise: one that never resolves would keep its handlers for ever.
struct Timer {
    state: Rc<State>,
    id: JsValue,
    /// Called by the platform until `drop` has stopped the timer.
    _on_time: Closure<dyn FnMut()>,
}

#[derive(Default)]
struct State {
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A function of the global scope: `window` is not there in workers.
fn global_function(name: &str) -> Option<Function> {
    Reflect::get(&js_sys::global(), &name.into()).ok()?.dyn_into().ok()
}

impl Timer {
    /// A timer of `ms` milliseconds. Without `setTimeout` it never fires.
    fn new(ms: f64) -> Self {
        let state: Rc<State> = Rc::default();
        let on_time = Closure::<dyn FnMut()>::new({
            let state = Rc::clone(&state);
            move || {
                state.fired.set(true);
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            }
        });
        let id = global_function("setTimeout")
            .and_then(|set_timeout| {
                set_timeout.call2(&JsValue::UNDEFINED, on_time.as_ref().unchecked_ref(), &ms.into()).ok()
            })
            .unwrap_or(JsValue::UNDEFINED);
        Self { state, id, _on_time: on_time }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.state.fired.get() {
            return Poll::Ready(());
        }
        self.state.waker.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(clear_timeout) = global_function("clearTimeout") {
            // It fails only where there is no timer to stop.
            let _ = clear_timeout.call1(&JsValue::UNDEFINED, &self.id);
        }
    }
}
