//! The platform's cipher, and the key that the app holds, as ports: keys and sealing stay in JavaScript (js/store-lock.ts).

use super::convert::error_from_js;
use crate::error::{Code, Error, Result};
use crate::ports::Pending;
use crate::store::encrypted::{Cipher, KeyHolder, Labelled, Unlocked};
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// `unlock(header)` answers a promise of `{ header, names, seal, open }`.
pub struct JsKeyHolder(pub Function);

/// `seal` and `open` take an array of labels and bytes by turns, and answer a promise of an array of bytes.
struct JsCipher {
    seal: Function,
    open: Function,
}

impl KeyHolder for JsKeyHolder {
    fn unlock<'a>(&'a self, header: Option<String>) -> Pending<'a, Unlocked> {
        Box::pin(async move {
            let unlocked = call(&self.0, &header.map_or(JsValue::UNDEFINED, JsValue::from)).await?;
            let field = |name: &str| Reflect::get(&unlocked, &name.into()).unwrap_or(JsValue::UNDEFINED);
            let names = field("names").dyn_into::<Uint8Array>().ok().and_then(|names| names.to_vec().try_into().ok());
            let (Some(header), Some(names), Ok(seal), Ok(open)) =
                (field("header").as_string(), names, field("seal").dyn_into(), field("open").dyn_into())
            else {
                return Err(foreign());
            };
            Ok(Unlocked { header, names, cipher: Rc::new(JsCipher { seal, open }) })
        })
    }
}

impl Cipher for JsCipher {
    fn seal<'a>(&'a self, plain: Vec<Labelled>) -> Pending<'a, Vec<Vec<u8>>> {
        Box::pin(async move {
            let sealed = all(&self.seal, plain).await?;
            sealed.into_iter().map(|bytes| bytes.ok_or_else(foreign)).collect()
        })
    }

    fn open<'a>(&'a self, sealed: Vec<Labelled>) -> Pending<'a, Vec<Option<Vec<u8>>>> {
        Box::pin(all(&self.open, sealed))
    }
}

/// One call for all: each would take a turn of the event loop.
async fn all(function: &Function, items: Vec<Labelled>) -> Result<Vec<Option<Vec<u8>>>> {
    let count = items.len();
    let given = Array::new();
    for Labelled { label, bytes } in items {
        given.push(&Uint8Array::from(label.as_slice()));
        given.push(&Uint8Array::from(bytes.as_slice()));
    }
    let answer = Array::from(&call(function, &given).await?);
    if answer.length() as usize != count {
        return Err(foreign());
    }
    Ok(answer.iter().map(|bytes| bytes.dyn_into::<Uint8Array>().ok().map(|bytes| bytes.to_vec())).collect())
}

async fn call(function: &Function, argument: &JsValue) -> Result<JsValue> {
    let failed = |error: JsValue| error_from_js(&error, Code::StorageUnavailable);
    let promise: Promise = function.call1(&JsValue::NULL, argument).map_err(failed)?.unchecked_into();
    JsFuture::from(promise).await.map_err(failed)
}

fn foreign() -> Error {
    Error::new(
        Code::StorageUnavailable,
        "the platform's cipher answered something else than was asked; reload the page",
    )
}
