"""LangChain and LangGraph, with chat completions and with the Responses API."""

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool as define_tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

from cases import API_KEY, BASE_URL, IMAGE_URL, contains, equal, needs_images, raises, run_cases


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


def cases(use_responses_api):
    def chat(model):
        return ChatOpenAI(
            model=model,
            base_url=f"{BASE_URL}/v1",
            api_key=API_KEY,
            max_retries=0,
            use_responses_api=use_responses_api,
            stream_usage=True,
        )

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
        for choice in ("get_time", "required"):
            calls = chat(model).bind_tools(TOOLS, tool_choice=choice).invoke("Hello").tool_calls
            equal(len(calls), 1)

    def tool_result(model):
        bound = chat(model).bind_tools(TOOLS)
        question = HumanMessage("Use get_weather")
        first = bound.invoke([question])
        result = ToolMessage("rain in Basel", tool_call_id=first.tool_calls[0]["id"])
        contains(str(bound.invoke([question, first, result]).text), "rain in Basel")

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
        blocked = raises(openai.PermissionDeniedError, lambda: chat(model).invoke("forbidden"))
        contains(str(blocked), "blocked by firewall rule")
        raises(openai.RateLimitError, lambda: chat(model).invoke("Hi [[sandbox:status=429]]"))

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
        "structured output": structured,
        "image": image,
        "errors": errors,
        "cancel": cancel,
        "graph": graph,
    }


run_cases("langchain", cases(False))
run_cases("langchain, responses", cases(True))
