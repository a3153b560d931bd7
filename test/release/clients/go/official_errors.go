package main

import (
	"context"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// failing sends the same question to both endpoints, and checks the errors.
func failing(
	ctx context.Context, model, text string, status int, code string, options ...option.RequestOption,
) {
	_, err := client.Chat.Completions.New(ctx, question(model, text), options...)
	failure := apiError(err, status)
	check(failure.Code == code, "chat: code %q", failure.Code)
	_, err = client.Responses.New(ctx, asked(model, text), options...)
	failure = apiError(err, status)
	check(failure.Code == code, "responses: code %q", failure.Code)
}

func officialErrors() {
	feature(official, "errors", func(ctx context.Context) {
		failing(ctx, models[0], "Hello", 401, "invalid_api_key", option.WithAPIKey("tr_wrong"))
	})
	feature(official, "errors", func(ctx context.Context) {
		wrong := option.WithJSONSet("temperature", 7)
		failing(ctx, models[0], "Hello", 400, "invalid_value", wrong)
	})
	feature(official, "errors", func(ctx context.Context) {
		failing(ctx, "no-such-model", "Hello", 404, "model_not_found")
		_, err := client.Responses.Get(ctx, "resp_unknown", responses.ResponseGetParams{})
		apiError(err, 404)
	})
	feature(official, "errors", func(ctx context.Context) {
		failing(ctx, models[0], forbidden, 403, "firewall_blocked")
	})
	feature(official, "errors", func(ctx context.Context) {
		failing(ctx, models[0], "Hm [[sandbox:status=429]]", 429, "rate_limit_exceeded")
	})
	onEach(official, "errors", func(ctx context.Context, model string) {
		failing(ctx, model, "Hm [[sandbox:status=500]]", 502, "provider_error")
	})
	onEach(official, "failing stream", func(ctx context.Context, model string) {
		stream := client.Chat.Completions.NewStreaming(ctx, question(model, "Hm [[sandbox:cut=6]]"))
		defer stream.Close()
		for stream.Next() {
			valid(stream.Current())
		}
		check(stream.Err() != nil, "no error")
	})
	onEach(official, "failing stream", func(ctx context.Context, model string) {
		stream := client.Responses.NewStreaming(ctx, asked(model, "Hm [[sandbox:cut=6]]"))
		defer stream.Close()
		var last responses.ResponseStreamEventUnion
		for stream.Next() {
			last = valid(stream.Current())
		}
		check(stream.Err() == nil, "%v", stream.Err())
		check(last.Type == "response.failed", "ends with %s", last.Type)
		check(last.Response.Error.Code == responses.ResponseErrorCodeServerError, "%s", last.RawJSON())
	})
	onEach(official, "cancel", func(_ context.Context, model string) {
		cancelling(func(ctx context.Context, text string) error {
			_, err := client.Chat.Completions.New(ctx, question(model, text))
			return err
		})
		cancelling(func(ctx context.Context, text string) error {
			stream := client.Chat.Completions.NewStreaming(ctx, question(model, text))
			return drain(stream)
		})
	})
	onEach(official, "cancel", func(_ context.Context, model string) {
		cancelling(func(ctx context.Context, text string) error {
			return drain(client.Responses.NewStreaming(ctx, asked(model, text)))
		})
	})
	feature(official, "cancel by id", func(ctx context.Context) {
		response := respond(ctx, asked(models[0], "Hello"))
		_, err := client.Responses.Cancel(ctx, response.ID)
		check(apiError(err, 400).Message != "", "no message")
	})
}

type stream interface {
	Next() bool
	Err() error
	Close() error
}

func drain(stream stream) error {
	defer stream.Close()
	for stream.Next() {
	}
	return stream.Err()
}

// cancelling expects that a call ends with its context, and that the gateway goes on serving.
func cancelling(call func(ctx context.Context, text string) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := call(ctx, "Hm [[sandbox:token-delay=100 first-byte=1000]]")
	check(err != nil, "the call did not fail")
	check(time.Since(start) < 5*time.Second, "the call took %v", time.Since(start))
	must(client.Models.Get(context.Background(), "gpt-4o"))
}
