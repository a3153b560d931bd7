/** Calls a gateway with clients of Java, as the README of the folder above says. */
public final class Main {
    public static void main(String[] arguments) {
        new OpenAiChat().run();
        new OpenAiResponses().run();
        new OpenAiOptions().run();
        new OpenAiErrors().run();
        new LangChain("java/langchain4j", LangChainModels.CHAT).run();
        new LangChain("java/langchain4j, responses", LangChainModels.RESPONSES).run();
        // Threads of the HTTP clients stay for a minute.
        System.exit(0);
    }
}
