"""LlamaIndex's OpenAILike: chat, and completions, which are its default."""

import openai
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

from cases import (
    API_KEY,
    BASE_URL,
    IMAGE_URL,
    LOOP,
    Counter,
    contains,
    equal,
    needs_images,
    raises,
    run_cases,
)


class Answer(BaseModel):
    """An answer."""

    city: str
    degrees: int


def get_weather(city: str) -> str:
    """The weather."""
    return "rain in Basel"


def get_time(city: str) -> str:
    """The time."""
    return "noon"


TOOLS = [FunctionTool.from_defaults(fn) for fn in (get_weather, get_time)]


def llm(model, is_chat_model=True):
    return OpenAILike(
        model=model,
        api_base=f"{BASE_URL}/v1",
        api_key=API_KEY,
        is_chat_model=is_chat_model,
        is_function_calling_model=is_chat_model,
        max_retries=0,
        context_window=32000,
    )


def user(text):
    return [ChatMessage(role="user", content=text)]


def text(model):
    contains(llm(model).chat(user("Hello")).message.content, "Hello")


def stream(model):
    *_, last = llm(model).stream_chat(user("Hello"))
    contains(last.message.content, "Hello")


def completion(model):
    contains(llm(model, is_chat_model=False).complete("Hello").text, "Hello")
    *_, last = llm(model, is_chat_model=False).stream_complete("Hello")
    contains(last.text, "Hello")


def calls(model, content, **options):
    response = llm(model).chat_with_tools(TOOLS, user_msg=content, allow_parallel_tool_calls=True, **options)
    return llm(model).get_tool_calls_from_response(response, error_on_no_tool_call=False)


def tool(model):
    equal([call.tool_name for call in calls(model, "Use get_weather")], ["get_weather"])


def parallel_tools(model):
    equal(len(calls(model, "Use a tool, parallel")), 2)


def forced_tool(model):
    equal(len(calls(model, "Hello", tool_required=True)), 1)


def tool_result(model):
    response = llm(model).predict_and_call(TOOLS, user_msg="Use get_weather")
    contains(str(response), "rain in Basel")


async def tool_loop(model):
    counter = Counter()

    def get_weather(city: str) -> str:
        """The weather."""
        return counter.call()

    agent = FunctionAgent(tools=[get_weather], llm=llm(model))
    contains(str(await agent.run(f"Use get_weather {LOOP}")), "call 3")
    equal(counter.count, 3)


def structured(model):
    answer = llm(model).structured_predict(Answer, _prompt("Where is Basel?"))
    assert isinstance(answer, Answer)


def _prompt(text):
    from llama_index.core.prompts import PromptTemplate

    return PromptTemplate(text)


def image(model):
    needs_images(model)
    message = ChatMessage(role="user", blocks=[TextBlock(text="What is this?"), ImageBlock(url=IMAGE_URL)])
    contains(llm(model).chat([message]).message.content, "What is this?")


def errors(model):
    blocked = raises(openai.PermissionDeniedError, lambda: llm(model).chat(user("forbidden")))
    contains(str(blocked), "blocked by firewall rule")


run_cases("llama-index", {
    "text": text,
    "stream": stream,
    "completion": completion,
    "tool": tool,
    "parallel tools": parallel_tools,
    "forced tool": forced_tool,
    "tool result": tool_result,
    "tool loop": tool_loop,
    "structured output": structured,
    "image": image,
    "errors": errors,
})
