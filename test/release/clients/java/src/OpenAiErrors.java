import com.openai.client.OpenAIClient;
import com.openai.errors.BadRequestException;
import com.openai.errors.InternalServerException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.PermissionDeniedException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseStreamEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

final class OpenAiErrors {
    private final Cases cases = new Cases("java/openai-java");

    void run() {
        cases.once("errors", model -> {
            OpenAIClient wrong = OpenAi.client("tr_wrong", Duration.ofSeconds(30));
            expect(UnauthorizedException.class, wrong, model, "Hello", "invalid_api_key");
        });
        cases.once("errors", model -> {
            OpenAIServiceException error = Cases.fails(BadRequestException.class, () -> OpenAi.CLIENT
                    .chat().completions().create(OpenAi.chat(model, "Hello").temperature(7.0).build()));
            Cases.check(error.param().get().equals("temperature"), error);
        });
        cases.once("errors", ignored ->
                expect(NotFoundException.class, OpenAi.CLIENT, "no-such-model", "Hello", "model_not_found"));
        cases.once("errors", model -> expect(
                PermissionDeniedException.class, OpenAi.CLIENT, model, "forbidden", "firewall_blocked"));
        cases.once("errors", model -> expect(
                RateLimitException.class, OpenAi.CLIENT, model, "Hm [[sandbox:status=429]]",
                "rate_limit_exceeded"));
        cases.onEach("errors", model -> expect(
                InternalServerException.class, OpenAi.CLIENT, model, "Hm [[sandbox:status=500]]",
                "provider_error"));
        cases.onEach("failing stream", model -> {
            ChatCompletionCreateParams params = OpenAi.chat(model, "Hm [[sandbox:cut=6]]").build();
            Cases.fails(
                    OpenAIException.class,
                    () -> OpenAi.readAll(OpenAi.CLIENT.chat().completions().createStreaming(params)));
        });
        cases.onEach("failing stream", OpenAiErrors::expectFailedResponse);
        cases.onEach("cancel", model -> {
            OpenAIClient impatient = OpenAi.client(Cases.API_KEY, Duration.ofMillis(300));
            Cases.fails(OpenAIException.class, () -> impatient
                    .chat().completions().create(OpenAi.chat(model, "Hm [[sandbox:hang]]").build()));
            Cases.fails(OpenAIException.class, () -> impatient
                    .responses().create(OpenAi.ask(model, "Hm [[sandbox:hang]]").build()));
            try (var stream = OpenAi.CLIENT.responses().createStreaming(
                    OpenAi.ask(model, "Hm [[sandbox:token-delay=50]]").build())) {
                Cases.check(stream.stream().findFirst().get().isCreated(), "another first event");
            }
        });
        cases.once("cancel by id", model -> {
            Response response = OpenAiResponses.respond(OpenAi.ask(model, "Hello"));
            OpenAIServiceException error = Cases.fails(
                    OpenAIServiceException.class, () -> OpenAi.CLIENT.responses().cancel(response.id()));
            Cases.check(error.statusCode() == 400, error);
            Cases.check(error.code().isPresent() && error.type().isPresent(), error);
        });
    }

    /** The client reads `type`, `code` and `param` with validation, too. */
    private static void expect(
            Class<? extends OpenAIServiceException> expected, OpenAIClient client, String model, String text,
            String code) throws Exception {
        List<Cases.Call> calls = List.of(
                () -> client.chat().completions().create(OpenAi.chat(model, text).build()),
                () -> client.responses().create(OpenAi.ask(model, text).build()),
                () -> OpenAi.readAll(client.responses().createStreaming(OpenAi.ask(model, text).build())));
        for (Cases.Call call : calls) {
            OpenAIServiceException error = Cases.fails(expected, call);
            Cases.check(error.code().get().equals(code), error);
            Cases.check(!error.type().get().isEmpty() && error.param() != null, error);
        }
    }

    /** A stream that breaks ends with the failed response, whose error has one of OpenAI's codes. */
    private static void expectFailedResponse(String model) throws Exception {
        List<ResponseStreamEvent> events = new ArrayList<>();
        try (var stream = OpenAi.CLIENT
                .responses()
                .createStreaming(OpenAi.ask(model, "Hm [[sandbox:cut=6]]").build())) {
            stream.stream().forEach(events::add);
        }
        Response failed = events.get(events.size() - 1).failed().get().response().validate();
        Cases.check(failed.error().get().code().toString().equals("server_error"), failed);
    }
}
