package main

import (
	"context"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

var flatWeatherTool = responses.ToolUnionParam{
	OfFunction: &responses.FunctionToolParam{
		Name: "weather", Parameters: weatherSchema, Strict: openai.Bool(true),
	},
}

func asked(model, text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

func items(list ...responses.ResponseInputItemUnionParam) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfInputItemList: list}
}

func respond(ctx context.Context, params responses.ResponseNewParams) *responses.Response {
	response := valid(must(client.Responses.New(ctx, params)))
	check(response.Status == "completed" && response.Usage.TotalTokens > 0, "%s", response.RawJSON())
	return response
}

// respondStreamed reads a whole stream, and returns the response of its last event.
func respondStreamed(ctx context.Context, params responses.ResponseNewParams) *responses.Response {
	stream := client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	var text strings.Builder
	var last responses.ResponseStreamEventUnion
	for stream.Next() {
		last = valid(stream.Current())
		if last.Type == "response.output_text.delta" {
			text.WriteString(last.Delta)
		}
	}
	check(stream.Err() == nil, "error: %v", stream.Err())
	check(last.Type == "response.completed", "ends with %s", last.Type)
	check(last.Response.OutputText() == text.String(), "the pieces are %q", text.String())
	return &last.Response
}

func callsOf(response *responses.Response) (calls []responses.ResponseFunctionToolCall) {
	for _, item := range response.Output {
		if item.Type == "function_call" {
			calls = append(calls, item.AsFunctionCall())
		}
	}
	return calls
}

// both asks for a whole response and for a stream.
func both(ctx context.Context, params responses.ResponseNewParams) []*responses.Response {
	return []*responses.Response{respond(ctx, params), respondStreamed(ctx, params)}
}

func officialResponses() {
	onEach(official, "responses", func(ctx context.Context, model string) {
		response := respond(ctx, asked(model, "Hello"))
		check(strings.Contains(response.OutputText(), "Hello"), "%s", response.RawJSON())
	})
	onEach(official, "responses stream", func(ctx context.Context, model string) {
		response := respondStreamed(ctx, asked(model, "Hello"))
		check(strings.Contains(response.OutputText(), "Hello"), "%s", response.RawJSON())
	})
	onEach(official, "responses tools", func(ctx context.Context, model string) {
		params := asked(model, "Use a tool")
		params.Tools = []responses.ToolUnionParam{flatWeatherTool}
		for _, response := range both(ctx, params) {
			calls := callsOf(response)
			check(len(calls) == 1, "%s", response.RawJSON())
			checkCity(calls[0].Arguments)
		}
	})
	onEach(official, "responses tools", func(ctx context.Context, model string) {
		params := asked(model, "Use a tool, parallel")
		params.Tools = []responses.ToolUnionParam{flatWeatherTool}
		for _, response := range both(ctx, params) {
			calls := callsOf(response)
			check(len(calls) == 2 && calls[0].CallID != calls[1].CallID, "%s", response.RawJSON())
		}
	})
	onEach(official, "responses tools", func(ctx context.Context, model string) {
		params := asked(model, "Hello")
		params.Tools = []responses.ToolUnionParam{flatWeatherTool}
		params.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: "weather"}
		response := respond(ctx, params)
		check(len(callsOf(response)) == 1, "%s", response.RawJSON())
	})
	onEach(official, "responses tools", func(ctx context.Context, model string) {
		params := asked(model, "Use a tool")
		params.Tools = []responses.ToolUnionParam{flatWeatherTool}
		first := respond(ctx, params)
		params.PreviousResponseID = openai.String(first.ID)
		output := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
		output.OfFunctionCallOutput.CallID = openai.String(callsOf(first)[0].CallID)
		params.Input = items(output)
		for _, response := range both(ctx, params) {
			check(strings.Contains(response.OutputText(), "sunny"), "%s", response.RawJSON())
		}
	})
	onEach(official, "structured output", func(ctx context.Context, model string) {
		params := asked(model, "Where?")
		params.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("place", weatherSchema)
		for _, response := range both(ctx, params) {
			checkCity(response.OutputText())
		}
	})
	onEach(official, "image", func(ctx context.Context, model string) {
		params := asked(model, "")
		params.Input = items(responses.ResponseInputItemParamOfMessage(
			responses.ResponseInputMessageContentListParam{
				responses.ResponseInputContentParamOfInputText("What is this?"),
				{OfInputImage: &responses.ResponseInputImageParam{
					Detail: "auto", ImageURL: openai.String(image),
				}},
			}, "user"))
		response := respond(ctx, params)
		check(strings.Contains(response.OutputText(), "What is this?"), "%s", response.RawJSON())
	})
}
