//! Calls of the app's models: timed, counted, and checked before anything is believed.

use super::Engine;
use crate::error::{Code, Error, Result};
use crate::ports::{Embedder, LanguageModel, ModelRequest, Pending};
use futures_util::future::{Either, select};

impl Engine {
    /// Vectors for texts, all or nothing.
    ///
    /// # Errors
    /// `timeout`, `embedding_failed` (the callback failed, another number of vectors, NaN or infinity),
    /// `embedding_dimension_mismatch`.
    pub(super) async fn embed(&self, embedder: &dyn Embedder, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        let timeout_ms = self.options.policy.limits.callback_timeout_ms;
        let count = texts.len();
        self.vectors_within((timeout_ms, "callbackTimeoutMs"), embedder, embedder.embed(texts), count).await
    }

    /// Vectors while somebody waits for them, so in less time; `asks`: of questions.
    ///
    /// # Errors
    /// As [`Engine::embed`].
    pub(super) async fn embed_soon(
        &self,
        embedder: &dyn Embedder,
        texts: Vec<String>,
        asks: bool,
    ) -> Result<Vec<Vec<f32>>> {
        let limits = &self.options.policy.limits;
        let timeout_ms = limits.query_embedding_timeout_ms.min(limits.callback_timeout_ms);
        let count = texts.len();
        let call = if asks { embedder.embed_questions(texts) } else { embedder.embed(texts) };
        self.vectors_within((timeout_ms, "queryEmbeddingTimeoutMs"), embedder, call, count).await
    }

    async fn vectors_within(
        &self,
        (timeout_ms, limit): (f64, &str),
        embedder: &dyn Embedder,
        call: Pending<'_, Vec<Vec<f32>>>,
        expected: usize,
    ) -> Result<Vec<Vec<f32>>> {
        let vectors = self.within_time(timeout_ms, limit, "the embedding callback", call).await?;
        if vectors.len() != expected {
            return Err(Error::new(
                Code::EmbeddingFailed,
                format!(
                    "the embedding callback answered {} vectors for {expected} texts; answer one per text, in order",
                    vectors.len()
                ),
            ));
        }
        let dimensions = embedder.dimensions();
        for vector in &vectors {
            if vector.len() != dimensions {
                return Err(Error::new(
                    Code::EmbeddingDimensionMismatch,
                    format!(
                        "the embedding callback answered a vector of {} numbers, but the embedder declares \
                         {dimensions} dimensions; correct `dimensions` or the model",
                        vector.len()
                    ),
                ));
            }
            if vector.iter().any(|number| !number.is_finite()) {
                return Err(Error::new(
                    Code::EmbeddingFailed,
                    "the embedding callback answered a vector with NaN or infinity; check the model",
                ));
            }
        }
        Ok(vectors)
    }

    /// The model's answer as text.
    ///
    /// # Errors
    /// `timeout`, `model_failed`.
    pub(super) async fn generate(&self, model: &dyn LanguageModel, request: ModelRequest) -> Result<String> {
        let started_ms = self.now_ms();
        let purpose = request.purpose;
        let counter = self.counter();
        let input_tokens = counter.count(&request.system) + counter.count(&request.prompt);
        let timeout_ms = self.options.policy.limits.callback_timeout_ms;
        let call = model.generate(request);
        let answer = self.within_time(timeout_ms, "callbackTimeoutMs", "the language model callback", call).await;
        let output_tokens = answer.as_ref().map_or(0, |text| counter.count(text));
        let elapsed_ms = (self.now_ms() - started_ms).max(0.0);
        self.state.borrow_mut().spending.add(purpose, input_tokens, output_tokens, elapsed_ms);
        answer
    }

    async fn within_time<T>(&self, timeout_ms: f64, limit: &str, what: &str, call: Pending<'_, T>) -> Result<T> {
        match select(call, self.host.clock.sleep(timeout_ms)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(Error::new(
                Code::Timeout,
                format!(
                    "{what} did not answer within {timeout_ms} ms; it will be asked again, or raise policy.limits.{limit}"
                ),
            )),
        }
    }
}
