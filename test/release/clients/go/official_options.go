package main

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// Options that a response echoes, or that lead to other items and another status.
var responseOptions = []map[string]any{
	{"reasoning": map[string]any{"effort": "high", "summary": "auto"}},
	{"max_output_tokens": 3},
	{"text": map[string]any{"verbosity": "low"}, "instructions": "Be brief."},
	{"truncation": "auto", "service_tier": "auto", "safety_identifier": "s", "prompt_cache_key": "k"},
	{"store": false, "parallel_tool_calls": false, "temperature": 0.5, "top_p": 0.9},
	{"tools": flatTools, "tool_choice": "none"},
	{"tools": flatTools, "tool_choice": "required"},
	{"tools": flatTools, "tool_choice": map[string]any{
		"type": "allowed_tools", "mode": "auto",
		"tools": []any{map[string]any{"type": "function", "name": "weather"}},
	}},
	{"input": "No [[sandbox:refuse]]"},
}

var flatTools = []any{map[string]any{"type": "function", "name": "weather", "parameters": weatherSchema}}

func officialOptions() {
	onEach(official, "options", func(ctx context.Context, model string) {
		for _, fields := range responseOptions {
			name := string(must(json.Marshal(fields)))
			var options []option.RequestOption
			for field, value := range fields {
				options = append(options, option.WithJSONSet(field, value))
			}
			response := valid(must(client.Responses.New(ctx, asked(model, "Hello"), options...)))
			check(len(response.Output) > 0, "%s: no output", name)
			stream := client.Responses.NewStreaming(ctx, asked(model, "Hello"), options...)
			var last responses.ResponseStreamEventUnion
			for stream.Next() {
				last = valid(stream.Current())
			}
			check(stream.Err() == nil, "%s: %v", name, stream.Err())
			check(last.Response.Status == response.Status, "%s: ends with %s", name, last.Type)
		}
	})
}
