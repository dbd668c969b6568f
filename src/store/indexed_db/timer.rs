//! A timer that works in every global scope, and ends with its owner.

use js_sys::{Function, Promise, Reflect};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Resolves after its time; stops the platform's timer when dropped.
pub(super) struct Timer {
    fired: JsFuture,
    id: JsValue,
}

/// A function of the global scope: `window` is not there in workers.
fn global_function(name: &str) -> Option<Function> {
    Reflect::get(&js_sys::global(), &name.into()).ok()?.dyn_into().ok()
}

impl Timer {
    /// A timer of `ms` milliseconds. Without `setTimeout` it never fires.
    pub(super) fn new(ms: f64) -> Self {
        let mut id = JsValue::UNDEFINED;
        let promise = Promise::new(&mut |resolve, _| {
            if let Some(set_timeout) = global_function("setTimeout") {
                id = set_timeout.call2(&JsValue::UNDEFINED, &resolve, &ms.into()).unwrap_or(JsValue::UNDEFINED);
            }
        });
        Self { fired: JsFuture::from(promise), id }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.fired).poll(context).map(|_| ())
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
