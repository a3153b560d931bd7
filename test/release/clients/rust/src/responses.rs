use crate::cases::*;
use async_openai::types::responses::{
    CreateResponse, FunctionToolCall, OutputItem, Response, ResponseStreamEvent, Status,
};
use futures::StreamExt;
use serde_json::{Value, json};

pub fn ask(model: &str, text: &str) -> Value {
    json!({ "model": model, "input": text })
}

fn with_tool(model: &str, text: &str) -> Value {
    let tool = json!({
        "type": "function", "name": "weather", "parameters": weather_schema(), "strict": true,
    });
    json!({ "model": model, "input": text, "tools": [tool] })
}

pub async fn respond(body: &Value) -> Outcome<Response> {
    let request: CreateResponse = build(body.clone())?;
    let response = CLIENT.responses().create(request).await?;
    check(response.status == Status::Completed, &response)?;
    check(response.usage.as_ref().is_some_and(|usage| usage.total_tokens > 0), &response)?;
    Ok(response)
}

/// Reads the events of a stream, and the error that it ended with.
pub async fn events(body: &Value) -> Outcome<(Vec<ResponseStreamEvent>, Outcome)> {
    let mut body = body.clone();
    body["stream"] = true.into();
    let request: CreateResponse = build(body)?;
    let mut stream = CLIENT.responses().create_stream(request).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return Ok((events, Err(error.into()))),
        }
    }
    Ok((events, Ok(())))
}

async fn stream(body: &Value) -> Outcome<Response> {
    let (mut events, end) = events(body).await?;
    end?;
    let pieces: String = events
        .iter()
        .filter_map(|event| match event {
            ResponseStreamEvent::ResponseOutputTextDelta(event) => Some(event.delta.as_str()),
            _ => None,
        })
        .collect();
    match events.pop() {
        Some(ResponseStreamEvent::ResponseCompleted(event)) => {
            check(text_of(&event.response) == pieces, pieces)?;
            Ok(event.response)
        }
        last => Err(format!("ends with {last:?}").into()),
    }
}

/// Asks for a whole answer and for a stream.
pub async fn both(body: Value) -> Outcome<[Response; 2]> {
    Ok([respond(&body).await?, stream(&body).await?])
}

pub fn text_of(response: &Response) -> String {
    response.output_text().unwrap_or_default()
}

fn calls_of(response: &Response) -> Vec<FunctionToolCall> {
    let items = response.output.iter();
    let calls = items.filter_map(|item| match item {
        OutputItem::FunctionCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

async fn expect_calls(body: Value, count: usize) -> Outcome {
    for response in both(body).await? {
        let calls = calls_of(&response);
        check(calls.len() == count, &response)?;
        calls.iter().try_for_each(|call| check_city(&call.arguments))?;
    }
    Ok(())
}

pub async fn expect_text(body: Value, text: &str) -> Outcome {
    both(body).await?.iter().try_for_each(|response| contains(&text_of(response), text))
}

pub async fn run() {
    on_each("responses", async |model| contains(&text_of(&respond(&ask(model, "Hello")).await?), "Hello"))
        .await;
    on_each("responses stream", async |model| {
        contains(&text_of(&stream(&ask(model, "Hello")).await?), "Hello")
    })
    .await;
    on_each("responses tools", async |model| {
        expect_calls(with_tool(model, "Use a tool"), 1).await?;
        expect_calls(with_tool(model, "Use a tool, parallel"), 2).await?;
        let mut body = with_tool(model, "Hello");
        body["tool_choice"] = json!({ "type": "function", "name": "weather" });
        expect_calls(body, 1).await
    })
    .await;
    on_each("responses tools", async |model| {
        let mut body = with_tool(model, "Use a tool");
        let first = respond(&body).await?;
        let id = &calls_of(&first)[0].call_id;
        let result = json!({ "type": "function_call_output", "call_id": id, "output": "sunny" });
        body["input"] = json!([result]);
        body["previous_response_id"] = json!(first.id);
        expect_text(body, "sunny").await
    })
    .await;
    on_each("structured output", async |model| {
        let mut body = ask(model, "Where?");
        body["text"] = json!({
            "format": { "type": "json_schema", "name": "place", "schema": weather_schema(), "strict": true },
        });
        both(body).await?.iter().try_for_each(|response| check_city(&text_of(response)))
    })
    .await;
    on_each("image", async |model| {
        let parts = json!([
            { "type": "input_text", "text": "What is this?" },
            { "type": "input_image", "detail": "auto", "image_url": IMAGE },
        ]);
        let item = json!({ "type": "message", "role": "user", "content": parts });
        expect_text(json!({ "model": model, "input": [item] }), "What is this?").await
    })
    .await;
}
