import com.openai.core.JsonValue;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Runs cases and prints one line of JSON for each. */
final class Cases {
    static final String BASE_URL = System.getenv("BASE_URL") + "/v1";
    static final String API_KEY = System.getenv("API_KEY");
    /** One model of each provider. */
    static final List<String> MODELS = List.of(System.getenv("MODELS").split(","));

    static final String PNG =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
                    + "AAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
    static final Map<String, String> METADATA =
            Map.of("tenant", "t", "provider", "acme", "rules_position", "mine");

    interface Case {
        void run(String model) throws Exception;
    }

    private final String client;

    Cases(String client) {
        this.client = client;
    }

    /** Runs a case with every model. It fails with whatever it throws. */
    void onEach(String feature, Case body) {
        for (String model : MODELS) run(feature, model, body);
    }

    void once(String feature, Case body) {
        run(feature, MODELS.get(0), body);
    }

    private void run(String feature, String model, Case body) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("client", client);
        line.put("feature", feature);
        line.put("model", model);
        try {
            body.run(model);
            line.put("ok", true);
        } catch (Throwable error) {
            line.put("ok", false);
            line.put("detail", describe(error));
        }
        System.out.println(toJson(line));
    }

    private static String describe(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause).append(" | ");
        }
        for (StackTraceElement frame : error.getStackTrace()) {
            if (!frame.getClassName().contains(".")) return text.append(frame).toString();
        }
        return text.toString();
    }

    private static String toJson(Map<String, Object> line) {
        try {
            return new com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(line);
        } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    static void check(boolean condition, Object detail) {
        if (!condition) throw new AssertionError(detail);
    }

    interface Call {
        Object run() throws Exception;
    }

    /** Expects an error of this class, which must come within five seconds, and returns it. */
    static <E extends Throwable> E fails(Class<E> expected, Call call) throws Exception {
        long start = System.nanoTime();
        Object result;
        try {
            result = call.run();
        } catch (Throwable error) {
            check(System.nanoTime() - start < 5_000_000_000L, "slow: " + error);
            if (expected.isInstance(error)) return expected.cast(error);
            throw error;
        }
        throw new AssertionError("no error; got " + result);
    }

    static JsonValue json(Object value) {
        return JsonValue.from(value);
    }
}
