package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func officialStored() {
	onEach(official, "metadata", func(ctx context.Context, model string) {
		params := asked(model, "Hello")
		params.Metadata = metadata
		for _, response := range both(ctx, params) {
			stored := valid(must(client.Responses.Get(ctx, response.ID, responses.ResponseGetParams{})))
			for name, value := range metadata {
				check(response.Metadata[name] == value, "metadata: %v", response.Metadata)
				check(stored.Metadata[name] == value, "stored metadata: %v", stored.Metadata)
			}
		}
	})
	onEach(official, "chain", func(ctx context.Context, model string) {
		first := respond(ctx, asked(model, "One"))
		params := asked(model, "Two")
		params.PreviousResponseID = openai.String(first.ID)
		for _, response := range both(ctx, params) {
			check(response.PreviousResponseID == first.ID, "%s", response.RawJSON())
		}
	})
	onEach(official, "stored responses", func(ctx context.Context, model string) {
		response := respond(ctx, asked(model, "Hello"))
		stored := valid(must(client.Responses.Get(ctx, response.ID, responses.ResponseGetParams{})))
		check(stored.OutputText() == response.OutputText(), "%s", stored.RawJSON())
	})
	onEach(official, "stored responses", func(ctx context.Context, model string) {
		params := asked(model, "")
		params.Input = items(
			responses.ResponseInputItemParamOfMessage("One", "user"),
			responses.ResponseInputItemParamOfMessage("Two", "assistant"),
			responses.ResponseInputItemParamOfMessage("Three", "user"),
		)
		response := respond(ctx, params)
		query := responses.InputItemListParams{Limit: openai.Int(2), Order: "asc"}
		pager := client.Responses.InputItems.ListAutoPaging(ctx, response.ID, query)
		var texts []string
		for pager.Next() {
			var message struct{ Content []struct{ Text string } }
			must(0, json.Unmarshal([]byte(valid(pager.Current()).RawJSON()), &message))
			texts = append(texts, message.Content[0].Text)
		}
		check(pager.Err() == nil, "error: %v", pager.Err())
		check(strings.Join(texts, " ") == "One Two Three", "%v", texts)
	})
	onEach(official, "stored responses", func(ctx context.Context, model string) {
		response := respond(ctx, asked(model, "Hello"))
		check(client.Responses.Delete(ctx, response.ID) == nil, "not deleted")
		_, err := client.Responses.Get(ctx, response.ID, responses.ResponseGetParams{})
		apiError(err, 404)
	})
}
