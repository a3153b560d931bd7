package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/sashabaranov/go-openai"
)

type goRequest = openai.CreateResponseRequest

var flatGoTool = openai.NewResponseFunctionTool(*goTool.Function)

func goRespond(ctx context.Context, request goRequest) *openai.CreateResponseResponse {
	response := must(goClient.CreateResponse(ctx, request))
	check(response.Status == "completed" && response.Usage.TotalTokens > 0, "%+v", response)
	return &response
}

func goRespondStreamed(ctx context.Context, request goRequest) *openai.CreateResponseResponse {
	events, err := goEvents(ctx, request)
	check(err == nil, "error: %v", err)
	last := events[len(events)-1]
	check(last.Type == openai.ResponseStreamEventCompleted, "ends with %s", last.Type)
	var text strings.Builder
	for _, event := range events {
		if event.Type == openai.ResponseStreamEventOutputTextDelta {
			text.WriteString(event.Delta)
		}
	}
	check(text.String() == last.Response.GetOutputText(), "the pieces are %q", text.String())
	return last.Response
}

func goRespondBoth(ctx context.Context, request goRequest) []*openai.CreateResponseResponse {
	return []*openai.CreateResponseResponse{goRespond(ctx, request), goRespondStreamed(ctx, request)}
}

// decoded reads the untyped items of go-openai with its own item type.
func decoded(values []any) (items []openai.ResponseOutputItem) {
	must(0, json.Unmarshal(must(json.Marshal(values)), &items))
	return items
}

func goCalls(response *openai.CreateResponseResponse) (calls []openai.ResponseOutputItem) {
	for _, item := range decoded(response.Output) {
		if item.Type == "function_call" {
			checkCity(item.Arguments)
			calls = append(calls, item)
		}
	}
	return calls
}

func communityResponses() {
	onEach(community, "responses", func(ctx context.Context, model string) {
		request := goRequest{Model: model, Input: "Hello", Instructions: "Be brief."}
		check(strings.Contains(goRespond(ctx, request).GetOutputText(), "Hello"), "another text")
	})
	onEach(community, "responses stream", func(ctx context.Context, model string) {
		text := goRespondStreamed(ctx, goRequest{Model: model, Input: "Hello"}).GetOutputText()
		check(strings.Contains(text, "Hello"), "%q", text)
	})
	for name, count := range map[string]int{"one tool": 1, "parallel tools": 2, "forced tool": 1} {
		onEach(community, "responses tools", func(ctx context.Context, model string) {
			request := goRequest{Model: model, Input: "Use a tool", Tools: []openai.ResponseTool{flatGoTool}}
			if count == 2 {
				request.Input = "Use a tool, parallel"
			}
			if name == "forced tool" {
				request.Input, request.ToolChoice = "Hello", map[string]any{"type": "function", "name": "weather"}
			}
			for _, response := range goRespondBoth(ctx, request) {
				check(len(goCalls(response)) == count, "%+v", response.Output)
			}
		})
	}
	onEach(community, "responses tools", func(ctx context.Context, model string) {
		request := goRequest{Model: model, Input: "Use a tool", Tools: []openai.ResponseTool{flatGoTool}}
		first := goRespond(ctx, request)
		request.PreviousResponseID = first.ID
		request.Input = []any{openai.ResponseFunctionCallOutput{
			Type: "function_call_output", CallID: goCalls(first)[0].CallID, Output: "sunny",
		}}
		for _, response := range goRespondBoth(ctx, request) {
			check(strings.Contains(response.GetOutputText(), "sunny"), "%q", response.GetOutputText())
		}
	})
	onEach(community, "structured output", func(ctx context.Context, model string) {
		format := &openai.ResponseTextFormat{
			Type: "json_schema", Name: "place", Schema: weatherSchema, Strict: true,
		}
		request := goRequest{Model: model, Input: "Where?", Text: &openai.ResponseTextConfig{Format: format}}
		checkCity(goRespond(ctx, request).GetOutputText())
	})
	onEach(community, "image", func(ctx context.Context, model string) {
		content := []any{
			openai.ResponseInputText{Type: "input_text", Text: "What is this?"},
			openai.ResponseInputImage{Type: "input_image", ImageURL: image},
		}
		message := openai.ResponseInputMessage{Type: "message", Role: "user", Content: content}
		text := goRespond(ctx, goRequest{Model: model, Input: []any{message}}).GetOutputText()
		check(strings.Contains(text, "What is this?"), "%q", text)
	})
	onEach(community, "metadata", func(ctx context.Context, model string) {
		own := map[string]any{"tenant": "t", "provider": "acme"}
		request := goRequest{Model: model, Input: "Hello", Metadata: own}
		for _, response := range goRespondBoth(ctx, request) {
			stored := must(goClient.GetResponse(ctx, response.ID))
			for name, value := range request.Metadata {
				check(response.Metadata[name] == value && stored.Metadata[name] == value, "%v", response.Metadata)
			}
		}
	})
	onEach(community, "chain", func(ctx context.Context, model string) {
		first := goRespond(ctx, goRequest{Model: model, Input: "One"})
		request := goRequest{Model: model, Input: "Two", PreviousResponseID: first.ID}
		for _, response := range goRespondBoth(ctx, request) {
			check(response.PreviousResponseID == first.ID, "%q", response.PreviousResponseID)
		}
	})
	onEach(community, "stored responses", func(ctx context.Context, model string) {
		response := goRespond(ctx, goRequest{Model: model, Input: "Hello"})
		stored := must(goClient.RetrieveResponse(ctx, response.ID, openai.RetrieveResponseOptions{}))
		check(stored.GetOutputText() == response.GetOutputText(), "%q", stored.GetOutputText())
		list := must(goClient.ListResponseInputItems(ctx, response.ID, openai.ResponseInputItemsListOptions{}))
		items := decoded(list.Data)
		check(len(items) == 1 && items[0].Content[0].Text == "Hello", "%+v", items)
		check(must(goClient.DeleteResponse(ctx, response.ID)).Deleted, "not deleted")
		_, err := goClient.GetResponse(ctx, response.ID)
		goFails(err, 404, "not_found")
	})
	feature(community, "count tokens", func(ctx context.Context) {
		request := openai.ResponseInputTokensRequest{Model: models[0], Input: "Hello"}
		check(must(goClient.CountResponseInputTokens(ctx, request)).InputTokens > 0, "no tokens")
	})
}
