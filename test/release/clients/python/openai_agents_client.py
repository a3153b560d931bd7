"""OpenAI's Agents SDK, with the Responses API, its default, and with chat completions."""

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
    set_tracing_disabled,
)
from openai import APIStatusError, AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel

from cases import (
    API_KEY,
    BASE_URL,
    IMAGE_URL,
    LONG_NAME,
    LOOP,
    Counter,
    contains,
    equal,
    needs_images,
    run_cases,
)

set_tracing_disabled(True)


class Answer(BaseModel):
    city: str
    degrees: int


@function_tool
def get_weather(city: str) -> str:
    """The weather."""
    return "rain in Basel"


@function_tool
def get_time(city: str) -> str:
    """The time."""
    return "noon"


TOOLS = [get_weather, get_time]


def cases(model_class):
    def agent(model, **options):
        client = AsyncOpenAI(base_url=f"{BASE_URL}/v1", api_key=API_KEY, max_retries=0)
        return Agent(name="Helper", model=model_class(model=model, openai_client=client), **options)

    async def text(model):
        contains((await Runner.run(agent(model, instructions="Be brief."), "Hello")).final_output, "Hello")

    async def stream(model):
        result = Runner.run_streamed(agent(model), "Hello")
        kinds = [event.type async for event in result.stream_events()]
        contains(result.final_output, "Hello")
        contains(",".join(kinds), "raw_response_event")

    async def tool_result(model):
        contains((await Runner.run(agent(model, tools=TOOLS), "Use get_weather")).final_output, "rain in Basel")

    async def tool_loop(model):
        counter = Counter()

        @function_tool
        def get_weather(city: str) -> str:
            """The weather."""
            return counter.call()

        settings = ModelSettings(reasoning=Reasoning(effort="low"))
        looping = agent(model, tools=[get_weather], model_settings=settings)
        contains((await Runner.run(looping, f"Use get_weather {LOOP}")).final_output, "call 3")
        equal(counter.count, 3)

    async def tool_names(model):
        find = function_tool(lambda: "nothing found", name_override=LONG_NAME, description_override="Finds.")
        output = (await Runner.run(agent(model, tools=[find]), "Use the tool")).final_output
        contains(output, "nothing found")

    async def image_result(model):
        needs_images(model)

        @function_tool
        def take_picture() -> list[ToolOutputText | ToolOutputImage]:
            """Takes a picture."""
            return [ToolOutputText(text="a picture"), ToolOutputImage(image_url=IMAGE_URL)]

        output = (await Runner.run(agent(model, tools=[take_picture]), "Use take_picture")).final_output
        contains(output, "a picture")

    async def parallel_tools(model):
        output = (await Runner.run(agent(model, tools=TOOLS), "Use a tool, parallel")).final_output
        contains(output, "rain in Basel")
        contains(output, "noon")

    async def forced_tool(model):
        forced = agent(model, tools=TOOLS, model_settings=ModelSettings(tool_choice="get_time"))
        contains((await Runner.run(forced, "Hello")).final_output, "noon")

    async def structured(model):
        output = (await Runner.run(agent(model, output_type=Answer), "Basel?")).final_output
        assert isinstance(output, Answer)

    async def handoff(model):
        expert = agent(model).clone(name="Expert")
        result = await Runner.run(agent(model, handoffs=[expert]), "Use transfer_to_expert")
        equal(result.last_agent.name, "Expert")

    async def image(model):
        needs_images(model)
        content = [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "detail": "auto", "image_url": IMAGE_URL},
        ]
        contains((await Runner.run(agent(model), [{"role": "user", "content": content}])).final_output, "What is")

    async def errors(model):
        try:
            await Runner.run(agent(model), "forbidden")
        except APIStatusError as error:
            contains(str(error), "blocked by firewall rule")
        else:
            raise AssertionError("no error")

    async def cancel(model):
        result = Runner.run_streamed(agent(model), "Hi [[sandbox:token-delay=20]]")
        async for _ in result.stream_events():
            result.cancel()
        equal(result.is_complete, True)

    async def chain(model):
        first = await Runner.run(agent(model), "I am Ada")
        items = [*first.to_input_list(), {"role": "user", "content": "Who am I?"}]
        contains((await Runner.run(agent(model), items)).final_output, "Who am I?")
        if model_class is OpenAIResponsesModel:
            second = await Runner.run(agent(model), "And now?", previous_response_id=first.last_response_id)
            contains(second.final_output, "And now?")

    return {
        "text": text,
        "stream": stream,
        "tool result": tool_result,
        "tool loop": tool_loop,
        "tool names": tool_names,
        "image result": image_result,
        "parallel tools": parallel_tools,
        "forced tool": forced_tool,
        "structured output": structured,
        "handoff": handoff,
        "image": image,
        "errors": errors,
        "cancel": cancel,
        "chain": chain,
    }


run_cases("openai-agents", cases(OpenAIResponsesModel))
run_cases("openai-agents, chat", cases(OpenAIChatCompletionsModel))
