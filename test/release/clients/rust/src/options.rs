use crate::cases::*;
use crate::responses::events;
use async_openai::types::responses::{CreateResponse, ResponseStreamEvent};
use serde_json::{Value, json};

/// Options that a response echoes, or that lead to other items and another status.
fn options() -> Vec<Value> {
    let tool = json!({ "type": "function", "name": "weather", "parameters": weather_schema() });
    let named = json!({ "type": "function", "name": "weather" });
    let allowed = json!({ "type": "allowed_tools", "mode": "auto", "tools": [named] });
    vec![
        json!({ "reasoning": { "effort": "high", "summary": "auto" } }),
        json!({ "max_output_tokens": 3 }),
        json!({ "text": { "verbosity": "low", "format": { "type": "text" } }, "instructions": "Be brief." }),
        json!({ "truncation": "auto", "service_tier": "auto", "safety_identifier": "s" }),
        json!({ "store": false, "parallel_tool_calls": false, "temperature": 0.5, "top_p": 0.9 }),
        json!({ "tools": [tool], "tool_choice": "none" }),
        json!({ "tools": [tool], "tool_choice": "required" }),
        json!({ "tools": [tool], "tool_choice": allowed }),
        json!({ "input": "No [[sandbox:refuse]]" }),
    ]
}

pub async fn run() {
    on_each("options", async |model| {
        for option in options() {
            let mut body = json!({ "model": model, "input": "Hello" });
            for (name, value) in option.as_object().into_iter().flatten() {
                body[name] = value.clone();
            }
            let request: CreateResponse = build(body.clone())?;
            let whole =
                CLIENT.responses().create(request).await.map_err(|error| format!("{option}: {error}"))?;
            check(!whole.output.is_empty(), &option)?;
            let (events, end) = events(&body).await?;
            end.map_err(|error| format!("{option}: {error}"))?;
            let is_ended = match events.last() {
                Some(ResponseStreamEvent::ResponseCompleted(event)) => event.response.status == whole.status,
                Some(ResponseStreamEvent::ResponseIncomplete(event)) => event.response.status == whole.status,
                _ => false,
            };
            check(is_ended, &option)?;
        }
        Ok(())
    })
    .await;
}
