//! Which database is a user's, and opening it: plain, or with the app's key.

use super::cipher::JsKeyHolder;
use crate::error::{Code, Error, Result};
use crate::key;
use crate::store::encrypted::{EncryptedStore, hidden_user};
use crate::store::indexed_db::{IndexedDbStore, Lifecycle, is_listed};
use crate::store::reserve::Reserve;
use crate::store::{Storage, Store};
use std::rc::Rc;

/// Opens a user's database, and makes one where there is none; `watching` is told what happens to it.
///
/// # Errors
/// [`Code::StorageKeyWrong`] when the user's data is stored with another key, or with one and none is given, or without.
pub(super) async fn open(
    app: &str,
    user_id: &str,
    holder: Option<JsKeyHolder>,
    watching: impl Fn(Lifecycle) + Clone + 'static,
) -> Result<Rc<dyn Storage>> {
    let escaped = |text: &str| text.replace('%', "%25").replace(':', "%3A");
    // Colons of either are written `%3A`, so that no two pairs share a database, and none has three parts.
    let plain = format!("{}:{}", escaped(app), escaped(user_id));
    let sealed = format!("{}:sealed:{}", escaped(app), hidden_user(app, user_id));
    let (name, other) = if holder.is_some() { (sealed, plain) } else { (plain, sealed) };
    let store = match IndexedDbStore::open_existing_with(&name, watching.clone()).await? {
        Some(store) => store,
        None => {
            refuse_other(&other, holder.is_some()).await?;
            IndexedDbStore::open_with(&name, watching).await?
        }
    };
    let store: Rc<dyn Storage> = Rc::new(store);
    let store: Rc<dyn Storage> = match holder {
        Some(holder) => Rc::new(EncryptedStore::open(store, &holder).await?),
        None => store,
    };
    Ok(Rc::new(Reserve::new(store)))
}

/// A new database must not hide one that has the user's data: it would look as if all were lost. One that holds nothing,
/// because everything in it was erased, is deleted. (An encrypted user's plain name, with the id in it, must not be written,
/// so what is not listed is not opened.)
async fn refuse_other(name: &str, has_key: bool) -> Result<()> {
    if !is_listed(name).await {
        return Ok(());
    }
    let Some(other) = IndexedDbStore::open_existing(name).await? else { return Ok(()) };
    for store in [Store::Conversations, Store::Messages, Store::Facts] {
        if other.count(store, key![]).await? == 0 {
            continue;
        }
        other.close();
        return Err(Error::new(
            Code::StorageKeyWrong,
            if has_key {
                "this user's data is stored without encryption; open it without a key, export and erase it, then import it \
                 with the key"
            } else {
                "this user's data is encrypted; give the key that it was stored with"
            },
        ));
    }
    other.destroy().await
}
