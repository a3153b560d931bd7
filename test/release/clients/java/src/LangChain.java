import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.LangChain4jException;
import dev.langchain4j.exception.ModelNotFoundException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** LangChain4j on one of OpenAI's two APIs. */
final class LangChain {
    /** Makes the two models of one API. */
    interface Models {
        ChatModel whole(String model, String key, Duration timeout);

        StreamingChatModel streaming(String model, String key);
    }

    private static final Duration USUAL = Duration.ofSeconds(30);
    private static final JsonObjectSchema CITY = JsonObjectSchema.builder()
            .addStringProperty("city")
            .required("city")
            .additionalProperties(false)
            .build();
    private static final ToolSpecification WEATHER =
            ToolSpecification.builder().name("weather").parameters(CITY).build();

    private final Cases cases;
    private final Models models;

    LangChain(String client, Models models) {
        cases = new Cases(client);
        this.models = models;
    }

    void run() {
        cases.onEach("text", model -> expectText(whole(model, ask("Hello")), "Hello"));
        cases.onEach("stream", model -> expectText(stream(model, ask("Hello")), "Hello"));
        cases.onEach("tool", model -> expectCalls(model, ask("Use a tool").toolSpecifications(WEATHER), 1));
        cases.onEach("parallel tools", model ->
                expectCalls(model, ask("Use a tool, parallel").toolSpecifications(WEATHER), 2));
        cases.onEach("forced tool", model -> expectCalls(
                model, ask("Hello").toolSpecifications(WEATHER).toolChoice(ToolChoice.REQUIRED), 1));
        cases.onEach("tool result", model -> {
            UserMessage question = UserMessage.from("Use a tool");
            AiMessage called = whole(model, ask("Use a tool").toolSpecifications(WEATHER)).aiMessage();
            ToolExecutionResultMessage result =
                    ToolExecutionResultMessage.from(called.toolExecutionRequests().get(0), "sunny");
            ChatRequest.Builder request = ChatRequest.builder().messages(question, called, result);
            expectText(whole(model, request.toolSpecifications(WEATHER)), "sunny");
        });
        cases.onEach("structured output", model -> {
            JsonSchema schema = JsonSchema.builder().name("place").rootElement(CITY).build();
            ResponseFormat format =
                    ResponseFormat.builder().type(ResponseFormatType.JSON).jsonSchema(schema).build();
            expectText(whole(model, ask("Where?").responseFormat(format)), "\"city\"");
        });
        cases.onEach("image", model -> {
            UserMessage message = UserMessage.from(
                    TextContent.from("What is this?"), ImageContent.from(Cases.PNG, "image/png"));
            expectText(whole(model, ChatRequest.builder().messages(message)), "What is this?");
        });
        cases.once("errors", model -> {
            expect(AuthenticationException.class, 401, model, "tr_wrong", ask("Hello"));
            ChatRequest.Builder invalid = ask("Hello").temperature(7.0);
            expect(InvalidRequestException.class, 400, "auto:cost", Cases.API_KEY, invalid);
            expect(ModelNotFoundException.class, 404, "no-such-model", Cases.API_KEY, ask("Hello"));
            expect(LangChain4jException.class, 403, model, Cases.API_KEY, ask("forbidden"));
            expect(RateLimitException.class, 429, model, Cases.API_KEY, ask("Hm [[sandbox:status=429]]"));
            expect(LangChain4jException.class, 502, model, Cases.API_KEY, ask("Hm [[sandbox:status=500]]"));
        });
        cases.onEach("failing stream", model ->
                Cases.fails(Throwable.class, () -> stream(model, ask("Hm [[sandbox:cut=6]]"))));
        cases.onEach("cancel", model -> {
            ChatModel impatient = models.whole(model, Cases.API_KEY, Duration.ofMillis(300));
            Cases.fails(
                    LangChain4jException.class, () -> impatient.chat(ask("Hm [[sandbox:hang]]").build()));
        });
    }

    private static ChatRequest.Builder ask(String text) {
        return ChatRequest.builder().messages(UserMessage.from(text));
    }

    private ChatResponse whole(String model, ChatRequest.Builder request) {
        return models.whole(model, Cases.API_KEY, USUAL).chat(request.build());
    }

    private ChatResponse stream(String model, ChatRequest.Builder request) throws Exception {
        CompletableFuture<ChatResponse> ended = new CompletableFuture<>();
        StringBuilder pieces = new StringBuilder();
        models.streaming(model, Cases.API_KEY).chat(request.build(), new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(String text) {
                pieces.append(text);
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                ended.complete(response);
            }

            @Override
            public void onError(Throwable error) {
                ended.completeExceptionally(error);
            }
        });
        ChatResponse response = ended.get(30, TimeUnit.SECONDS);
        String text = response.aiMessage().text();
        Cases.check(pieces.toString().equals(text == null ? "" : text), "the pieces are " + pieces);
        return response;
    }

    private static void expectText(ChatResponse response, String text) {
        Cases.check(response.aiMessage().text().contains(text), response);
        Cases.check(response.tokenUsage().totalTokenCount() > 0, response);
    }

    private void expectCalls(String model, ChatRequest.Builder request, int count) throws Exception {
        for (ChatResponse response : List.of(whole(model, request), stream(model, request))) {
            List<ToolExecutionRequest> calls = response.aiMessage().toolExecutionRequests();
            Cases.check(calls.size() == count, response);
            for (ToolExecutionRequest call : calls) Cases.check(call.arguments().contains("\"city\""), call);
        }
    }

    private void expect(
            Class<? extends Throwable> expected,
            int status,
            String model,
            String key,
            ChatRequest.Builder request)
            throws Exception {
        ChatModel chat = models.whole(model, key, USUAL);
        Throwable error = Cases.fails(expected, () -> chat.chat(request.build()));
        Cases.check(((HttpException) error.getCause()).statusCode() == status, error);
    }
}
