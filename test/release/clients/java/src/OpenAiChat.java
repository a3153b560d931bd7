import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionNamedToolChoice;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import java.util.List;

final class OpenAiChat {
    private final Cases cases = new Cases("java/openai-java");

    void run() {
        cases.onEach("text", model -> {
            ChatCompletion completion = complete(OpenAi.chat(model, "Hello").build());
            Cases.check(textOf(completion).contains("Hello"), completion);
            Cases.check(completion.usage().get().totalTokens() > 0, completion);
        });
        cases.onEach("stream", model -> {
            ChatCompletion completion = stream(OpenAi.chat(model, "Hello"));
            Cases.check(textOf(completion).contains("Hello"), completion);
            Cases.check(completion.usage().get().totalTokens() > 0, completion);
        });
        cases.onEach("tool", model -> expectCalls(withTool(model, "Use a tool"), 1));
        cases.onEach("parallel tools", model -> expectCalls(withTool(model, "Use a tool, parallel"), 2));
        cases.onEach("forced tool", model -> {
            ChatCompletionNamedToolChoice.Function function =
                    ChatCompletionNamedToolChoice.Function.builder().name("weather").build();
            expectCalls(
                    withTool(model, "Hello")
                            .toolChoice(ChatCompletionNamedToolChoice.builder().function(function).build()),
                    1);
        });
        cases.onEach("tool result", model -> {
            ChatCompletionCreateParams.Builder params = withTool(model, "Use a tool");
            ChatCompletionMessage message = complete(params.build()).choices().get(0).message();
            params.addMessage(message);
            params.addMessage(ChatCompletionToolMessageParam.builder()
                    .toolCallId(message.toolCalls().get().get(0).asFunction().id())
                    .content("sunny")
                    .build());
            String text = textOf(complete(params.build()));
            Cases.check(text.contains("sunny"), text);
        });
        cases.onEach("tool loop", model -> {
            ChatCompletionCreateParams.Builder params = withTool(model, "Use a tool [[sandbox:rounds=3]]");
            ChatCompletion completion = stream(params);
            int calls = 0;
            for (; hasCalls(completion); completion = stream(params)) {
                ChatCompletionMessage message = completion.choices().get(0).message();
                params.addMessage(message);
                params.addMessage(ChatCompletionToolMessageParam.builder()
                        .toolCallId(message.toolCalls().get().get(0).asFunction().id())
                        .content("call " + ++calls)
                        .build());
            }
            Cases.check(calls == 3 && textOf(completion).contains("call 3"), completion);
        });
        cases.onEach("structured output", model -> {
            OpenAi.Weather place = OpenAi.CLIENT
                    .chat()
                    .completions()
                    .create(OpenAi.chat(model, "Where?").responseFormat(OpenAi.Weather.class).build())
                    .choices()
                    .get(0)
                    .message()
                    .content()
                    .get();
            Cases.check(!place.city.isEmpty(), place);
        });
        cases.onEach("image", model -> {
            List<ChatCompletionContentPart> parts = List.of(
                    ChatCompletionContentPart.ofText(
                            ChatCompletionContentPartText.builder().text("What is this?").build()),
                    ChatCompletionContentPart.ofImageUrl(ChatCompletionContentPartImage.builder()
                            .imageUrl(ChatCompletionContentPartImage.ImageUrl.builder()
                                    .url("data:image/png;base64," + Cases.PNG)
                                    .build())
                            .build()));
            ChatCompletionCreateParams params = ChatCompletionCreateParams.builder()
                    .model(model)
                    .addUserMessageOfArrayOfContentParts(parts)
                    .build();
            Cases.check(textOf(complete(params)).contains("What is this?"), "no answer");
        });
        cases.onEach("metadata", model -> {
            var metadata = ChatCompletionCreateParams.Metadata.builder();
            Cases.METADATA.forEach((name, value) -> metadata.putAdditionalProperty(name, Cases.json(value)));
            var params = OpenAi.chat(model, "Hello").metadata(metadata.build());
            ChatCompletion completion = complete(params.build());
            var returned = completion.metadata().get()._additionalProperties();
            Cases.METADATA.forEach((name, value) -> Cases.check(
                    value.equals(returned.get(name).asStringOrThrow()), returned));
        });
        cases.once("models", ignored -> OpenAi.CLIENT.models().list().autoPager().forEach(model -> {
            Cases.check(OpenAi.CLIENT.models().retrieve(model.id()).id().equals(model.id()), model);
        }));
    }

    private static boolean hasCalls(ChatCompletion completion) {
        return !completion.choices().get(0).message().toolCalls().orElse(List.of()).isEmpty();
    }

    private static ChatCompletionCreateParams.Builder withTool(String model, String text) {
        return OpenAi.chat(model, text).addTool(OpenAi.Weather.class);
    }

    /** Asks for a whole answer and for a stream. */
    private static void expectCalls(ChatCompletionCreateParams.Builder params, int count) {
        for (ChatCompletion completion : List.of(complete(params.build()), stream(params))) {
            List<ChatCompletionMessageToolCall> calls =
                    completion.choices().get(0).message().toolCalls().get();
            Cases.check(calls.size() == count, completion);
            for (ChatCompletionMessageToolCall call : calls) {
                OpenAi.Weather weather = call.asFunction().function().arguments(OpenAi.Weather.class);
                Cases.check(!weather.city.isEmpty(), call);
            }
        }
    }

    private static ChatCompletion complete(ChatCompletionCreateParams params) {
        return OpenAi.CLIENT.chat().completions().create(params).validate();
    }

    private static ChatCompletion stream(ChatCompletionCreateParams.Builder params) {
        params.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
        ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
        OpenAi.readAll(OpenAi.CLIENT.chat().completions().createStreaming(params.build()))
                .forEach(accumulator::accumulate);
        return accumulator.chatCompletion();
    }

    private static String textOf(ChatCompletion completion) {
        return completion.choices().get(0).message().content().get();
    }
}
