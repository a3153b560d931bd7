// Calls a gateway with the OpenAI clients for Go, as the README of the folder above says.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
)

var (
	baseURL = os.Getenv("BASE_URL")
	apiKey  = os.Getenv("API_KEY")
	// One model of each provider.
	models = strings.Split(os.Getenv("MODELS"), ",")
)

// The user has a firewall rule that blocks this word.
const forbidden = "forbidden"

const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" +
	"AAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="

var weatherSchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

type result struct {
	Client  string `json:"client"`
	Feature string `json:"feature"`
	Model   string `json:"model,omitempty"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail,omitempty"`
}

// run runs one case and prints its result. A panic fails the case.
func run(line result, body func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	line.OK = true
	func() {
		defer func() {
			if problem := recover(); problem != nil {
				line.OK, line.Detail = false, fmt.Sprint(problem)
			}
		}()
		body(ctx)
	}()
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func feature(client, name string, body func(ctx context.Context)) {
	run(result{Client: client, Feature: name}, body)
}

// onEach runs a case with one model of each provider.
func onEach(client, name string, body func(ctx context.Context, model string)) {
	for _, model := range models {
		run(result{Client: client, Feature: name, Model: model}, func(ctx context.Context) { body(ctx, model) })
	}
}

func must[T any](value T, err error) T {
	var failure *openai.Error
	if errors.As(err, &failure) {
		check(false, "status %d: %s", failure.StatusCode, failure.RawJSON())
	}
	check(err == nil, "error: %v", err)
	return value
}

func check(condition bool, format string, values ...any) {
	if !condition {
		panic(fmt.Sprintf(format, values...))
	}
}

func checkCity(arguments string) {
	var value struct{ City string }
	err := json.Unmarshal([]byte(arguments), &value)
	check(err == nil && value.City != "", "arguments: %q", arguments)
}

func main() {
	officialChat()
	officialErrors()
	officialResponses()
	officialStored()
	officialOptions()
	communityChat()
	communityErrors()
	communityResponses()
}
