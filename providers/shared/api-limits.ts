import type { ApiLimits, TextLimit } from '../../core/contract/provider.ts'

// The limits of the APIs, in one place. docs/providers.md, "Limits", has them as a table. The sandbox checks
// its own copy, so that a wrong value here fails a test.

/** Most APIs share OpenAI's rule for names. */
const NAME: TextLimit = { pattern: /^[\w-]{1,64}$/, maxChars: 64 }

const INT32 = 2 ** 31

/** https://platform.openai.com/docs/api-reference/chat/create; compatible providers copy most of it. */
export const OPENAI_LIMITS: ApiLimits = {
  toolNames: NAME,
  // 40 in chat completions, 64 in responses: only in its errors, "string_above_max_length" (vercel/ai#5171).
  callIds: { pattern: /^.{1,40}$/s, maxChars: 40 },
  authorNames: { pattern: /^[^\s<|\\/>]{1,64}$/, maxChars: 64 },
  schemaNames: NAME,
  // Documented for the last two, and enforced for `user`, too.
  ids: { pattern: /^.{1,64}$/s, maxChars: 64 },
  metadata: { entries: 16, keyChars: 64, valueChars: 512 },
  stops: 4,
  // "schema must have type 'object' and not have …at the top level" (langchain-ai/langchainjs#9804).
  refusedAtRoot: ['anyOf', 'oneOf', 'allOf', 'enum', 'not'],
  strictSchemas: true,
  tools: 128,
  embeddings: { inputs: 2048, tokens: 300_000 },
}

/** https://platform.claude.com/docs/en/api/messages. Ids and roots of schemas: only in its errors. */
export const ANTHROPIC_LIMITS: ApiLimits = {
  toolNames: { pattern: /^[\w-]{1,128}$/, maxChars: 128 },
  callIds: NAME,
  // "input_schema does not support oneOf, allOf, or anyOf at the top level" (anthropics/claude-code#27337).
  refusedAtRoot: ['anyOf', 'oneOf', 'allOf'],
}

/** https://ai.google.dev/api/generate-content */
export const GEMINI_LIMITS: ApiLimits = {
  // Google's SDK documents 128 characters; the API has refused more than 64 (maximhq/bifrost#1979).
  toolNames: { pattern: /^[A-Za-z_][\w.:-]{0,63}$/, maxChars: 64 },
  stops: 5,
  seeds: { min: -INT32, max: INT32 - 1 },
  embeddings: { inputs: 100 },
}

/** https://docs.mistral.ai/api. Ids: its error 3280. Batches: its error 3210, "Max is 16384". */
export const MISTRAL_LIMITS: ApiLimits = {
  toolNames: NAME,
  callIds: { pattern: /^[A-Za-z0-9]{9}$/, maxChars: 9 },
  schemaNames: NAME,
  seeds: { min: 0, max: Number.MAX_SAFE_INTEGER },
  embeddings: { inputs: 512, tokens: 16_384 },
}

/** https://api-docs.deepseek.com/api/create-chat-completion */
export const DEEPSEEK_LIMITS: ApiLimits = {
  toolNames: NAME,
  ids: { pattern: /^[\w-]{1,512}$/, maxChars: 512 },
  stops: 16,
  tools: 128,
}
