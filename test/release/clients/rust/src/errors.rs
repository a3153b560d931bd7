use crate::cases::*;
use crate::chat::{question, stream};
use crate::responses::{ask, events, respond};
use async_openai::{Client, config::OpenAIConfig, error::OpenAIError, types::responses::ResponseStreamEvent};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Expects an error of the API, with all its fields.
pub fn expect_status<T: std::fmt::Debug>(result: Result<T, OpenAIError>, status: u16, code: &str) -> Outcome {
    match result {
        Err(OpenAIError::ApiError(error)) => {
            let api = &error.api_error;
            check(error.status_code.as_u16() == status, &error)?;
            check(api.code.as_deref() == Some(code) && api.r#type.is_some(), &error)
        }
        other => Err(format!("not an error of the API: {other:?}").into()),
    }
}

/// Sends the same question to both endpoints.
async fn failing(
    client: &Client<OpenAIConfig>,
    chat: Value,
    responses: Value,
    status: u16,
    code: &str,
) -> Outcome {
    expect_status(client.chat().create(build(chat)?).await, status, code)?;
    expect_status(client.responses().create(build(responses)?).await, status, code)
}

async fn failing_text(model: &str, text: &str, status: u16, code: &str) -> Outcome {
    failing(&CLIENT, question(model, text), ask(model, text), status, code).await
}

/// Drops a call after a moment, and expects that the gateway goes on serving.
async fn dropping<T>(call: impl Future<Output = Outcome<T>>) -> Outcome {
    let start = Instant::now();
    let ended = tokio::time::timeout(Duration::from_millis(150), call).await;
    check(ended.is_err() && start.elapsed() < Duration::from_secs(5), "the call ended")?;
    CLIENT.models().retrieve("gpt-4o").await?;
    Ok(())
}

pub async fn run() {
    once("errors", async |model| {
        let wrong = client("tr_wrong");
        let (chat, responses) = (question(model, "Hello"), ask(model, "Hello"));
        failing(&wrong, chat, responses, 401, "invalid_api_key").await
    })
    .await;
    once("errors", async |model| {
        let (mut chat, mut responses) = (question(model, "Hello"), ask(model, "Hello"));
        chat["temperature"] = 7.into();
        responses["temperature"] = 7.into();
        failing(&CLIENT, chat, responses, 400, "invalid_value").await
    })
    .await;
    once("errors", async |_| failing_text("no-such-model", "Hello", 404, "model_not_found").await).await;
    once("errors", async |model| failing_text(model, "forbidden", 403, "firewall_blocked").await).await;
    once("errors", async |model| {
        failing_text(model, "Hm [[sandbox:status=429]]", 429, "rate_limit_exceeded").await
    })
    .await;
    on_each("errors", async |model| {
        let body = question(model, "Hm [[sandbox:status=500]]");
        let result = CLIENT.chat().create(build(body)?).await;
        // The client gives bodies of 5xx as the message.
        match result {
            Err(OpenAIError::ApiError(error)) if error.status_code.as_u16() == 502 => {
                contains(&error.api_error.message, "\"code\":\"provider_error\"")
            }
            other => Err(format!("another result: {other:?}").into()),
        }
    })
    .await;
    on_each("failing stream", async |model| {
        let result = stream(&question(model, "Hm [[sandbox:cut=6]]")).await;
        check(result.is_err(), result.ok())
    })
    .await;
    on_each("failing stream", async |model| {
        let (events, end) = events(&ask(model, "Hm [[sandbox:cut=6]]")).await?;
        end?;
        match events.last() {
            Some(ResponseStreamEvent::ResponseFailed(event)) => {
                let code = value_of(&event.response.error)?["code"].clone();
                check(code == "server_error", &event.response)
            }
            last => Err(format!("ends with {last:?}").into()),
        }
    })
    .await;
    on_each("cancel", async |model| {
        let slow = "Hm [[sandbox:token-delay=100 first-byte=500]]";
        dropping(stream(&question(model, slow))).await?;
        dropping(respond(&ask(model, slow))).await?;
        dropping(events(&ask(model, slow))).await
    })
    .await;
    once("cancel by id", async |model| {
        let response = respond(&ask(model, "Hello")).await?;
        expect_status(CLIENT.responses().cancel(&response.id).await, 400, "invalid_value")
    })
    .await;
}
