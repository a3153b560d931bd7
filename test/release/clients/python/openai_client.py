"""OpenAI's SDK, lenient as shipped and with strict validation of every answer."""

import openai
from pydantic import BaseModel

from cases import (
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

RESPONSES_TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in CHAT_TOOLS]
METADATA = {"provider": "acme", "tenant": "t"}


class Answer(BaseModel):
    city: str
    degrees: int


def cases(client):
    def chat(model, content, **options):
        messages = [{"role": "user", "content": content}]
        return client.chat.completions.create(model=model, messages=messages, **options)

    def text(model):
        completion = chat(model, "Hello")
        contains(completion.choices[0].message.content, "Hello")
        equal(completion.choices[0].finish_reason, "stop")
        completion.model_dump_json()

    def stream(model):
        text, usage = "", None
        for chunk in chat(model, "Hello", stream=True, stream_options={"include_usage": True}):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            usage = chunk.usage or usage
        contains(text, "Hello")
        equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)

    def stream_helper(model):
        messages = [{"role": "user", "content": "Hello"}]
        with client.chat.completions.stream(model=model, messages=messages) as events:
            for _ in events:
                pass
            contains(events.get_final_completion().choices[0].message.content, "Hello")

    def tool(model):
        choice = chat(model, "Use get_weather", tools=CHAT_TOOLS).choices[0]
        equal(choice.finish_reason, "tool_calls")
        equal([call.function.name for call in choice.message.tool_calls], ["get_weather"])
        contains(choice.message.tool_calls[0].function.arguments, "city")

    def parallel_tools(model):
        message = chat(model, "Use a tool, parallel", tools=CHAT_TOOLS).choices[0].message
        equal(len({call.id for call in message.tool_calls}), 2)

    def forced_tool(model):
        forced = {"type": "function", "function": {"name": "get_time"}}
        for tool_choice in (forced, "required"):
            message = chat(model, "Hello", tools=CHAT_TOOLS, tool_choice=tool_choice).choices[0].message
            equal(len(message.tool_calls), 1)

    def tool_result(model):
        first = chat(model, "Use get_weather", tools=CHAT_TOOLS).choices[0].message
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": "rain in Basel"} for call in first.tool_calls
        ]
        messages = [{"role": "user", "content": "Use get_weather"}, first, *results]
        second = client.chat.completions.create(model=model, messages=messages, tools=CHAT_TOOLS)
        contains(second.choices[0].message.content, "rain in Basel")

    def tool_loop(model):
        counter, messages = Counter(), [{"role": "user", "content": f"Use get_weather {LOOP}"}]
        while True:
            with client.chat.completions.stream(model=model, messages=messages, tools=CHAT_TOOLS) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in message.tool_calls or []:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": counter.call()})
            if not message.tool_calls:
                break
        contains(message.content, "call 3")
        equal(counter.count, 3)

    def responses_reasoning(model):
        counter, items = Counter(), [{"role": "user", "content": f"Use get_weather {LOOP}"}]
        while True:
            response = client.responses.create(
                model=model,
                input=items,
                tools=RESPONSES_TOOLS,
                store=False,
                reasoning={"effort": "low", "summary": "auto"},
                include=["reasoning.encrypted_content"],
            )
            items += response.output
            calls = [item for item in response.output if item.type == "function_call"]
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": counter.call()}
                for call in calls
            ]
            if not calls:
                break
        contains(response.output_text, "call 3")
        equal(counter.count, 3)

    def structured(model):
        messages = [{"role": "user", "content": "Basel?"}]
        parsed = client.chat.completions.parse(model=model, messages=messages, response_format=Answer)
        assert isinstance(parsed.choices[0].message.parsed, Answer)
        assert isinstance(
            client.responses.parse(model=model, input="Basel?", text_format=Answer).output_parsed, Answer
        )

    def image(model):
        needs_images(model)
        parts = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        contains(chat(model, parts).choices[0].message.content, "What is this?")
        items = [{"role": "user", "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "detail": "auto", "image_url": IMAGE_URL},
        ]}]
        contains(client.responses.create(model=model, input=items).output_text, "What is this?")

    def errors(model):
        invalid = raises(openai.BadRequestError, lambda: chat(model, "Hello", temperature=7))
        equal(invalid.param, "temperature")
        blocked = raises(openai.PermissionDeniedError, lambda: chat(model, "forbidden"))
        contains(blocked.message, "blocked by firewall rule")
        raises(openai.RateLimitError, lambda: chat(model, "Hi [[sandbox:status=429]]"))
        raises(openai.NotFoundError, lambda: chat("no-such-model", "Hello"))
        long = raises(openai.BadRequestError, lambda: chat(model, "Hi [[sandbox:error=overflow]]"))
        equal(long.code, "context_length_exceeded")
        wrong = client.with_options(api_key="tr_wrong")
        raises(openai.AuthenticationError, lambda: wrong.models.list())
        raises(openai.APIError, lambda: list(chat(model, "Hi [[sandbox:error-mid=3]]", stream=True)))
        broken = list(client.responses.create(model=model, input="Hi [[sandbox:cut=6]]", stream=True))
        equal(broken[-1].type, "response.failed")
        response = client.responses.create(model=model, input="Hello")
        raises(openai.BadRequestError, lambda: client.responses.cancel(response.id))

    def cancel(model):
        events = chat(model, "Hi [[sandbox:token-delay=20]]", stream=True)
        next(events)
        events.close()
        hanging = client.with_options(timeout=0.3)
        raises(
            openai.APITimeoutError,
            lambda: hanging.chat.completions.create(
                model=model, messages=[{"role": "user", "content": "Hi [[sandbox:hang]]"}]
            ),
        )

    def responses(model):
        response = client.responses.create(model=model, input="Hello", instructions="Be brief.")
        contains(response.output_text, "Hello")
        equal(response.status, "completed")
        response.model_dump_json()

    def responses_stream(model):
        with client.responses.stream(model=model, input="Hello") as events:
            kinds = [event.type for event in events]
            contains(events.get_final_response().output_text, "Hello")
        equal((kinds[0], kinds[-1]), ("response.created", "response.completed"))

    def responses_tools(model):
        first = client.responses.create(model=model, input="Use get_weather", tools=RESPONSES_TOOLS)
        call = next(item for item in first.output if item.type == "function_call")
        equal(call.name, "get_weather")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain in Basel"}
        question = {"role": "user", "content": "Use get_weather"}
        items = [question, *(item.model_dump(exclude_none=True) for item in first.output), result]
        second = client.responses.create(model=model, input=items, tools=RESPONSES_TOOLS)
        contains(second.output_text, "rain in Basel")
        chained = client.responses.create(
            model=model, input=[result], tools=RESPONSES_TOOLS, previous_response_id=first.id
        )
        contains(chained.output_text, "rain in Basel")

    def metadata(model):
        response = client.responses.create(model=model, input="Hello", metadata=METADATA)
        for key, value in METADATA.items():
            equal(response.metadata[key], value)
            equal(chat(model, "Hello", metadata=METADATA).model_dump()["metadata"][key], value)

    def chain(model):
        first = client.responses.create(model=model, input="I am Ada")
        second = client.responses.create(model=model, input="Who am I?", previous_response_id=first.id)
        equal(second.previous_response_id, first.id)
        equal(client.responses.retrieve(second.id).output_text, second.output_text)
        equal(len(client.responses.input_items.list(second.id).data) > 0, True)
        client.responses.delete(second.id)
        raises(openai.NotFoundError, lambda: client.responses.retrieve(second.id))

    return {
        "text": text,
        "stream": lambda model: (stream(model), stream_helper(model)),
        "tool": tool,
        "parallel tools": parallel_tools,
        "forced tool": forced_tool,
        "tool result": tool_result,
        "tool loop": tool_loop,
        "structured output": structured,
        "image": image,
        "errors": errors,
        "cancel": cancel,
        "responses": responses,
        "responses stream": responses_stream,
        "responses tools": responses_tools,
        "responses reasoning": responses_reasoning,
        "metadata": metadata,
        "chain": chain,
    }


for name, is_strict in (("openai", False), ("openai, strict", True)):
    run_cases(name, cases(openai.OpenAI(
        base_url=f"{BASE_URL}/v1", api_key=API_KEY, max_retries=0, _strict_response_validation=is_strict
    )))
