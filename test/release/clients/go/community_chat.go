package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"
)

const community = "go/go-openai"

var goClient = newCommunityClient(apiKey)

func newCommunityClient(key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = baseURL + "/v1"
	return openai.NewClientWithConfig(config)
}

var goTool = openai.Tool{
	Type:     openai.ToolTypeFunction,
	Function: &openai.FunctionDefinition{Name: "weather", Parameters: weatherSchema},
}

func goQuestion(model, text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model: model, Messages: []openai.ChatCompletionMessage{{Role: "user", Content: text}},
	}
}

func goComplete(ctx context.Context, request openai.ChatCompletionRequest) openai.ChatCompletionMessage {
	completion := must(goClient.CreateChatCompletion(ctx, request))
	check(len(completion.Choices) == 1 && completion.Usage.TotalTokens > 0, "%+v", completion)
	return completion.Choices[0].Message
}

// goStreamed joins the pieces of a stream to a message.
func goStreamed(
	ctx context.Context, request openai.ChatCompletionRequest,
) (message openai.ChatCompletionMessage) {
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream := must(goClient.CreateChatCompletionStream(ctx, request))
	defer stream.Close()
	var usage *openai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			check(usage != nil && usage.TotalTokens > 0, "no usage")
			return message
		}
		check(err == nil, "error: %v", err)
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			message.Content += choice.Delta.Content
			for _, call := range choice.Delta.ToolCalls {
				if *call.Index == len(message.ToolCalls) {
					message.ToolCalls = append(message.ToolCalls, openai.ToolCall{ID: call.ID})
				}
				message.ToolCalls[*call.Index].Function.Arguments += call.Function.Arguments
			}
		}
	}
}

func goBoth(ctx context.Context, request openai.ChatCompletionRequest) []openai.ChatCompletionMessage {
	return []openai.ChatCompletionMessage{goComplete(ctx, request), goStreamed(ctx, request)}
}

func goFails(err error, status int, code string) {
	var failure *openai.APIError
	check(errors.As(err, &failure), "not an error of the API: %v", err)
	check(failure.HTTPStatusCode == status && failure.Code == code && failure.Type != "", "%+v", failure)
}

func communityChat() {
	onEach(community, "text", func(ctx context.Context, model string) {
		request := goQuestion(model, "Hello")
		request.Metadata = metadata
		check(strings.Contains(goComplete(ctx, request).Content, "Hello"), "another text")
	})
	onEach(community, "stream", func(ctx context.Context, model string) {
		check(strings.Contains(goStreamed(ctx, goQuestion(model, "Hello")).Content, "Hello"), "another text")
	})
	onEach(community, "tool", func(ctx context.Context, model string) {
		request := goQuestion(model, "Use a tool")
		request.Tools = []openai.Tool{goTool}
		for _, message := range goBoth(ctx, request) {
			check(len(message.ToolCalls) == 1, "%+v", message)
			checkCity(message.ToolCalls[0].Function.Arguments)
		}
	})
	onEach(community, "parallel tools", func(ctx context.Context, model string) {
		request := goQuestion(model, "Use a tool, parallel")
		request.Tools = []openai.Tool{goTool}
		for _, message := range goBoth(ctx, request) {
			check(len(message.ToolCalls) == 2, "%+v", message)
		}
	})
	onEach(community, "forced tool", func(ctx context.Context, model string) {
		request := goQuestion(model, "Hello")
		request.Tools = []openai.Tool{goTool}
		request.ToolChoice = openai.ToolChoice{
			Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: "weather"},
		}
		check(len(goComplete(ctx, request).ToolCalls) == 1, "no call")
	})
	onEach(community, "tool result", func(ctx context.Context, model string) {
		request := goQuestion(model, "Use a tool")
		request.Tools = []openai.Tool{goTool}
		message := goComplete(ctx, request)
		request.Messages = append(request.Messages, message, openai.ChatCompletionMessage{
			Role: "tool", Content: "sunny", ToolCallID: message.ToolCalls[0].ID,
		})
		check(strings.Contains(goComplete(ctx, request).Content, "sunny"), "the result was not used")
	})
	onEach(community, "structured output", func(ctx context.Context, model string) {
		request := goQuestion(model, "Where?")
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name: "place", Schema: rawSchema, Strict: true,
			},
		}
		checkCity(goComplete(ctx, request).Content)
	})
	onEach(community, "image", func(ctx context.Context, model string) {
		request := goQuestion(model, "")
		request.Messages[0].MultiContent = []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: "What is this?"},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: image}},
		}
		check(strings.Contains(goComplete(ctx, request).Content, "What is this?"), "no answer")
	})
	feature(community, "models", func(ctx context.Context) {
		list := must(goClient.ListModels(ctx))
		check(slices.ContainsFunc(list.Models, func(model openai.Model) bool { return model.ID == models[0] }),
			"%d models", len(list.Models))
	})
}
