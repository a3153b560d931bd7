import type { JsonObject } from '../../../core/contract/index.ts'

// As of the API reference of November 2026; a field missing here is only reported as unknown.
const KNOWN = new Set(
  `messages model stream stream_options temperature top_p max_tokens max_completion_tokens stop n seed
  presence_penalty frequency_penalty logit_bias logprobs top_logprobs tools tool_choice parallel_tool_calls
  functions function_call response_format reasoning_effort verbosity user metadata store service_tier modalities
  audio prediction web_search_options prompt_cache_key prompt_cache_retention safety_identifier moderation`.split(
    /\s+/,
  ),
)

/** The names of the fields that OpenAI's chat requests do not have, sorted. */
export function findUnknownFields(body: JsonObject): readonly string[] {
  return Object.keys(body)
    .filter((name) => !KNOWN.has(name))
    .sort()
}
