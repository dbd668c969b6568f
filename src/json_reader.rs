//! Typed values out of JSON, field by field.
//!
//! Serde's derived readers bring 2 KB of WebAssembly for every type, most of it for what is never sent here (lists in
//! place of objects, other formats). Here a field is one call, and what is wrong is remembered until all are read.

use serde_json::{Map, Value};

/// A type that can be read from a JSON value.
pub(crate) trait FromJson: Sized {
    /// A missing field is as good as its [`FromJson::absent`].
    const OPTIONAL: bool = false;

    /// What stands in where there is nothing to be read.
    fn absent() -> Self;

    /// The value, or what it should have been.
    fn read(value: Value) -> Result<Self, String>;
}

/// A type that is read from the fields of an object.
pub(crate) trait FromFields: Sized {
    /// A field that is not known is an error: somebody misspelt it.
    const STRICT: bool = false;

    /// Takes the fields out. What cannot be read is remembered by `fields`, and the result is thrown away.
    fn from_fields(fields: &mut Fields) -> Self;
}

/// Reads JSON text. The error says what is wrong and names fields, never values.
pub(crate) fn read_json<T: FromJson>(text: &str) -> Result<T, String> {
    T::read(parse(text)?)
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON at line {}, column {}", error.line(), error.column()))
}

/// The fields of an object that were not taken yet.
pub(crate) struct Fields {
    object: Map<String, Value>,
    problem: Option<String>,
}

impl Fields {
    /// The fields of an object's JSON text. What cannot be read is told at the end, as a field's problem is.
    #[cfg(feature = "wasm")]
    pub(crate) fn of_text(text: &str) -> Self {
        parse(text).map_or_else(|problem| Self { object: Map::new(), problem: Some(problem) }, Self::of)
    }

    #[inline(never)]
    fn of(value: Value) -> Self {
        match value {
            Value::Object(object) => Self { object, problem: None },
            _ => Self { object: Map::new(), problem: Some("an object is expected".to_owned()) },
        }
    }

    /// A field; required, unless it is optional by its type.
    pub(crate) fn take<T: FromJson>(&mut self, name: &'static str) -> T {
        match self.object.swap_remove(name) {
            Some(value) => self.checked(name, T::read(value)).unwrap_or_else(T::absent),
            None => {
                if !T::OPTIONAL {
                    self.fail(name, "is missing");
                }
                T::absent()
            }
        }
    }

    /// A field that is `default` where it is missing.
    pub(crate) fn take_or<T: FromJson>(&mut self, name: &'static str, default: T) -> T {
        match self.object.swap_remove(name) {
            Some(value) => self.checked(name, T::read(value)).unwrap_or(default),
            None => default,
        }
    }

    /// A field where missing (`None`) is another thing than null (`Some(None)`).
    pub(crate) fn given<T: FromJson>(&mut self, name: &'static str) -> Option<Option<T>> {
        self.object.contains_key(name).then(|| self.take(name))
    }

    fn checked<T>(&mut self, name: &'static str, read: Result<T, String>) -> Option<T> {
        read.map_err(|problem| self.fail(name, &problem)).ok()
    }

    #[inline(never)]
    fn fail(&mut self, name: &str, problem: &str) {
        self.problem.get_or_insert_with(|| format!("field `{name}`: {problem}"));
    }

    /// Whether all could be read; else what was wrong. A field that nobody took is wrong where it is read strictly.
    #[inline(never)]
    pub(crate) fn end(self, strict: bool) -> Result<(), String> {
        let unknown = self.object.keys().next().filter(|_| strict).map(|name| format!("unknown field `{name}`"));
        self.problem.or(unknown).map_or(Ok(()), Err)
    }
}

impl<T: FromFields> FromJson for T {
    fn absent() -> Self {
        Self::from_fields(&mut Fields { object: Map::new(), problem: None })
    }

    fn read(value: Value) -> Result<Self, String> {
        let mut fields = Fields::of(value);
        let out = Self::from_fields(&mut fields);
        fields.end(Self::STRICT).map(|()| out)
    }
}

impl<T: FromJson> FromJson for Option<T> {
    const OPTIONAL: bool = true;

    fn absent() -> Self {
        None
    }

    fn read(value: Value) -> Result<Self, String> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn absent() -> Self {
        Self::new()
    }

    fn read(value: Value) -> Result<Self, String> {
        let Value::Array(values) = value else { return Err("a list is expected".to_owned()) };
        values.into_iter().map(T::read).collect()
    }
}

impl FromJson for String {
    fn absent() -> Self {
        Self::new()
    }

    fn read(value: Value) -> Result<Self, String> {
        if let Value::String(text) = value { Ok(text) } else { Err("a text is expected".to_owned()) }
    }
}

impl FromJson for Value {
    fn absent() -> Self {
        Self::Null
    }

    fn read(value: Value) -> Result<Self, String> {
        Ok(value)
    }
}

/// Types that are read from a JSON scalar.
macro_rules! scalars {
    ($($type:ty: $read:expr, $expected:literal;)*) => {$(
        impl FromJson for $type {
            fn absent() -> Self {
                Self::default()
            }

            fn read(value: Value) -> Result<Self, String> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(&value).ok_or_else(|| $expected.to_owned())
            }
        }
    )*};
}

scalars! {
    bool: Value::as_bool, "true or false is expected";
    f64: Value::as_f64, "a number is expected";
    u64: Value::as_u64, "a whole number from 0 is expected";
    u32: |value| value.as_u64()?.try_into().ok(), "a whole number from 0 to 4294967295 is expected";
    u8: |value| value.as_u64()?.try_into().ok(), "a whole number from 0 to 255 is expected";
    usize: |value| value.as_u64()?.try_into().ok(), "a whole number from 0 is expected";
}

/// Reads an enumeration by the names of its variants.
macro_rules! json_names {
    ($type:ty { $first:ident: $first_name:literal $(, $variant:ident: $name:literal)* $(,)? }) => {
        impl $crate::json_reader::FromJson for $type {
            fn absent() -> Self {
                Self::$first
            }

            fn read(value: serde_json::Value) -> std::result::Result<Self, String> {
                match value.as_str() {
                    Some($first_name) => Ok(Self::$first),
                    $(Some($name) => Ok(Self::$variant),)*
                    _ => Err(concat!("one of ", $first_name $(, ", ", $name)*, " is expected").to_owned()),
                }
            }
        }
    };
}
pub(crate) use json_names;

/// Makes types of [`FromJson`] readable by serde too, for hosts and tests that hold JSON values.
macro_rules! deserialize_as_json {
    ($($type:ty),* $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                $crate::json_reader::FromJson::read(value).map_err(serde::de::Error::custom)
            }
        }
    )*};
}
pub(crate) use deserialize_as_json;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Sample {
        name: String,
        count: u32,
        ratio: f64,
        note: Option<String>,
        key: Option<Option<String>>,
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq)]
    struct Inner {
        on: bool,
    }

    impl FromFields for Sample {
        const STRICT: bool = true;

        fn from_fields(fields: &mut Fields) -> Self {
            Self {
                name: fields.take("name"),
                count: fields.take("count"),
                ratio: fields.take_or("ratio", 0.5),
                note: fields.take("note"),
                key: fields.given("key"),
                inner: fields.take_or("inner", Vec::new()),
            }
        }
    }

    impl FromFields for Inner {
        fn from_fields(fields: &mut Fields) -> Self {
            Self { on: fields.take("on") }
        }
    }

    #[test]
    fn reads_what_is_there_and_knows_missing_from_null() {
        let sample: Sample =
            read_json(r#"{"count":3,"name":"a","key":null,"inner":[{"on":true,"later":1}],"note":null}"#).unwrap();
        let inner = vec![Inner { on: true }];
        assert_eq!(sample, Sample { name: "a".into(), count: 3, ratio: 0.5, note: None, key: Some(None), inner });
        assert_eq!(read_json::<Sample>(r#"{"count":3,"name":"a"}"#).unwrap().key, None);
    }

    #[test]
    fn names_the_field_and_no_value() {
        let problem = |text: &str| read_json::<Sample>(text).unwrap_err();
        assert_eq!(problem(r#"{"name":"a"}"#), "field `count`: is missing");
        assert_eq!(problem(r#"{"name":5,"count":1}"#), "field `name`: a text is expected");
        assert_eq!(
            problem(r#"{"name":"a","count":-1}"#),
            "field `count`: a whole number from 0 to 4294967295 is expected"
        );
        assert_eq!(problem(r#"{"name":"a","count":1,"nmae":1}"#), "unknown field `nmae`");
        assert_eq!(problem(r#"{"name":"a","count":1,"inner":[{}]}"#), "field `inner`: field `on`: is missing");
        assert_eq!(problem("[]"), "an object is expected");
        assert_eq!(problem("{"), "no JSON at line 1, column 1");
    }
}
