import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** OpenAI's client, which validates every object that it reads. */
final class OpenAi {
    static final OpenAIClient CLIENT = client(Cases.API_KEY, Duration.ofSeconds(30));

    static OpenAIClient client(String key, Duration timeout) {
        return OpenAIOkHttpClient.builder()
                .baseUrl(Cases.BASE_URL)
                .apiKey(key)
                .maxRetries(0)
                .timeout(timeout)
                .responseValidation(true)
                .build();
    }

    /** The arguments of the tool, and a structured output. */
    @JsonTypeName("weather")
    @JsonClassDescription("The weather of a city.")
    public static final class Weather {
        public String city;
    }

    static ChatCompletionCreateParams.Builder chat(String model, String text) {
        return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
    }

    static ResponseCreateParams.Builder ask(String model, String text) {
        return ResponseCreateParams.builder().model(model).input(text);
    }


    /** Reads a stream to its end. */
    static <T> List<T> readAll(StreamResponse<T> stream) {
        List<T> items = new ArrayList<>();
        try (stream) {
            stream.stream().forEach(items::add);
        }
        return items;
    }
}
