use crate::cases::*;
use crate::errors::expect_status;
use crate::responses::{ask, both, respond, text_of};
use serde_json::json;

pub async fn run() {
    on_each("metadata", async |model| {
        let mut body = ask(model, "Hello");
        body["metadata"] = metadata();
        for response in both(body).await? {
            let stored = CLIENT.responses().retrieve(&response.id).await?;
            for returned in [&response.metadata, &stored.metadata] {
                let returned = value_of(returned)?;
                for (name, value) in metadata().as_object().into_iter().flatten() {
                    check(&returned[name] == value, &returned)?;
                }
            }
        }
        Ok(())
    })
    .await;
    on_each("chain", async |model| {
        let first = respond(&ask(model, "One")).await?;
        let mut body = ask(model, "Two");
        body["previous_response_id"] = json!(first.id);
        for response in both(body).await? {
            check(response.previous_response_id.as_ref() == Some(&first.id), &response)?;
        }
        Ok(())
    })
    .await;
    on_each("stored responses", async |model| {
        let input = json!([
            { "type": "message", "role": "user", "content": "One" },
            { "type": "message", "role": "assistant", "content": "Two" },
            { "type": "message", "role": "user", "content": "Three" },
        ]);
        let responses = CLIENT.responses();
        let response = respond(&json!({ "model": model, "input": input })).await?;
        let stored = responses.retrieve(&response.id).await?;
        check(text_of(&stored) == text_of(&response), &stored)?;
        let items = responses.list_input_items(&response.id).await?;
        check(items.data.len() == 3 && !items.has_more, &items)?;
        check(responses.delete(&response.id).await?.deleted, "not deleted")?;
        expect_status(responses.retrieve(&response.id).await, 404, "not_found")
    })
    .await;
}
