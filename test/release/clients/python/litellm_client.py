"""LiteLLM as a library, with the gateway as an OpenAI-compatible and as an Anthropic server."""

import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from cases import (  # noqa: E402
    API_KEY,
    BASE_URL,
    CHAT_TOOLS,
    IMAGE_URL,
    LOOP,
    Counter,
    contains,
    equal,
    needs_images,
    raises,
    run_cases,
)

litellm.telemetry = False
litellm.suppress_debug_info = True


class Answer(BaseModel):
    city: str
    degrees: int


def cases(prefix, base_url):
    def ask(model, content, **options):
        messages = options.pop("messages", [{"role": "user", "content": content}])
        return litellm.completion(
            model=f"{prefix}/{model}",
            api_base=base_url,
            api_key=API_KEY,
            messages=messages,
            num_retries=0,
            max_retries=0,
            **options,
        )

    def text(model):
        response = ask(model, "Hello")
        contains(response.choices[0].message.content, "Hello")
        equal(response.usage.completion_tokens > 0, True)

    def stream(model):
        chunks = list(ask(model, "Hello", stream=True))
        contains("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Hello")

    def tool(model):
        calls = ask(model, "Use get_weather", tools=CHAT_TOOLS).choices[0].message.tool_calls
        equal([call.function.name for call in calls], ["get_weather"])

    def parallel_tools(model):
        calls = ask(model, "Use a tool, parallel", tools=CHAT_TOOLS).choices[0].message.tool_calls
        equal(len({call.id for call in calls}), 2)

    def forced_tool(model):
        choice = {"type": "function", "function": {"name": "get_time"}}
        calls = ask(model, "Hello", tools=CHAT_TOOLS, tool_choice=choice).choices[0].message.tool_calls
        equal(calls[0].function.name, "get_time")

    def tool_result(model):
        first = ask(model, "Use get_weather", tools=CHAT_TOOLS).choices[0].message
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain in Basel"}
        messages = [{"role": "user", "content": "Use get_weather"}, first.model_dump(), result]
        second = ask(model, "", messages=messages, tools=CHAT_TOOLS)
        contains(second.choices[0].message.content, "rain in Basel")

    def tool_loop(model):
        counter, messages = Counter(), [{"role": "user", "content": f"Use get_weather {LOOP}"}]
        while True:
            message = ask(model, "", messages=list(messages), tools=CHAT_TOOLS).choices[0].message
            messages.append(message.model_dump())
            for call in message.tool_calls or []:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": counter.call()})
            if not message.tool_calls:
                break
        contains(message.content, "call 3")
        equal(counter.count, 3)

    def structured(model):
        response = ask(model, "Basel?", response_format=Answer)
        Answer.model_validate(json.loads(response.choices[0].message.content))

    def image(model):
        needs_images(model)
        parts = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        contains(ask(model, parts).choices[0].message.content, "What is this?")

    def errors(model):
        blocked = raises(Exception, lambda: ask(model, "forbidden"))
        contains(str(blocked), "blocked by firewall rule")
        raises(litellm.RateLimitError, lambda: ask(model, "Hi [[sandbox:status=429]]"))
        raises(litellm.NotFoundError, lambda: ask("no-such-model", "Hi"))

    return {
        "text": text,
        "stream": stream,
        "tool": tool,
        "parallel tools": parallel_tools,
        "forced tool": forced_tool,
        "tool result": tool_result,
        "tool loop": tool_loop,
        "structured output": structured,
        "image": image,
        "errors": errors,
    }


run_cases("litellm, openai", cases("openai", f"{BASE_URL}/v1"))
run_cases("litellm, anthropic", cases("anthropic", BASE_URL))
