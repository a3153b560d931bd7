package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sashabaranov/go-openai"
)

var rawSchema = func() json.RawMessage { return must(json.Marshal(weatherSchema)) }()

// goFailing sends the same question to both endpoints, and checks the errors.
func goFailing(ctx context.Context, client *openai.Client, model, text string, status int, code string) {
	_, err := client.CreateChatCompletion(ctx, goQuestion(model, text))
	goFails(err, status, code)
	_, err = client.CreateResponse(ctx, openai.CreateResponseRequest{Model: model, Input: text})
	goFails(err, status, code)
}

func communityErrors() {
	feature(community, "errors", func(ctx context.Context) {
		goFailing(ctx, newCommunityClient("tr_wrong"), models[0], "Hello", 401, "invalid_api_key")
	})
	feature(community, "errors", func(ctx context.Context) {
		request := goQuestion("auto:cost", "Hello")
		request.Temperature = 7
		_, err := goClient.CreateChatCompletion(ctx, request)
		goFails(err, 400, "invalid_value")
	})
	feature(community, "errors", func(ctx context.Context) {
		goFailing(ctx, goClient, "no-such-model", "Hello", 404, "model_not_found")
	})
	feature(community, "errors", func(ctx context.Context) {
		goFailing(ctx, goClient, models[0], forbidden, 403, "firewall_blocked")
	})
	feature(community, "errors", func(ctx context.Context) {
		goFailing(ctx, goClient, models[0], "Hm [[sandbox:status=429]]", 429, "rate_limit_exceeded")
	})
	feature(community, "errors", func(ctx context.Context) {
		goFailing(ctx, goClient, models[0], "Hm [[sandbox:status=500]]", 502, "provider_error")
	})
	onEach(community, "failing stream", func(ctx context.Context, model string) {
		err := goDrain(ctx, goQuestion(model, "Hm [[sandbox:cut=6]]"))
		check(err != nil, "no error")
	})
	onEach(community, "failing stream", func(ctx context.Context, model string) {
		request := openai.CreateResponseRequest{Model: model, Input: "Hm [[sandbox:cut=6]]"}
		events, err := goEvents(ctx, request)
		last := events[len(events)-1]
		check(err != nil || last.Type == openai.ResponseStreamEventFailed, "ends with %s", last.Type)
	})
	onEach(community, "cancel", func(_ context.Context, model string) {
		cancelling(func(ctx context.Context, text string) error {
			_, err := goClient.CreateChatCompletion(ctx, goQuestion(model, text))
			return err
		})
		cancelling(func(ctx context.Context, text string) error {
			return goDrain(ctx, goQuestion(model, text))
		})
	})
	onEach(community, "cancel", func(_ context.Context, model string) {
		cancelling(func(ctx context.Context, text string) error {
			_, err := goEvents(ctx, openai.CreateResponseRequest{Model: model, Input: text})
			return err
		})
	})
}

// goDrain reads a stream to its end, and returns its error.
func goDrain(ctx context.Context, request openai.ChatCompletionRequest) error {
	stream, err := goClient.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// goEvents reads the events of a stream, and the error that it ended with.
func goEvents(
	ctx context.Context, request openai.CreateResponseRequest,
) (events []openai.ResponseStreamEvent, err error) {
	stream, err := goClient.CreateResponseStream(ctx, request)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
}
