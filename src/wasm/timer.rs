//! Timers of the host, in a page, a worker, a service worker or Node. A timer that is dropped is cleared.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout, catch)]
    fn set_timeout(callback: &JsValue, ms: f64) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(id: &JsValue);
}

/// Longest delay that browsers take, in milliseconds.
const LONGEST_MS: f64 = 2_147_483_647.0;

/// A running timer.
pub(super) struct Timer {
    id: JsValue,
    _callback: Closure<dyn FnMut()>,
}

impl Timer {
    /// Calls back once, after `ms` milliseconds, unless dropped before. `None` where the host has no timers.
    pub(super) fn start(ms: f64, callback: impl FnOnce() + 'static) -> Option<Self> {
        let callback = Closure::once(callback);
        let id = set_timeout(callback.as_ref(), ms.clamp(0.0, LONGEST_MS)).ok()?;
        Some(Self { id, _callback: callback })
    }
}

impl Timer {
    /// Lets Node end although it runs.
    pub(super) fn unref(self) -> Self {
        let unref = js_sys::Reflect::get(&self.id, &JsValue::from_str("unref")).ok();
        if let Some(unref) = unref.and_then(|unref| unref.dyn_into::<js_sys::Function>().ok()) {
            let _ = unref.call0(&self.id);
        }
        self
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}

#[derive(Default)]
struct Fired {
    done: bool,
    waker: Option<Waker>,
}

/// Resolves after a time.
pub(super) struct Sleep {
    state: Rc<RefCell<Fired>>,
    _timer: Option<Timer>,
}

impl Sleep {
    pub(super) fn new(ms: f64) -> Self {
        let state = Rc::new(RefCell::new(Fired::default()));
        let fired = Rc::clone(&state);
        let timer = Timer::start(ms, move || {
            let waker = {
                let mut fired = fired.borrow_mut();
                fired.done = true;
                fired.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self { state, _timer: timer }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.done {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
