use crate::cases::*;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionResponseMessage, CreateChatCompletionRequest,
};
use futures::StreamExt;
use serde_json::{Value, json};

pub fn question(model: &str, text: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": text }] })
}

fn with_tool(model: &str, text: &str) -> Value {
    let mut body = question(model, text);
    body["tools"] = json!([{
        "type": "function",
        "function": { "name": "weather", "parameters": weather_schema(), "strict": true },
    }]);
    body
}

async fn complete(body: &Value) -> Outcome<ChatCompletionResponseMessage> {
    let request: CreateChatCompletionRequest = build(body.clone())?;
    let mut completion = CLIENT.chat().create(request).await?;
    check(completion.usage.as_ref().is_some_and(|usage| usage.total_tokens > 0), &completion)?;
    Ok(completion.choices.remove(0).message)
}

/// Reads a whole stream: its text, and the arguments of its calls.
pub async fn stream(body: &Value) -> Outcome<(String, Vec<String>)> {
    let mut body = body.clone();
    body["stream_options"] = json!({ "include_usage": true });
    let request: CreateChatCompletionRequest = build(body)?;
    let mut stream = CLIENT.chat().create_stream(request).await?;
    let (mut text, mut calls, mut total) = (String::new(), Vec::<String>::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        total = chunk.usage.map_or(total, |usage| usage.total_tokens);
        for choice in chunk.choices {
            text += choice.delta.content.as_deref().unwrap_or_default();
            for call in choice.delta.tool_calls.unwrap_or_default() {
                calls.resize(calls.len().max(call.index as usize + 1), String::new());
                let arguments = call.function.and_then(|function| function.arguments);
                calls[call.index as usize] += &arguments.unwrap_or_default();
            }
        }
    }
    check(total > 0, "no usage")?;
    Ok((text, calls))
}

fn arguments_of(message: &ChatCompletionResponseMessage) -> Vec<String> {
    let calls = message.tool_calls.iter().flatten();
    let functions = calls.filter_map(|call| match call {
        ChatCompletionMessageToolCalls::Function(call) => Some(call.function.arguments.clone()),
        _ => None,
    });
    functions.collect()
}

/// Asks for a whole answer and for a stream.
async fn expect_calls(body: Value, count: usize) -> Outcome {
    for calls in [arguments_of(&complete(&body).await?), stream(&body).await?.1] {
        check(calls.len() == count, &calls)?;
        calls.iter().try_for_each(|call| check_city(call))?;
    }
    Ok(())
}

pub async fn run() {
    on_each("text", async |model| {
        let mut body = question(model, "Hello");
        body["metadata"] = metadata();
        contains(&complete(&body).await?.content.unwrap_or_default(), "Hello")
    })
    .await;
    on_each("stream", async |model| contains(&stream(&question(model, "Hello")).await?.0, "Hello")).await;
    on_each("tool", async |model| expect_calls(with_tool(model, "Use a tool"), 1).await).await;
    on_each("parallel tools", async |model| expect_calls(with_tool(model, "Use a tool, parallel"), 2).await)
        .await;
    on_each("forced tool", async |model| {
        let mut body = with_tool(model, "Hello");
        body["tool_choice"] = json!({ "type": "function", "function": { "name": "weather" } });
        expect_calls(body, 1).await
    })
    .await;
    on_each("tool result", async |model| {
        let mut body = with_tool(model, "Use a tool");
        let message = value_of(&complete(&body).await?)?;
        let id = message["tool_calls"][0]["id"].clone();
        let result = json!({ "role": "tool", "tool_call_id": id, "content": "sunny" });
        body["messages"] = json!([body["messages"][0], message, result]);
        contains(&complete(&body).await?.content.unwrap_or_default(), "sunny")
    })
    .await;
    on_each("tool loop", async |model| {
        let mut body = with_tool(model, "Use a tool [[sandbox:rounds=3]]");
        for turn in 1.. {
            let message = value_of(&complete(&body).await?)?;
            let Some(id) = message["tool_calls"][0]["id"].as_str().map(String::from) else {
                check(turn == 4, turn)?;
                return contains(message["content"].as_str().unwrap_or_default(), "call 3");
            };
            let result = json!({ "role": "tool", "tool_call_id": id, "content": format!("call {turn}") });
            body["messages"].as_array_mut().unwrap().extend([message, result]);
        }
        Ok(())
    })
    .await;
    on_each("structured output", async |model| {
        let mut body = question(model, "Where?");
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": { "name": "place", "schema": weather_schema(), "strict": true },
        });
        check_city(&complete(&body).await?.content.unwrap_or_default())
    })
    .await;
    on_each("image", async |model| {
        let mut body = question(model, "");
        body["messages"][0]["content"] = json!([
            { "type": "text", "text": "What is this?" },
            { "type": "image_url", "image_url": { "url": IMAGE } },
        ]);
        contains(&complete(&body).await?.content.unwrap_or_default(), "What is this?")
    })
    .await;
    once("models", async |_| {
        let models = CLIENT.models().list().await?.data;
        check(models.len() > 5, &models)?;
        for model in models {
            check(CLIENT.models().retrieve(&model.id).await?.id == model.id, &model.id)?;
        }
        Ok(())
    })
    .await;
}
