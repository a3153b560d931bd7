package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

const official = "go/openai-go"

var client = openai.NewClient(
	option.WithBaseURL(baseURL+"/v1"), option.WithAPIKey(apiKey), option.WithMaxRetries(0),
)

var metadata = shared.Metadata{"tenant": "t", "provider": "acme", "rules_position": "mine"}

var weatherTool = openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
	Name: "weather", Parameters: weatherSchema,
})

func question(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func complete(ctx context.Context, params openai.ChatCompletionNewParams) openai.ChatCompletionChoice {
	completion := valid(must(client.Chat.Completions.New(ctx, params)))
	check(len(completion.Choices) == 1 && completion.Usage.TotalTokens > 0, "%s", completion.RawJSON())
	return completion.Choices[0]
}

// streamed reads a whole stream, and returns what openai-go makes of it.
func streamed(ctx context.Context, params openai.ChatCompletionNewParams) openai.ChatCompletionAccumulator {
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	accumulator := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		check(accumulator.AddChunk(valid(stream.Current())), "a chunk of another completion")
	}
	check(stream.Err() == nil, "error: %v", stream.Err())
	check(accumulator.Usage.TotalTokens > 0 && len(accumulator.Choices) == 1, "no usage or choice")
	return accumulator
}

func officialChat() {
	onEach(official, "text", func(ctx context.Context, model string) {
		params := question(model, "Hello")
		params.Metadata = metadata
		completion := valid(must(client.Chat.Completions.New(ctx, params)))
		check(strings.Contains(completion.Choices[0].Message.Content, "Hello"), "%s", completion.RawJSON())
		for name, value := range metadata {
			check(completion.Metadata[name] == value, "metadata: %v", completion.Metadata)
		}
	})
	onEach(official, "stream", func(ctx context.Context, model string) {
		choice := streamed(ctx, question(model, "Hello")).Choices[0]
		check(strings.Contains(choice.Message.Content, "Hello") && choice.FinishReason == "stop", "%v", choice)
	})
	onEach(official, "tool", func(ctx context.Context, model string) {
		params := question(model, "Use a tool")
		params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
		for _, choice := range []openai.ChatCompletionChoice{
			complete(ctx, params), streamed(ctx, params).Choices[0],
		} {
			check(choice.FinishReason == "tool_calls" && len(choice.Message.ToolCalls) == 1, "%v", choice)
			checkCity(choice.Message.ToolCalls[0].Function.Arguments)
		}
	})
	onEach(official, "parallel tools", func(ctx context.Context, model string) {
		params := question(model, "Use a tool, parallel")
		params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
		for _, choice := range []openai.ChatCompletionChoice{
			complete(ctx, params), streamed(ctx, params).Choices[0],
		} {
			calls := choice.Message.ToolCalls
			check(len(calls) == 2 && calls[0].ID != calls[1].ID, "%v", calls)
		}
	})
	onEach(official, "forced tool", func(ctx context.Context, model string) {
		params := question(model, "Hello")
		params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
		params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(
			openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"})
		choice := complete(ctx, params)
		check(len(choice.Message.ToolCalls) == 1, "%v", choice.Message)
	})
	onEach(official, "tool result", func(ctx context.Context, model string) {
		params := question(model, "Use a tool")
		params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
		message := complete(ctx, params).Message
		params.Messages = append(params.Messages, message.ToParam(),
			openai.ToolMessage("sunny", message.ToolCalls[0].ID))
		check(strings.Contains(complete(ctx, params).Message.Content, "sunny"), "the result was not used")
	})
	onEach(official, "tool loop", func(ctx context.Context, model string) {
		params := question(model, "Use a tool [[sandbox:rounds=3]]")
		params.Tools = []openai.ChatCompletionToolUnionParam{weatherTool}
		params.ReasoningEffort = shared.ReasoningEffortLow
		calls, message := 0, streamed(ctx, params).Choices[0].Message
		for ; len(message.ToolCalls) > 0; message = streamed(ctx, params).Choices[0].Message {
			calls += len(message.ToolCalls)
			params.Messages = append(params.Messages, message.ToParam(),
				openai.ToolMessage(fmt.Sprintf("call %d", calls), message.ToolCalls[0].ID))
		}
		check(calls == 3 && strings.Contains(message.Content, "call 3"), "%d calls: %s", calls, message.Content)
	})
	onEach(official, "structured output", func(ctx context.Context, model string) {
		params := question(model, "Where?")
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "place", Schema: weatherSchema, Strict: openai.Bool(true),
			},
		}
		checkCity(complete(ctx, params).Message.Content)
	})
	onEach(official, "image", func(ctx context.Context, model string) {
		params := question(model, "")
		params.Messages[0] = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("What is this?"),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: image}),
		})
		check(strings.Contains(complete(ctx, params).Message.Content, "What is this?"), "no answer")
	})
	feature(official, "models", func(ctx context.Context) {
		page := valid(must(client.Models.List(ctx)))
		check(len(page.Data) > 5, "%d models", len(page.Data))
		for _, model := range page.Data {
			check(valid(must(client.Models.Get(ctx, model.ID))).ID == model.ID, "%s", model.ID)
		}
	})
}

// apiError is the error of a call, which must be one of the API with all its fields.
func apiError(err error, status int) *openai.Error {
	var failure *openai.Error
	check(errors.As(err, &failure), "not an error of the API: %v", err)
	check(failure.StatusCode == status, "status %d: %s", failure.StatusCode, failure.RawJSON())
	var fields map[string]json.RawMessage
	check(json.Unmarshal([]byte(failure.RawJSON()), &fields) == nil, "%s", failure.RawJSON())
	for _, name := range []string{"message", "type", "param", "code"} {
		check(fields[name] != nil, "no %s: %s", name, failure.RawJSON())
	}
	return failure
}
