"""Pydantic AI, with chat completions, the Responses API and Anthropic's messages."""

from base64 import b64decode

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelHTTPError, NativeOutput, Tool, ToolOutput, UserError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from cases import (
    API_KEY,
    BASE_URL,
    LONG_NAME,
    LOOP,
    PNG,
    Counter,
    Skipped,
    contains,
    equal,
    needs_images,
    run_cases,
)


class Answer(BaseModel):
    """An answer."""

    city: str
    degrees: int


def openai_provider():
    client = AsyncOpenAI(base_url=f"{BASE_URL}/v1", api_key=API_KEY, max_retries=0)
    return OpenAIProvider(openai_client=client)


def anthropic_provider():
    client = AsyncAnthropic(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
    return AnthropicProvider(anthropic_client=client)


def to_chat(model):
    return OpenAIChatModel(model, provider=openai_provider())


def to_responses(model):
    return OpenAIResponsesModel(model, provider=openai_provider())


def to_anthropic(model):
    return AnthropicModel(model, provider=anthropic_provider())


# Thinking of these has no signature. Pydantic AI sends it to Anthropic's API as the text of a user.
WITHOUT_SIGNATURE = ("mistral", "deepseek")


def cases(to_model):
    def agent(model, **options):
        return Agent(to_model(model), **options)

    def agent_with_tools(model):
        helper = agent(model)

        @helper.tool_plain
        def get_weather(city: str) -> str:
            """The weather."""
            return "rain in Basel"

        @helper.tool_plain
        def get_time(city: str) -> str:
            """The time."""
            return "noon"

        return helper

    async def text(model):
        result = await agent(model, instructions="Be brief.").run("Hello")
        contains(result.output, "Hello")
        usage = result.usage() if callable(result.usage) else result.usage
        equal(usage.output_tokens > 0, True)

    async def stream(model):
        async with agent(model).run_stream("Hello") as result:
            contains(await result.get_output(), "Hello")

    async def tool_result(model):
        contains((await agent_with_tools(model).run("Use get_weather")).output, "rain in Basel")

    async def tool_loop(model):
        counter = Counter()
        is_user_text = to_model is to_anthropic and model.startswith(WITHOUT_SIGNATURE)
        helper = agent(model, model_settings={} if is_user_text else {"thinking": "low"})

        @helper.tool_plain
        def get_weather(city: str) -> str:
            """The weather."""
            return counter.call()

        contains((await helper.run(f"Use get_weather {LOOP}")).output, "call 3")
        equal(counter.count, 3)

    async def tool_names(model):
        helper = agent(model, tools=[Tool(lambda: "nothing found", name=LONG_NAME, description="Finds.")])
        contains((await helper.run("Use the tool")).output, "nothing found")

    async def image_result(model):
        needs_images(model)
        if to_model is to_chat:
            raise Skipped("Pydantic AI: a user message follows, to which the sandbox responds with the next call")
        helper = agent(model)

        @helper.tool_plain
        def get_weather(city: str):
            """The weather."""
            return ["a picture", BinaryContent(b64decode(PNG), media_type="image/png")]

        contains((await helper.run("Use get_weather")).output, "a picture")

    async def parallel_tools(model):
        output = (await agent_with_tools(model).run("Use a tool, parallel")).output
        contains(output, "rain in Basel")
        contains(output, "noon")

    async def structured_tool(model):
        output = (await agent(model, output_type=ToolOutput(Answer)).run("Basel?")).output
        assert isinstance(output, Answer)

    async def structured(model):
        try:
            output = (await agent(model, output_type=NativeOutput(Answer)).run("Basel?")).output
        except UserError as error:
            raise Skipped(f"Pydantic AI: {error}") from error
        assert isinstance(output, Answer)

    async def image(model):
        needs_images(model)
        picture = BinaryContent(b64decode(PNG), media_type="image/png")
        contains((await agent(model).run(["What is this?", picture])).output, "What is this?")

    async def errors(model):
        try:
            await agent(model).run("forbidden")
        except ModelHTTPError as error:
            equal(error.status_code, 403)
            contains(str(error.body), "blocked by firewall rule")
        else:
            raise AssertionError("no error")

    async def cancel(model):
        async with agent(model).run_stream("Hi [[sandbox:token-delay=20]]") as result:
            async for _ in result.stream_text(debounce_by=None):
                break
        contains((await agent(model).run("Hello")).output, "Hello")

    async def chain(model):
        first = await agent(model).run("I am Ada")
        second = await agent(model).run("Who am I?", message_history=first.new_messages())
        contains(second.output, "Who am I?")

    return {
        "text": text,
        "stream": stream,
        "tool result": tool_result,
        "tool loop": tool_loop,
        "tool names": tool_names,
        "image result": image_result,
        "parallel tools": parallel_tools,
        "forced tool": structured_tool,
        "structured output": structured,
        "image": image,
        "errors": errors,
        "cancel": cancel,
        "chain": chain,
    }


run_cases("pydantic-ai", cases(to_chat))
run_cases("pydantic-ai, responses", cases(to_responses))
run_cases("pydantic-ai, anthropic", cases(to_anthropic))
