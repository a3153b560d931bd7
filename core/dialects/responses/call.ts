import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseForm } from '../../events/domain-events.ts'
import type { ResponsesBody } from './request-schema.ts'

/** What is known about a call besides its exchange. */
export interface ResponsesCall {
  readonly body: ResponsesBody
  /** The 24 characters that `resp_…` shares with the call's `req_…`: either id leads to the response. */
  readonly responseKey: string
  /** Unix seconds. */
  readonly createdAt: number
  readonly form: ResponseForm
  /** How many of the canonical messages the call itself brought: the last ones. */
  readonly inputCount: number
  /** How many come before those from earlier turns. */
  readonly earlierCount: number
}

/** The seed in `resp_…` or `req_…`; undefined for what is neither. */
export function parseResponseKey(id: string): string | undefined {
  return /^(?:resp|req)_([0-9A-Za-z]{24})$/.exec(id)?.[1]
}

/** Whether the client speaks OpenAI's form of the Responses API rather than the interface's own. */
export function isOpenAiClient(headers: IncomingHttpHeaders): boolean {
  return (
    headers['openai-beta'] !== undefined ||
    headers['x-stainless-lang'] !== undefined ||
    KNOWN_CLIENTS.test(headers['user-agent'] ?? '')
  )
}

/** SDKs and agents that parse OpenAI's answers. */
const KNOWN_CLIENTS = /openai|ai-sdk|litellm|codex/i

/** The form of the answer (docs/api.md, "Response object"). Streams are always OpenAI's. */
export function chooseResponseForm(
  { input, stream }: ResponsesBody,
  headers: IncomingHttpHeaders,
): ResponseForm {
  return typeof input !== 'string' || stream === true || isOpenAiClient(headers) ? 'openai' : 'interface'
}
