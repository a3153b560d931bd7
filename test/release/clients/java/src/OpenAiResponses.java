import com.openai.errors.NotFoundException;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ToolChoiceFunction;
import com.openai.models.responses.inputitems.InputItemListParams;
import com.openai.services.blocking.ResponseService;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

final class OpenAiResponses {
    private final Cases cases = new Cases("java/openai-java");
    private static final ResponseService RESPONSES = OpenAi.CLIENT.responses();

    void run() {
        cases.onEach("responses", model -> expectText(respond(OpenAi.ask(model, "Hello")), "Hello"));
        cases.onEach("responses stream", model -> expectText(stream(OpenAi.ask(model, "Hello")), "Hello"));
        cases.onEach("responses tools", model -> {
            expectCalls(withTool(model, "Use a tool"), 1);
            expectCalls(withTool(model, "Use a tool, parallel"), 2);
            ToolChoiceFunction choice = ToolChoiceFunction.builder().name("weather").build();
            expectCalls(withTool(model, "Hello").toolChoice(choice), 1);
        });
        cases.onEach("responses tools", model -> {
            Response first = respond(withTool(model, "Use a tool"));
            ResponseInputItem result = ResponseInputItem.ofFunctionCallOutput(
                    ResponseInputItem.FunctionCallOutput.builder()
                            .callId(callsOf(first).get(0).callId())
                            .output("sunny")
                            .build());
            var params = withTool(model, "").inputOfResponse(List.of(result));
            expectBoth(params.previousResponseId(first.id()), "sunny");
        });
        cases.onEach("structured output", model -> {
            OpenAi.Weather place =
                    RESPONSES
                            .create(OpenAi.ask(model, "Where?").text(OpenAi.Weather.class).build())
                            .output()
                            .stream()
                            .flatMap(item -> item.message().stream())
                            .findFirst()
                            .get()
                            .content()
                            .get(0)
                            .asOutputText();
            Cases.check(!place.city.isEmpty(), place);
        });
        cases.onEach("image", model -> {
            var text = Map.of("type", "input_text", "text", "What is this?");
            var url = "data:image/png;base64," + Cases.PNG;
            var image = Map.of("type", "input_image", "detail", "auto", "image_url", url);
            var input = List.of(Map.of("role", "user", "content", List.of(text, image)));
            expectText(respond(OpenAi.ask(model, "").input(Cases.json(input))), "What is this?");
        });
        cases.onEach("metadata", model -> {
            var metadata = ResponseCreateParams.Metadata.builder();
            Cases.METADATA.forEach((name, value) -> metadata.putAdditionalProperty(name, Cases.json(value)));
            ResponseCreateParams.Builder params = OpenAi.ask(model, "Hello").metadata(metadata.build());
            for (Response response : List.of(respond(params), stream(params))) {
                expectMetadata(response);
                expectMetadata(RESPONSES.retrieve(response.id()).validate());
            }
        });
        cases.onEach("chain", model -> {
            Response first = respond(OpenAi.ask(model, "One"));
            Response second = respond(OpenAi.ask(model, "Two").previousResponseId(first.id()));
            Cases.check(second.previousResponseId().get().equals(first.id()), second);
        });
        cases.onEach("stored responses", OpenAiResponses::readStored);
    }

    private static void readStored(String model) throws Exception {
        List<Map<String, String>> input = List.of(
                Map.of("role", "user", "content", "One"),
                Map.of("role", "assistant", "content", "Two"),
                Map.of("role", "user", "content", "Three"));
        Response response = respond(OpenAi.ask(model, "").input(Cases.json(input)));
        Cases.check(textOf(RESPONSES.retrieve(response.id()).validate()).equals(textOf(response)), response);
        InputItemListParams params = InputItemListParams.builder()
                .responseId(response.id())
                .limit(2)
                .order(InputItemListParams.Order.ASC)
                .build();
        List<ResponseItem> items = RESPONSES.inputItems().list(params).autoPager().stream()
                .map(ResponseItem::validate)
                .collect(Collectors.toList());
        Cases.check(items.size() == 3, items);
        RESPONSES.delete(response.id());
        Cases.fails(NotFoundException.class, () -> RESPONSES.retrieve(response.id()));
    }

    private static ResponseCreateParams.Builder withTool(String model, String text) {
        return OpenAi.ask(model, text).addTool(OpenAi.Weather.class);
    }

    private static void expectCalls(ResponseCreateParams.Builder params, int count) {
        for (Response response : List.of(respond(params), stream(params))) {
            List<ResponseFunctionToolCall> calls = callsOf(response);
            Cases.check(calls.size() == count, response);
            calls.forEach(call -> Cases.check(!call.arguments(OpenAi.Weather.class).city.isEmpty(), call));
        }
    }

    private static void expectBoth(ResponseCreateParams.Builder params, String text) {
        expectText(respond(params), text);
        expectText(stream(params), text);
    }

    private static void expectText(Response response, String text) {
        Cases.check(textOf(response).contains(text), response);
        Cases.check(response.usage().get().totalTokens() > 0, response);
    }

    private static void expectMetadata(Response response) {
        var returned = response.metadata().get()._additionalProperties();
        Cases.METADATA.forEach((name, value) -> Cases.check(
                value.equals(returned.get(name).asStringOrThrow()), returned));
    }

    static Response respond(ResponseCreateParams.Builder params) {
        return RESPONSES.create(params.build()).validate();
    }

    private static Response stream(ResponseCreateParams.Builder params) {
        ResponseAccumulator accumulator = ResponseAccumulator.create();
        OpenAi.readAll(RESPONSES.createStreaming(params.build())).forEach(accumulator::accumulate);
        return accumulator.response().validate();
    }

    private static String textOf(Response response) {
        return response.output().stream()
                .flatMap(item -> item.message().stream())
                .flatMap(message -> message.content().stream())
                .map(content -> content.asOutputText().text())
                .collect(Collectors.joining());
    }

    private static List<ResponseFunctionToolCall> callsOf(Response response) {
        return response.output().stream()
                .filter(ResponseOutputItem::isFunctionCall)
                .map(ResponseOutputItem::asFunctionCall)
                .collect(Collectors.toList());
    }
}
