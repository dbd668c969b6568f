//! Images, audio and files between formats: where each keeps type, address or bytes.

use super::json::{Object, at, text};
use super::read::gemini_field;
use super::reference::address_kind;
use super::write::{texts, with};
use crate::message::Format;
use serde_json::Value;

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location<'a> {
    Base64(&'a str),
    Url(&'a str),
}

/// Media as a format gave it. References that only one account or provider can read (`file_id`) are not among them (R23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Media<'a> {
    kind: &'static str,
    media_type: Option<String>,
    location: Location<'a>,
    filename: Option<&'a str>,
}

impl<'a> Media<'a> {
    /// The media of a part, or `None` where its bytes cannot be had from the message.
    pub fn of(format: Format, kind: &'static str, part: &'a Value) -> Option<Self> {
        let part = part.as_object()?;
        match format {
            Format::OpenAi => Self::of_openai(kind, part),
            Format::Anthropic => Self::of_anthropic(kind, part),
            Format::OpenAiResponses => {
                let fields = ["image_url", "file_data", "file_url"];
                let Some(address) = fields.iter().find_map(|field| text(part, field)) else {
                    return Self::of_openai(kind, part);
                };
                Some(Self::of_address(kind, address, None, text(part, "filename")))
            }
            Format::Gemini => Self::of_gemini(kind, part),
            Format::LangChain => Self::of_langchain(kind, part),
            Format::AiSdkUi => Self::of_ai_sdk(kind, part, text(part, "url")?),
            Format::AiSdkModel => Self::of_ai_sdk(kind, part, text(part, "image").or_else(|| text(part, "data"))?),
        }
    }

    fn of_openai(kind: &'static str, part: &'a Object) -> Option<Self> {
        let nested = |outer: &str| part.get(outer).and_then(Value::as_object);
        if let Some(audio) = nested("input_audio") {
            let media_type = text(audio, "format").map(|format| format!("audio/{format}"));
            return Some(Self { kind, media_type, location: Location::Base64(text(audio, "data")?), filename: None });
        }
        if let Some(file) = nested("file") {
            return Some(Self::of_address(kind, text(file, "file_data")?, None, text(file, "filename")));
        }
        let url = nested("image_url").and_then(|image| text(image, "url")).or_else(|| text(part, "image_url"))?;
        Some(Self::of_address(kind, url, None, None))
    }

    fn of_anthropic(kind: &'static str, part: &'a Object) -> Option<Self> {
        let source = part.get("source")?.as_object()?;
        let media_type = text(source, "media_type").map(str::to_owned);
        let location = match text(source, "type")? {
            "base64" => Location::Base64(text(source, "data")?),
            "url" => Location::Url(text(source, "url")?),
            _ => return None,
        };
        let is_pdf_url = kind == "file" && matches!(location, Location::Url(_));
        let media_type = media_type.or_else(|| is_pdf_url.then(|| "application/pdf".to_owned()));
        Some(Self { kind, media_type, location, filename: text(part, "title") })
    }

    fn of_gemini(kind: &'static str, part: &'a Object) -> Option<Self> {
        let inline = gemini_field(part, "inlineData", "inline_data").and_then(Value::as_object);
        let file = gemini_field(part, "fileData", "file_data").and_then(Value::as_object);
        let fields = inline.or(file)?;
        let media_type = gemini_field(fields, "mimeType", "mime_type").and_then(Value::as_str).map(str::to_owned);
        let location = match inline {
            Some(inline) => Location::Base64(text(inline, "data")?),
            None => Location::Url(gemini_field(fields, "fileUri", "file_uri")?.as_str()?),
        };
        Some(Self { kind, media_type, location, filename: text(fields, "displayName") })
    }

    /// Blocks of OpenAI and Anthropic, LangChain's own (`source_type`, later without it), Google's `media`.
    fn of_langchain(kind: &'static str, part: &'a Object) -> Option<Self> {
        if part.contains_key("source") {
            return Self::of_anthropic(kind, part);
        }
        let media_type = text(part, "mimeType").or_else(|| text(part, "mime_type")).map(str::to_owned);
        let filename = text(part, "filename").or_else(|| at(part, &["metadata", "filename"])?.as_str());
        if let Some(data) = text(part, "data").or_else(|| text(part, "base64")) {
            return Some(Self::of_address(kind, data, media_type, filename));
        }
        match text(part, "url").or_else(|| text(part, "fileUri")) {
            Some(url) => Some(Self { kind, media_type, location: Location::Url(url), filename }),
            None => Self::of_openai(kind, part),
        }
    }

    fn of_ai_sdk(kind: &'static str, part: &'a Object, address: &'a str) -> Option<Self> {
        let media_type = text(part, "mediaType").or_else(|| text(part, "mimeType")).map(str::to_owned);
        Some(Self::of_address(kind, address, media_type, text(part, "filename")))
    }

    /// From a data URL, a URL or plain base64.
    fn of_address(kind: &'static str, address: &'a str, media_type: Option<String>, filename: Option<&'a str>) -> Self {
        if let Some((head, data)) = address.strip_prefix("data:").and_then(|rest| rest.split_once(','))
            && let Some(own_type) = head.strip_suffix(";base64")
        {
            let media_type = media_type.or_else(|| Some(own_type.to_owned()).filter(|own| !own.is_empty()));
            return Self { kind, media_type, location: Location::Base64(data), filename };
        }
        let is_url = address.contains("://") || address.starts_with("data:");
        let location = if is_url { Location::Url(address) } else { Location::Base64(address) };
        Self { kind, media_type, location, filename }
    }

    fn is_type(&self, types: &[&str]) -> bool {
        self.media_type.as_deref().is_some_and(|own| types.contains(&own))
    }

    /// A URL: the address, or the bytes as a data URL.
    fn url(&self) -> String {
        match self.location {
            Location::Url(url) => url.to_owned(),
            Location::Base64(data) => format!("data:{};base64,{data}", self.media_type_or_default()),
        }
    }

    fn media_type_or_default(&self) -> &str {
        let default = match self.kind {
            "image" => "image/png",
            "audio" => "audio/wav",
            _ => "application/octet-stream",
        };
        self.media_type.as_deref().unwrap_or(default)
    }

    /// The part in a format, or `None` where the format cannot carry it in a user message, or its address can be
    /// followed by one account only (R23).
    pub fn write(&self, target: Format) -> Option<Value> {
        if matches!(self.location, Location::Url(url) if address_kind(url).is_some()) {
            return None;
        }
        match target {
            Format::OpenAiResponses => self.write_responses(),
            Format::Gemini => self.write_gemini(),
            Format::LangChain if self.kind == "image" => self.write_openai(),
            Format::LangChain => Some(self.write_langchain()),
            Format::OpenAi => self.write_openai(),
            Format::Anthropic => self.write_anthropic(),
            Format::AiSdkUi => Some(self.with_filename(texts(&[
                ("type", "file"),
                ("mediaType", self.media_type_or_default()),
                ("url", &self.url()),
            ]))),
            Format::AiSdkModel if self.kind == "image" => {
                let part = texts(&[("type", "image"), ("image", self.address())]);
                Some(match &self.media_type {
                    Some(media_type) => with(part, "mediaType", Value::String(media_type.clone())),
                    None => part,
                })
            }
            Format::AiSdkModel => Some(self.with_filename(texts(&[
                ("type", "file"),
                ("data", self.address()),
                ("mediaType", self.media_type_or_default()),
            ]))),
        }
    }

    fn address(&self) -> &str {
        match self.location {
            Location::Base64(address) | Location::Url(address) => address,
        }
    }

    fn with_filename(&self, part: Value) -> Value {
        match self.filename {
            Some(filename) => with(part, "filename", Value::String(filename.to_owned())),
            None => part,
        }
    }

    fn write_openai(&self) -> Option<Value> {
        match (self.kind, self.location) {
            ("image", _) => Some(nested("image_url", texts(&[("url", &self.url())]))),
            ("audio", Location::Base64(data)) => {
                let format = match self.media_type_or_default() {
                    "audio/wav" | "audio/x-wav" => "wav",
                    "audio/mp3" | "audio/mpeg" => "mp3",
                    _ => return None,
                };
                Some(nested("input_audio", texts(&[("data", data), ("format", format)])))
            }
            ("file", Location::Base64(_)) if self.is_type(&["application/pdf"]) => {
                let filename = self.filename.unwrap_or("document.pdf");
                Some(nested("file", texts(&[("filename", filename), ("file_data", &self.url())])))
            }
            _ => None,
        }
    }

    /// Audio is not taken there; of files, what has bytes or a public address.
    fn write_responses(&self) -> Option<Value> {
        match (self.kind, self.location) {
            ("image", _) => Some(texts(&[("type", "input_image"), ("image_url", &self.url()), ("detail", "auto")])),
            ("file", Location::Base64(_)) if self.is_type(&["application/pdf"]) => {
                let filename = self.filename.unwrap_or("document.pdf");
                Some(texts(&[("type", "input_file"), ("filename", filename), ("file_data", &self.url())]))
            }
            ("file", Location::Url(url)) if url.starts_with("http") => {
                Some(texts(&[("type", "input_file"), ("file_url", url)]))
            }
            _ => None,
        }
    }

    fn write_gemini(&self) -> Option<Value> {
        let (field, data) = match self.location {
            Location::Base64(data) => {
                ("inlineData", texts(&[("mimeType", self.media_type_or_default()), ("data", data)]))
            }
            Location::Url(url) if url.starts_with("http") => match &self.media_type {
                Some(media_type) => ("fileData", texts(&[("mimeType", media_type), ("fileUri", url)])),
                None => ("fileData", texts(&[("fileUri", url)])),
            },
            Location::Url(_) => return None,
        };
        Some(with(texts(&[]), field, data))
    }

    fn write_langchain(&self) -> Value {
        let (source_type, field) = match self.location {
            Location::Base64(_) => ("base64", "data"),
            Location::Url(_) => ("url", "url"),
        };
        let part = texts(&[
            ("type", self.kind),
            ("source_type", source_type),
            ("mime_type", self.media_type_or_default()),
            (field, self.address()),
        ]);
        match self.filename {
            Some(filename) => with(part, "metadata", texts(&[("filename", filename)])),
            None => part,
        }
    }

    fn write_anthropic(&self) -> Option<Value> {
        const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
        let (kind, types) = match self.kind {
            "image" => ("image", &IMAGES[..]),
            "file" => ("document", &["application/pdf"][..]),
            _ => return None,
        };
        let source = match self.location {
            Location::Base64(data) if self.is_type(types) => {
                texts(&[("type", "base64"), ("media_type", self.media_type_or_default()), ("data", data)])
            }
            Location::Url(url) if url.starts_with("http") && (kind == "image" || self.is_type(types)) => {
                texts(&[("type", "url"), ("url", url)])
            }
            _ => return None,
        };
        Some(with(texts(&[("type", kind)]), "source", source))
    }
}

/// A part whose content stands under its own type.
fn nested(kind: &str, content: Value) -> Value {
    with(texts(&[("type", kind)]), kind, content)
}
