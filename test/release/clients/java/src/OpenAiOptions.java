import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStreamEvent;
import java.util.List;
import java.util.Map;

/** Options that a response echoes, or that lead to other items and another status. */
final class OpenAiOptions {
    private final Cases cases = new Cases("java/openai-java");

    private static final List<?> TOOLS = List.of(Map.of(
            "type", "function",
            "name", "weather",
            "parameters", Map.of("type", "object", "properties", Map.of("city", Map.of("type", "string")))));
    private static final Map<String, ?> ALLOWED = Map.of(
            "type", "allowed_tools",
            "mode", "auto",
            "tools", List.of(Map.of("type", "function", "name", "weather")));
    private static final List<Map<String, ?>> OPTIONS = List.of(
            Map.of("reasoning", Map.of("effort", "high", "summary", "auto")),
            Map.of("max_output_tokens", 3),
            Map.of("text", Map.of("verbosity", "low"), "instructions", "Be brief."),
            Map.of("truncation", "auto", "service_tier", "auto", "safety_identifier", "s"),
            Map.of("store", false, "parallel_tool_calls", false, "temperature", 0.5, "top_p", 0.9),
            Map.of("tools", TOOLS, "tool_choice", "none"),
            Map.of("tools", TOOLS, "tool_choice", "required"),
            Map.of("tools", TOOLS, "tool_choice", ALLOWED),
            Map.of("input", "No [[sandbox:refuse]]"));

    void run() {
        cases.onEach("options", model -> {
            for (Map<String, ?> options : OPTIONS) expectValid(model, options);
        });
    }

    private static void expectValid(String model, Map<String, ?> options) {
        ResponseCreateParams.Builder params = ResponseCreateParams.builder().model(model);
        if (!options.containsKey("input")) params.input("Hello");
        options.forEach((name, value) -> params.putAdditionalBodyProperty(name, Cases.json(value)));
        try {
            Response response = OpenAi.CLIENT.responses().create(params.build()).validate();
            List<ResponseStreamEvent> events =
                    OpenAi.readAll(OpenAi.CLIENT.responses().createStreaming(params.build()));
            events.forEach(ResponseStreamEvent::validate);
            ResponseStreamEvent last = events.get(events.size() - 1);
            Response ended = last.isCompleted()
                    ? last.asCompleted().response()
                    : last.asIncomplete().response();
            Cases.check(ended.status().equals(response.status()), ended);
        } catch (RuntimeException error) {
            throw new AssertionError(options.toString(), error);
        }
    }
}
