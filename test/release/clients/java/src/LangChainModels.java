import dev.langchain4j.http.client.jdk.JdkHttpClient;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.time.Duration;

/** The models of LangChain4j for the two APIs of OpenAI. */
final class LangChainModels {
    static final LangChain.Models CHAT = new LangChain.Models() {
        @Override
        public ChatModel whole(String model, String key, Duration timeout) {
            return OpenAiChatModel.builder()
                    .baseUrl(Cases.BASE_URL)
                    .apiKey(key)
                    .modelName(model)
                    .timeout(timeout)
                    .maxRetries(0)
                    .strictTools(true)
                    .strictJsonSchema(true)
                    .metadata(Cases.METADATA)
                    .build();
        }

        @Override
        public StreamingChatModel streaming(String model, String key) {
            return OpenAiStreamingChatModel.builder()
                    .baseUrl(Cases.BASE_URL)
                    .apiKey(key)
                    .modelName(model)
                    .build();
        }
    };

    static final LangChain.Models RESPONSES = new LangChain.Models() {
        @Override
        public ChatModel whole(String model, String key, Duration timeout) {
            return OpenAiResponsesChatModel.builder()
                    .httpClientBuilder(JdkHttpClient.builder().readTimeout(timeout))
                    .baseUrl(Cases.BASE_URL)
                    .apiKey(key)
                    .modelName(model)
                    .build();
        }

        @Override
        public StreamingChatModel streaming(String model, String key) {
            return OpenAiResponsesStreamingChatModel.builder()
                    .baseUrl(Cases.BASE_URL)
                    .apiKey(key)
                    .modelName(model)
                    .build();
        }
    };

    private LangChainModels() {}
}
