"""LangChain and LangGraph, with chat completions, the Responses API and Anthropic's messages."""

import anthropic
import openai
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool as define_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from cases import (
    API_KEY,
    BASE_URL,
    IMAGE_URL,
    LONG_NAME,
    LOOP,
    PNG,
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


@define_tool
def get_weather(city: str) -> str:
    """The weather."""
    return "rain in Basel"


@define_tool
def get_time(city: str) -> str:
    """The time."""
    return "noon"


TOOLS = [get_weather, get_time]


def open_ai(model, use_responses_api):
    return ChatOpenAI(
        model=model,
        base_url=f"{BASE_URL}/v1",
        api_key=API_KEY,
        max_retries=0,
        use_responses_api=use_responses_api,
        stream_usage=True,
    )


def anthropic_chat(model):
    return ChatAnthropic(model=model, base_url=BASE_URL, api_key=API_KEY, max_retries=0, max_tokens=2000)


def cases(chat, sdk):
    def text(model):
        message = chat(model).invoke("Hello")
        contains(str(message.text), "Hello")
        equal(message.usage_metadata["output_tokens"] > 0, True)

    def stream(model):
        message = None
        for chunk in chat(model).stream("Hello"):
            message = chunk if message is None else message + chunk
        contains(str(message.text), "Hello")
        equal(message.usage_metadata["output_tokens"] > 0, True)

    def tool(model):
        calls = chat(model).bind_tools(TOOLS).invoke("Use get_weather").tool_calls
        equal([call["name"] for call in calls], ["get_weather"])

    def parallel_tools(model):
        calls = chat(model).bind_tools(TOOLS).invoke("Use a tool, parallel").tool_calls
        equal(len({call["id"] for call in calls}), 2)

    def forced_tool(model):
        for choice in ("get_time", "any"):
            calls = chat(model).bind_tools(TOOLS, tool_choice=choice).invoke("Hello").tool_calls
            equal(len(calls), 1)

    def tool_result(model):
        bound = chat(model).bind_tools(TOOLS)
        question = HumanMessage("Use get_weather")
        first = bound.invoke([question])
        result = ToolMessage("rain in Basel", tool_call_id=first.tool_calls[0]["id"])
        contains(str(bound.invoke([question, first, result]).text), "rain in Basel")

    def tool_loop(model):
        counter = Counter()

        @define_tool("get_weather")
        def count(city: str) -> str:
            """The weather."""
            return counter.call()

        agent = create_agent(chat(model), [count])
        messages = agent.invoke({"messages": [HumanMessage(f"Use get_weather {LOOP}")]})["messages"]
        contains(str(messages[-1].text), "call 3")
        equal(counter.count, 3)

    def tool_names(model):
        @define_tool(LONG_NAME)
        def find(city: str) -> str:
            """Finds."""
            return "nothing found"

        agent = create_agent(chat(model), [find])
        messages = agent.invoke({"messages": [HumanMessage("Use the tool")]})["messages"]
        contains(str(messages[-1].text), "nothing found")

    def image_result(model):
        needs_images(model)
        bound = chat(model).bind_tools(TOOLS)
        question = HumanMessage("Use get_weather")
        first = bound.invoke([question])
        picture = {"type": "image", "base64": PNG, "mime_type": "image/png"}
        content = [{"type": "text", "text": "a picture"}, picture]
        result = ToolMessage(content, tool_call_id=first.tool_calls[0]["id"])
        contains(str(bound.invoke([question, first, result]).text), "a picture")

    def structured(model):
        for method in ("function_calling", "json_schema"):
            output = chat(model).with_structured_output(Answer, method=method).invoke("Basel?")
            assert isinstance(output, Answer), (method, output)

    def image(model):
        needs_images(model)
        content = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        contains(str(chat(model).invoke([HumanMessage(content)]).text), "What is this?")

    def errors(model):
        blocked = raises(sdk.PermissionDeniedError, lambda: chat(model).invoke("forbidden"))
        contains(str(blocked), "blocked by firewall rule")
        overflow = raises(sdk.BadRequestError, lambda: chat(model).invoke("Hi [[sandbox:error=overflow]]"))
        # LangChain looks for OpenAI's code in the text of the error, where SDKs since version 3 leave it out.
        if sdk is openai:
            equal(overflow.code, "context_length_exceeded")
        else:
            assert isinstance(overflow, ContextOverflowError), overflow
        raises(sdk.RateLimitError, lambda: chat(model).invoke("Hi [[sandbox:status=429]]"))

    def cancel(model):
        events = chat(model).stream("Hi [[sandbox:token-delay=20]]")
        next(events)
        events.close()
        contains(str(chat(model).invoke("Hello").text), "Hello")

    def graph(model):
        bound = chat(model).bind_tools(TOOLS)
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
        builder.add_node("tools", ToolNode(TOOLS))
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
        messages = builder.compile().invoke({"messages": [HumanMessage("Use get_weather")]})["messages"]
        contains(str(messages[-1].text), "rain in Basel")

    return {
        "text": text,
        "stream": stream,
        "tool": tool,
        "parallel tools": parallel_tools,
        "forced tool": forced_tool,
        "tool result": tool_result,
        "tool loop": tool_loop,
        "tool names": tool_names,
        "image result": image_result,
        "structured output": structured,
        "image": image,
        "errors": errors,
        "cancel": cancel,
        "graph": graph,
    }


run_cases("langchain", cases(lambda model: open_ai(model, False), openai))
run_cases("langchain, responses", cases(lambda model: open_ai(model, True), openai))
run_cases("langchain, anthropic", cases(anthropic_chat, anthropic))
