//! Runs cases and prints one line of JSON for each.

use async_openai::{Client, config::OpenAIConfig};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{env, error::Error, sync::LazyLock, time::Duration};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub const IMAGE: &str = concat!(
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "AAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
);

/// One model of each provider.
static MODELS: LazyLock<Vec<String>> =
    LazyLock::new(|| setting("MODELS").split(',').map(String::from).collect());

pub static CLIENT: LazyLock<Client<OpenAIConfig>> = LazyLock::new(|| client(&setting("API_KEY")));

fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn client(key: &str) -> Client<OpenAIConfig> {
    let base = format!("{}/v1", setting("BASE_URL"));
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(key))
}

pub fn metadata() -> Value {
    json!({ "tenant": "t", "provider": "acme", "rules_position": "mine" })
}

pub fn weather_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    })
}

/// Builds one of the client's request types, which refuse what they do not know.
pub fn build<T: DeserializeOwned>(value: Value) -> Outcome<T> {
    Ok(serde_json::from_value(value)?)
}

/// The value that a type of the client holds, to compare.
pub fn value_of(value: &impl Serialize) -> Outcome<Value> {
    Ok(serde_json::to_value(value)?)
}

/// Runs a case with every model. It must end within 30 seconds.
pub async fn on_each(feature: &str, case: impl AsyncFn(&str) -> Outcome) {
    for model in MODELS.iter() {
        run(feature, model, &case).await;
    }
}

pub async fn once(feature: &str, case: impl AsyncFn(&str) -> Outcome) {
    run(feature, &MODELS[0], &case).await;
}

async fn run(feature: &str, model: &str, case: impl AsyncFn(&str) -> Outcome) {
    let outcome = match tokio::time::timeout(Duration::from_secs(30), case(model)).await {
        Ok(outcome) => outcome,
        Err(_) => Err("it did not end".into()),
    };
    let mut line = json!({
        "client": "rust/async-openai", "feature": feature, "model": model, "ok": outcome.is_ok(),
    });
    if let Err(error) = outcome {
        line["detail"] = error.to_string().into();
    }
    println!("{line}");
}

pub fn check(condition: bool, detail: impl std::fmt::Debug) -> Outcome {
    if condition { Ok(()) } else { Err(format!("{detail:?}").into()) }
}

pub fn contains(text: &str, part: &str) -> Outcome {
    check(text.contains(part), text)
}

pub fn check_city(json: &str) -> Outcome {
    let value: Value = serde_json::from_str(json)?;
    check(value["city"].is_string(), json)
}
